package engine

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
)

// timesModel writes versions whose times mostly rise, deletes in every way, and compares reads of ranges of
// times with reads of everything.
type timesModel struct {
	t   *testing.T
	r   *rand.Rand
	fs  *vfs.Mem
	db  *DB
	id  PartitionID
	now int64 // the last time written
	one byte  // if not 0, the only family that the current batch writes, so that some files have no other
	old []*Snapshot

	limits   map[string]Policy
	counts   ScanCounts
	skipped  int // files that reads of ranges did not open
	versions int // that they returned
}

func (m *timesModel) open() {
	opt := crashOptions(m.fs)
	opt.MemtableBytes = []int64{12 << 10, 96 << 10}[m.r.IntN(2)]
	opt.FileBytes = []int64{2 << 10, 8 << 10, 1 << 20}[m.r.IntN(3)]
	opt.BlockBytes = []int{100, 400, 4 << 10}[m.r.IntN(3)]
	db, err := Open("store", opt)
	if err != nil {
		m.t.Fatal(err)
	}
	m.db = db
	if m.id == 0 {
		m.id = mustCreate(m.t, db, "a")[0]
	}
	if err := db.SetPolicies(m.id, NewPolicies(db.LastSeq(), m.limits)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *timesModel) row() []byte { return fmt.Appendf(nil, "row%02d", m.r.IntN(12)) }

func (m *timesModel) family() []byte {
	if m.one > 0 {
		return []byte{m.one}
	}
	return []byte{'e' + byte(m.r.IntN(3))}
}

func (m *timesModel) column() []byte {
	return cell.AppendColumn(nil, m.family(), []byte{'a' + byte(m.r.IntN(2))})
}

// time is mostly the next one, or one that was there.
func (m *timesModel) time() int64 {
	if m.r.IntN(5) == 0 {
		return m.r.Int64N(m.now + 1)
	}
	m.now++
	return m.now
}

func (m *timesModel) write() {
	b := new(Batch)
	if m.r.IntN(2) == 0 {
		m.one = m.family()[0]
	}
	defer func() { m.one = 0 }()
	for range 1 + m.r.IntN(30) {
		c := cell.Cell{Column: m.column(), Time: m.time(), Type: cell.Bytes, Value: fmt.Appendf(nil, "%d", m.r.IntN(1000))}
		row := m.row()
		switch dice := m.r.IntN(400); {
		case dice < 20:
			c = cell.Cell{Kind: cell.DeleteVersion, Column: c.Column, Time: m.r.Int64N(m.now + 1)}
		case dice < 22:
			c = cell.Cell{Kind: cell.DeleteColumn, Column: c.Column, Time: cell.TombstoneTime}
		case dice < 23:
			c = cell.Cell{Kind: cell.DeleteFamily, Column: m.family(), Time: cell.TombstoneTime}
		case dice < 24:
			c = cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime}
		case dice < 25:
			b.DeleteRange(m.id, row, append(bytes.Clone(row), '~'))
			continue
		}
		b.Add(m.id, row, &c)
	}
	if _, err := m.db.Commit(context.Background(), b); err != nil {
		m.t.Fatal(err)
	}
}

func (m *timesModel) snapshot() *Snapshot {
	snap, err := m.db.NewSnapshot(m.id)
	if err != nil {
		m.t.Fatal(err)
	}
	return snap
}

// options returns options of a read without a range of times.
func (m *timesModel) options() ScanOptions {
	o := ScanOptions{Now: 1 << 40, Policies: NewPolicies(m.db.LastSeq(), m.limits), Reverse: m.r.IntN(3) == 0, FillCache: m.r.IntN(2) == 0}
	if m.r.IntN(4) == 0 {
		o.Policies = nil
	}
	switch m.r.IntN(4) {
	case 0:
		o.Start = m.row()
		o.End = append(bytes.Clone(o.Start), 0)
	case 1:
		o.Start, o.End = m.row(), m.row()
		if bytes.Compare(o.Start, o.End) > 0 {
			o.Start, o.End = o.End, o.Start
		}
	}
	switch m.r.IntN(4) {
	case 0:
		o.Columns = cell.NewColumns(cell.FamilyRange(m.family()))
	case 1:
		family, qualifier := cell.SplitColumn(m.column())
		o.Columns = cell.NewColumns(cell.ColumnRange(family, qualifier))
	}
	return o
}

func (m *timesModel) times() cell.TimeRange {
	start := m.r.Int64N(m.now + 2)
	end := start + 1 + m.r.Int64N(1+m.now/20)
	switch m.r.IntN(6) {
	case 0:
		end = math.MaxInt64
	case 1:
		start = max(0, m.now-m.now/50)
		end = m.now + 10
	case 2:
		start = 0
	}
	return cell.TimeRange{Start: start, End: end}
}

// scan returns the versions of some columns with times in a range.
func (m *timesModel) scan(snap *Snapshot, o ScanOptions, times cell.TimeRange, columns *cell.Columns) (lines []string) {
	m.t.Helper()
	s, err := snap.Scan(m.id, o)
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	for s.NextRow() {
		for cells := s.Cells(); len(cells) > 0; cells = s.Cells() {
			for _, c := range cells {
				if times.Contains(c.Time) && columns.Contains(c.Column) {
					lines = append(lines, fmt.Sprintf("%s %s@%d=%s", s.Row(), c.Column, c.Time, c.Value))
				}
			}
		}
	}
	if s.Err() != nil {
		m.t.Fatal(s.Err())
	}
	return lines
}

// taken is scan by steps of many rows, without their keys.
func (m *timesModel) taken(snap *Snapshot, o ScanOptions, times cell.TimeRange) (lines []string) {
	m.t.Helper()
	s, err := snap.Scan(m.id, o)
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	add := func(cells []cell.Cell) {
		for _, c := range cells {
			if times.Contains(c.Time) {
				lines = append(lines, fmt.Sprintf("%s@%d=%s", c.Column, c.Time, c.Value))
			}
		}
	}
	var rows cell.Rows
	for s.PeekRow() != nil {
		if s.TakeRows(&rows, nil); len(rows.Ends) > 0 {
			add(rows.Cells)
			continue
		}
		s.NextRow()
		for cells := s.Cells(); len(cells) > 0; cells = s.Cells() {
			add(cells)
		}
	}
	if s.Err() != nil {
		m.t.Fatal(s.Err())
	}
	return lines
}

// check compares some reads of ranges of times with reads of everything.
func (m *timesModel) check(snap *Snapshot, seed uint64) {
	m.t.Helper()
	for range 12 {
		o, times := m.options(), m.times()
		everything := o
		everything.Columns = nil // which files have some families must not matter either
		want := m.scan(snap, everything, times, o.Columns)
		for f := range snap.pins[0].state.version.Files() {
			if f.Reaches(o.Start, o.End) && !f.Times.Overlaps(o.Policies.TimesToRead(times, o.Columns)) {
				m.skipped++
			}
		}
		ranged := o
		ranged.Times, ranged.Counts = &times, &m.counts
		got := m.scan(snap, ranged, times, nil)
		if !slices.Equal(got, want) {
			m.t.Fatalf("seed %d: %+v, times %+v: got\n%q, want\n%q", seed, o, times, got, want)
		}
		m.versions += len(got)
		if o.Reverse {
			continue
		}
		for i, line := range want {
			_, want[i], _ = strings.Cut(line, " ")
		}
		if got := m.taken(snap, ranged, times); !slices.Equal(got, want) {
			m.t.Fatalf("seed %d: %+v, times %+v: in steps got\n%q, want\n%q", seed, o, times, got, want)
		}
	}
}

func (m *timesModel) step(seed uint64) {
	ctx := context.Background()
	switch dice := m.r.IntN(100); {
	case dice < 60:
		m.write()
	case dice < 75:
		snap := m.snapshot()
		m.check(snap, seed)
		m.old = append(m.old, snap)
		if len(m.old) > 2 {
			m.check(m.old[0], seed)
			m.old[0].Close()
			m.old = m.old[1:]
		}
	case dice < 88:
		if err := m.db.Flush(ctx); err != nil {
			m.t.Fatal(err)
		}
	case dice < 92:
		if err := m.db.Compact(ctx, m.id); err != nil {
			m.t.Fatal(err)
		}
	case dice < 95:
		if _, err := m.db.Check(ctx, func(e *CorruptError) { m.t.Fatal(e) }); err != nil {
			m.t.Fatal(err)
		}
	default:
		m.close()
		m.open()
	}
}

func (m *timesModel) close() {
	for _, snap := range m.old {
		snap.Close()
	}
	m.old = nil
	if m.r.IntN(2) == 0 {
		mustClose(m.t, m.db)
	} else {
		closeWithLog(m.t, m.db)
	}
}

// TestTimesAgainstFullScans: a read of a range of times returns of it what a read of everything does, over
// overwrites of any age, tombstones of every kind, version limits, flushes and compactions, also for older
// snapshots. It opens no file and no block that has nothing for it.
func TestTimesAgainstFullScans(t *testing.T) {
	seeds, steps := uint64(40), 150
	if testing.Short() {
		seeds = 6
	}
	var blocks sstable.ReadCounts
	skipped, versions := 0, 0
	for seed := range seeds {
		m := &timesModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewMem()}
		m.limits = map[string]Policy{"e": {}, "f": {GC: cell.GC{VersionLimit: 1 + m.r.Int64N(3)}}, "g": {GC: cell.GC{VersionLimit: 2, TTLSecs: 1, Intersection: true}}}
		m.open()
		for range steps {
			m.step(seed)
		}
		m.close()
		for i := range m.counts.Levels {
			l := &m.counts.Levels[i]
			blocks.BlocksRead += l.BlocksRead
			blocks.BlocksCached += l.BlocksCached
			blocks.SkippedByTimes += l.SkippedByTimes
		}
		skipped += m.skipped
		versions += m.versions
	}
	t.Logf("blocks %+v, %d files skipped, %d versions", blocks, skipped, versions)
	if blocks.SkippedByTimes == 0 || skipped == 0 || versions == 0 {
		t.Error("nothing was left out, or nothing returned")
	}
}
