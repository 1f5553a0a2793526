package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
)

// rangeModel is a store with two partitions, and what it must hold: the value of each row that is there.
type rangeModel struct {
	t    *testing.T
	r    *rand.Rand
	fs   *vfs.Mem
	db   *DB
	ids  []PartitionID
	rows map[PartitionID]map[string]string
	old  []oldView
	n    int // batches
}

// oldView is a snapshot that stays open for a while, and what it must see.
type oldView struct {
	snap *Snapshot
	rows map[PartitionID]map[string]string
}

const modelRows = 60

func (m *rangeModel) key() string { return fmt.Sprintf("row%03d", m.r.IntN(modelRows)) }

// open opens the store with options of a random size: memtables that are flushed all the time, or that
// take everything.
func (m *rangeModel) open() {
	opt := crashOptions(m.fs)
	opt.MemtableBytes = []int64{12 << 10, 96 << 10, 1 << 20}[m.r.IntN(3)]
	opt.FileBytes = []int64{2 << 10, 8 << 10, 1 << 20}[m.r.IntN(3)]
	db, err := Open("store", opt)
	if err != nil {
		m.t.Fatal(err)
	}
	m.db = db
	m.setPolicies()
}

// setPolicies lets compactions of the last level set sequence numbers to 0.
func (m *rangeModel) setPolicies() {
	for _, id := range m.ids {
		if err := m.db.SetPolicies(id, NewPolicies(m.db.LastSeq(), map[string]Policy{"f": {}})); err != nil {
			m.t.Fatal(err)
		}
	}
}

// bounds returns a random range: mostly short, sometimes open at an end.
func (m *rangeModel) bounds() (start, end []byte) {
	from := m.r.IntN(modelRows)
	to := from + 1 + m.r.IntN(1+m.r.IntN(modelRows))
	if m.r.IntN(15) > 0 {
		start = fmt.Appendf(nil, "row%03d", from)
	}
	if m.r.IntN(15) > 0 {
		end = fmt.Appendf(nil, "row%03d", to)
	}
	return start, end
}

// write commits a batch of some entries.
func (m *rangeModel) write() {
	b := new(Batch)
	next := make(map[PartitionID]map[string]string)
	for id, rows := range m.rows {
		next[id] = maps.Clone(rows)
	}
	written := make(map[string]bool) // by the batch, whose tombstones do not count for it
	m.n++
	for i := range 1 + m.r.IntN(4) {
		id := m.ids[m.r.IntN(len(m.ids))]
		switch dice := m.r.IntN(20); {
		case dice < 4:
			start, end := m.bounds()
			b.DeleteRange(id, start, end)
			maps.DeleteFunc(next[id], func(row, _ string) bool {
				return row >= string(start) && (end == nil || row < string(end)) && !written[fmt.Sprint(id, row)]
			})
		case dice < 6:
			row := m.key()
			b.Add(id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
			if !written[fmt.Sprint(id, row)] {
				delete(next[id], row)
			}
		default:
			row, value := m.key(), fmt.Sprintf("%d.%d %s", m.n, i, strings.Repeat("x", m.r.IntN(200)))
			r, c := set(row, "q", value)
			c.Time = 1 // a former value must never be seen again
			b.Add(id, r, c)
			next[id][row] = value
			written[fmt.Sprint(id, row)] = true
		}
	}
	if _, err := m.db.Commit(context.Background(), b); err != nil {
		m.t.Fatal(err)
	}
	m.rows = next
}

// check compares what a snapshot sees with what it must see: all of it, some ranges, and some rows.
func (m *rangeModel) check(snap *Snapshot, want map[PartitionID]map[string]string) {
	m.t.Helper()
	for _, id := range m.ids {
		scan := func(start, end []byte) {
			m.t.Helper()
			var lines []string
			for _, row := range slices.Sorted(maps.Keys(want[id])) {
				if row >= string(start) && (end == nil || row < string(end)) {
					lines = append(lines, row+" q="+want[id][row])
				}
			}
			s, err := snap.Scan(id, ScanOptions{Start: start, End: end, Now: 1})
			if err != nil {
				m.t.Fatal(err)
			}
			defer s.Close()
			got, err := linesOf(s)
			if err != nil || !slices.Equal(got, lines) {
				m.t.Fatalf("after batch %d, partition %d from %q up to %q: got %.200q, %v, want %.200q", m.n, id, start, end, got, err, lines)
			}
		}
		scan(nil, nil)
		scan(m.bounds())
		for range 3 {
			row := m.key()
			scan([]byte(row), []byte(row+"\x00"))
		}
	}
}

func (m *rangeModel) view() *Snapshot {
	snap, err := m.db.NewSnapshot(m.ids...)
	if err != nil {
		m.t.Fatal(err)
	}
	return snap
}

func (m *rangeModel) closeViews() {
	for _, v := range m.old {
		m.check(v.snap, v.rows)
		v.snap.Close()
	}
	m.old = nil
}

// reopen closes the store in one of several ways, and opens it again.
func (m *rangeModel) reopen() {
	m.closeViews()
	switch m.r.IntN(3) {
	case 0:
		mustClose(m.t, m.db)
	case 1:
		closeWithLog(m.t, m.db)
	default:
		crashed := m.fs.Crash([]vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset}[m.r.IntN(3)], m.r.Uint64())
		m.db.Close()
		m.fs = crashed
		if m.r.IntN(4) == 0 {
			m.checkOffline()
		}
	}
	m.open()
}

func (m *rangeModel) checkOffline() {
	if _, err := Check(m.fs.Clone(), "store", func(e *CorruptError) { m.t.Fatal(e) }); err != nil {
		m.t.Fatal(err)
	}
}

// step does something at random.
func (m *rangeModel) step() {
	ctx := context.Background()
	switch dice := m.r.IntN(100); {
	case dice < 75:
		m.write()
	case dice < 80:
		snap := m.view()
		m.check(snap, m.rows)
		m.old = append(m.old, oldView{snap, m.rows})
		if len(m.old) > 3 {
			v := m.old[0]
			m.old = m.old[1:]
			m.check(v.snap, v.rows)
			v.snap.Close()
		}
	case dice < 88:
		if err := m.db.Flush(ctx); err != nil {
			m.t.Fatal(err)
		}
	case dice < 92:
		if err := m.db.Compact(ctx, m.ids[m.r.IntN(len(m.ids))]); err != nil {
			m.t.Fatal(err)
		}
	case dice < 96:
		if _, err := m.db.Check(ctx, func(e *CorruptError) { m.t.Fatal(e) }); err != nil {
			m.t.Fatal(err)
		}
	default:
		m.reopen()
	}
}

// TestRangeTombstonesAgainstModel does random operations and compares what readers see, also those with
// older snapshots, with what they must see. At the end everything is deleted: no file and no range tombstone
// is left.
func TestRangeTombstonesAgainstModel(t *testing.T) {
	seeds, steps := uint64(30), 250
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		m := &rangeModel{t: t, r: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewMem(), rows: make(map[PartitionID]map[string]string)}
		m.open()
		m.ids = mustCreate(t, m.db, "a", "b")
		m.setPolicies()
		for _, id := range m.ids {
			m.rows[id] = make(map[string]string)
		}
		for range steps {
			m.step()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		m.closeViews()
		snap := m.view()
		m.check(snap, m.rows)
		snap.Close()
		for _, id := range m.ids {
			if err := m.db.Compact(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			if s, err := m.db.Stats(id); err != nil || s.RangeTombstones > 0 {
				t.Errorf("seed %d: after a compaction of all there are %d range tombstones, %v", seed, s.RangeTombstones, err)
			}
			var b Batch
			b.DeleteRange(id, nil, nil)
			if _, err := m.db.Commit(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
			if err := m.db.Compact(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			if s, err := m.db.Stats(id); err != nil || s.RangeTombstones > 0 || len(s.Levels) > 0 {
				t.Errorf("seed %d: after all is deleted there is %+v, %v", seed, s, err)
			}
		}
		mustClose(t, m.db)
		m.checkOffline()
	}
}
