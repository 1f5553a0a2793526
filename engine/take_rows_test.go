package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestTakeRows: a scan that takes many rows in one step, with rows one by one in between, returns the cells that a
// scan row by row does, in the same order, for the same cost. Files and memtables overlap; there are tombstones, a
// family with limits and one that was dropped. In some, range tombstones cover files whole or in part, or come
// before them. A reverse scan takes none.
func TestTakeRows(t *testing.T) {
	taken, most, beside := 0, 0, 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 11))
		db := mustOpen(t, vfs.NewMem())
		id := mustCreate(t, db, "a")[0]
		before := fillForTakeRows(t, db, id, rng)
		early, err := db.NewSnapshot(id) // keeps what later entries hide
		if err != nil {
			t.Fatal(err)
		}
		after := fillForTakeRows(t, db, id, rng)
		ranges := seed%2 == 1
		if ranges {
			alone := seed%4 == 1 // over one run of files, where steps are long
			if alone {
				if err := db.Compact(context.Background(), id); err != nil {
					t.Fatal(err)
				}
			}
			for range 1 + rng.IntN(4) {
				from := rng.IntN(900)
				mustDeleteRange(t, db, id, fmt.Sprintf("row%04d", from), fmt.Sprintf("row%04d", from+1+rng.IntN(200)))
			}
			if !alone {
				after = fillForTakeRows(t, db, id, rng)
			}
		}

		policies := NewPolicies(after, map[string]Policy{"a": {}, "b": {GC: cell.GC{TTLSecs: 10, VersionLimit: 1}}, "d": {Since: before}})
		if err := db.SetPolicies(id, policies); err != nil {
			t.Fatal(err)
		}
		snap, err := db.NewSnapshot(id)
		if err != nil {
			t.Fatal(err)
		}
		fillForTakeRows(t, db, id, rng) // after the snapshot
		for range 60 {
			opt := ScanOptions{Policies: policies, Now: 1000 * 1_000_000, KeysOnly: rng.IntN(3) == 0, FillCache: rng.IntN(2) == 0, Reverse: rng.IntN(5) == 0}
			if rng.IntN(3) > 0 {
				opt.Start = fmt.Appendf(nil, "row%04d", rng.IntN(1000))
			}
			if rng.IntN(3) > 0 {
				opt.End = fmt.Appendf(nil, "row%04d", rng.IntN(1000))
			}
			switch rng.IntN(3) {
			case 0:
				opt.Columns = cell.NewColumns(cell.ColumnRange([]byte("a"), []byte("n")))
			case 1:
				opt.Columns = cell.NewColumns(cell.FamilyRange([]byte("b")), cell.FamilyRange([]byte("d")), cell.ColumnRange([]byte("a"), []byte("x")))
			}
			want, cost, rows := rowByRow(t, snap, id, opt)
			got, gotCost, gotRows, n := inSteps(t, snap, id, opt, rng)
			taken, most = taken+n, max(most, n)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: a scan of %q to %q returns %d cells, should return %d", seed, opt.Start, opt.End, len(got), len(want))
			}
			if n > 0 && opt.Reverse && !opt.SingleRow() {
				t.Fatalf("seed %d: a reverse scan has taken %d rows", seed, n)
			}
			if ranges {
				beside += n
			}
			if cost.Read == 0 && cost.Cells > 0 || gotCost.Read < cost.Read/2 || gotCost.Read > 2*cost.Read {
				t.Fatalf("seed %d: a scan reads blocks of %d bytes, row by row of %d", seed, gotCost.Read, cost.Read)
			}
			cost.Read, gotCost.Read = 0, 0 // a step may need the values of a block in another order
			if gotCost != cost || gotRows != rows {
				t.Fatalf("seed %d: a scan of %q to %q costs %+v and has %d rows, should be %+v and %d", seed, opt.Start, opt.End, gotCost, gotRows, cost, rows)
			}
		}
		snap.Close()
		early.Close()
		mustClose(t, db)
	}
	if taken < 5_000 || most < 50 || beside < 2_000 {
		t.Errorf("%d rows were taken in steps, at most %d in one scan, %d beside range tombstones: the test shows little", taken, most, beside)
	}
}

// fillForTakeRows writes rows in batches, some of which are flushed or compacted. It returns the last sequence number.
func fillForTakeRows(t *testing.T, db *DB, id PartitionID, rng *rand.Rand) uint64 {
	t.Helper()
	for range 4 {
		from, step := rng.IntN(500), 1+rng.IntN(3)
		b, length := new(Batch), rng.IntN(3)*120
		for i := from; i < from+500; i += step {
			row := fmt.Appendf(nil, "row%04d", i)
			add := func(column string, time int64) {
				family, qualifier, _ := strings.Cut(column, ":")
				b.Add(id, row, &cell.Cell{Column: cell.AppendColumn(nil, []byte(family), []byte(qualifier)), Time: time, Type: cell.Bytes, Value: bytes.Repeat([]byte{byte(i)}, length)})
			}
			if rng.IntN(8) == 0 {
				length = 100 + rng.IntN(120)
			}
			add("a:n", int64(1+rng.IntN(2)))
			if rng.IntN(40) == 0 {
				add("a:n", 5)
			}
			if rng.IntN(40) == 0 {
				add("b:y", 998*1_000_000)
				add("b:y", 999*1_000_000)
			}
			for _, e := range []struct {
				column string
				odds   int
			}{{"a:x", 50}, {"b:y", 25}, {"c:z", 60}, {"d:u", 60}} {
				if rng.IntN(e.odds) == 0 {
					add(e.column, int64(980+rng.IntN(20))*1_000_000)
				}
			}
			if rng.IntN(150) == 0 {
				b.Add(id, row, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
			}
			if rng.IntN(100) == 0 {
				b.Add(id, row, &cell.Cell{Kind: cell.DeleteVersion, Column: cell.AppendColumn(nil, []byte("a"), []byte("n")), Time: 1})
			}
		}
		if _, err := db.Commit(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) > 0 {
			if err := db.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if rng.IntN(6) == 0 {
			if err := db.Compact(context.Background(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	return db.LastSeq()
}

func cellString(c *cell.Cell) string {
	return fmt.Sprintf("%q %d %d %d %q", c.Column, c.Time, c.Kind, c.Type, c.Value)
}

// rowByRow returns the cells of a scan, what it has passed, and how many rows.
func rowByRow(t *testing.T, snap *Snapshot, id PartitionID, opt ScanOptions) (cells []string, cost cell.Scanned, rows uint64) {
	t.Helper()
	s, err := snap.Scan(id, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.NextRow() {
		cells = appendRowOf(cells, s)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return cells, s.Scanned(), s.Rows()
}

func appendRowOf(cells []string, s *Scan) []string {
	for list := s.Cells(); len(list) > 0; list = s.Cells() {
		for i := range list {
			cells = append(cells, cellString(&list[i]))
		}
	}
	return cells
}

// inSteps is rowByRow with TakeRows where the scan allows it, up to a random row. n is how many rows it has taken so.
func inSteps(t *testing.T, snap *Snapshot, id PartitionID, opt ScanOptions, rng *rand.Rand) (cells []string, cost cell.Scanned, rows uint64, n int) {
	t.Helper()
	s, err := snap.Scan(id, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var took cell.Rows
	for {
		if rng.IntN(20) == 0 { // row by row, without a look before
			if !s.NextRow() {
				break
			}
			cells = appendRowOf(cells, s)
			continue
		}
		row := s.PeekRow()
		if row == nil {
			break
		}
		first, until := string(row), []byte(nil)
		if rng.IntN(2) == 0 {
			until = fmt.Appendf(nil, "%s~", row[:len(row)-1-rng.IntN(2)])
		}
		s.TakeRows(&took, until)
		for i := range took.Cells {
			cells = append(cells, cellString(&took.Cells[i]))
		}
		if k := len(took.Ends); k > 0 && took.Ends[k-1] != len(took.Cells) || !slices.IsSorted(took.Ends) {
			t.Fatalf("the rows from %s on end at %d, of %d cells", first, took.Ends, len(took.Cells))
		}
		if n += len(took.Ends); len(took.Ends) > 0 {
			continue
		}
		if !s.NextRow() || string(s.Row()) != first {
			t.Fatalf("the row behind %s, which was not taken, is %s", first, s.Row())
		}
		cells = appendRowOf(cells, s)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return cells, s.Scanned(), s.Rows(), n
}
