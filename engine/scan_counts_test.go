package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
)

// counted reads everything that o selects, in steps of many rows or not, and returns how many cells it has seen.
func (m *timesModel) counted(snap *Snapshot, o ScanOptions, steps bool) (seen uint64, scanned cell.Scanned) {
	m.t.Helper()
	s, err := snap.Scan(m.id, o)
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	var rows cell.Rows
	for s.PeekRow() != nil {
		if steps {
			if s.TakeRows(&rows, nil); len(rows.Ends) > 0 {
				seen += uint64(len(rows.Cells))
				continue
			}
		}
		s.NextRow()
		for cells := s.Cells(); len(cells) > 0; cells = s.Cells() {
			seen += uint64(len(cells))
		}
	}
	if s.Err() != nil {
		m.t.Fatal(s.Err())
	}
	return seen, s.Scanned()
}

// checkCounts checks that the counts of a scan account for each entry, file and block.
func (m *timesModel) checkCounts(snap *Snapshot, o ScanOptions, steps bool, sum *ScanCounts) {
	m.t.Helper()
	what := fmt.Sprintf("%+v, in steps: %v", o, steps)
	plain, cost := m.counted(snap, o, steps)
	var c ScanCounts
	o.Counts = &c
	seen, scanned := m.counted(snap, o, steps)
	if seen != plain || scanned != cost {
		m.t.Fatalf("%s: saw %d of %+v, without counts %d of %+v", what, seen, scanned, plain, cost)
	}
	d := &c.Dropped
	left := c.MemtableCellsLeftOut
	version := snap.pins[0].state.version
	for level := range c.Levels {
		l := &c.Levels[level]
		left += l.CellsLeftOut
		reached, blocks := 0, uint64(0)
		for _, f := range version.Levels[level] {
			if f.Reaches(o.Start, o.End) {
				reached++
			}
			r, err := tableOf(f).open()
			if err != nil {
				m.t.Fatal(err)
			}
			blocks += r.Info().CellBlocks
		}
		if out := l.Deleted + l.OtherTimes + l.Excluded + l.OtherFamilies; l.Files != len(version.Levels[level]) || out+l.Opened != reached {
			m.t.Fatalf("%s: level %d of %d files, %d with the rows: %+v", what, level, len(version.Levels[level]), reached, l)
		}
		used := l.BlocksRead + l.BlocksCached + l.SkippedByTimes + l.SkippedByColumns
		asked := 0
		if o.SingleRow() {
			asked = l.Opened + l.Excluded
		}
		if l.Asked != asked || !o.Reverse && used > blocks || !o.Reverse && o.Start == nil && o.Columns == nil && l.Opened == l.Files && used != blocks {
			m.t.Fatalf("%s: level %d with %d blocks: %+v", what, level, blocks, l)
		}
	}
	if got := seen + d.Tombstones + d.Later + d.Deleted + d.Overwritten + d.Unselected + d.Garbage + left; got != scanned.Cells {
		m.t.Fatalf("%s: %d entries are accounted for, %d were scanned: saw %d, %d left out, %+v", what, got, scanned.Cells, seen, left, d)
	}
	addUp(reflect.ValueOf(sum).Elem(), reflect.ValueOf(&c).Elem())
}

// addUp adds numbers.
func addUp(sum, c reflect.Value) {
	for i := range sum.NumField() {
		switch f := sum.Field(i); f.Kind() {
		case reflect.Struct:
			addUp(f, c.Field(i))
		case reflect.Array:
			for j := range f.Len() {
				addUp(f.Index(j), c.Field(i).Index(j))
			}
		case reflect.Int:
			f.SetInt(f.Int() + c.Field(i).Int())
		default:
			f.SetUint(f.Uint() + c.Field(i).Uint())
		}
	}
}

// TestScanCounts: the counts of scans account for every entry that they step over, and every file and block that could
// be of use, over tombstones of every kind, garbage, overwrites, snapshots, columns, times, directions and caches.
func TestScanCounts(t *testing.T) {
	seeds, steps := uint64(20), 150
	if testing.Short() {
		seeds = 4
	}
	var sum ScanCounts
	for seed := range seeds {
		m := &timesModel{t: t, r: rand.New(rand.NewPCG(seed, 2)), fs: vfs.NewMem()}
		m.limits = map[string]Policy{"e": {}, "f": {GC: cell.GC{VersionLimit: 1 + m.r.Int64N(3)}}}
		m.open()
		for range steps {
			m.step(seed)
			if m.r.IntN(10) > 0 {
				continue
			}
			snap := m.snapshot()
			if len(m.old) > 0 && m.r.IntN(2) == 0 {
				snap.Close()
				snap = m.old[0]
			}
			for range 8 {
				o := m.options()
				if m.r.IntN(3) == 0 {
					times := m.times()
					o.Times = &times
				}
				m.checkCounts(snap, o, m.r.IntN(2) == 0, &sum)
			}
			if len(m.old) == 0 || snap != m.old[0] {
				snap.Close()
			}
		}
		m.close()
	}
	for i := range sum.Levels[1:] { // into one level
		addUp(reflect.ValueOf(&sum.Levels[0]).Elem(), reflect.ValueOf(&sum.Levels[i+1]).Elem())
	}
	l, d := sum.Levels[0], sum.Dropped
	for name, n := range map[string]uint64{
		"memtables": uint64(sum.Memtables), "left out of memtables": sum.MemtableCellsLeftOut,
		"deleted files": uint64(l.Deleted), "files of other times": uint64(l.OtherTimes), "excluded files": uint64(l.Excluded), "files of other families": uint64(l.OtherFamilies),
		"blocks read": l.BlocksRead, "blocks cached": l.BlocksCached, "skipped by times": l.SkippedByTimes, "skipped by columns": l.SkippedByColumns,
		"bytes": l.BytesDecompressed, "left out": l.CellsLeftOut,
		"tombstones": d.Tombstones, "later": d.Later, "deleted": d.Deleted, "overwritten": d.Overwritten, "garbage": d.Garbage,
	} {
		if n == 0 {
			t.Errorf("no scan counted %s", name)
		}
	}
	t.Logf("%+v %+v", l, d)
}
