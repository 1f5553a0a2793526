package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
)

// scanned returns what a scan returns: each row with its cells as text.
func scanned(t *testing.T, snap *Snapshot, id PartitionID, o ScanOptions) (rows []string, n cell.Scanned) {
	t.Helper()
	scan, err := snap.Scan(id, o)
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	for scan.NextRow() {
		row := string(scan.Row())
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				row += fmt.Sprintf(" %q@%d=%s", c.Column, c.Time, c.Value)
			}
		}
		rows = append(rows, row)
	}
	if scan.NextRow() || scan.Err() != nil {
		t.Errorf("a row behind the end, or an error: %v", scan.Err())
	}
	return rows, scan.Scanned()
}

// TestReverse: a reverse scan returns the rows of a forward scan in the other order, whatever the bounds,
// over memtables, level 0 and levels of several files, and costs as much.
func TestReverse(t *testing.T) {
	files := 0
	db, id, _ := grown(t, func(v *manifest.Version) {})
	defer mustClose(t, db)
	for _, list := range db.partitions[id].state.Load().version.Levels[1:] {
		files = max(files, len(list))
	}
	if files < 3 {
		t.Fatalf("no level has more than %d files", files)
	}
	r := rand.New(rand.NewPCG(1, 9))
	batch := new(Batch)
	for i := range 500 { // in a memtable, some frozen
		row := fmt.Sprintf("row%05d", r.IntN(3000))
		switch i % 5 {
		case 0:
			batch.Add(id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		default:
			_, c := set(row, fmt.Sprint("q", i%7), "new")
			batch.Add(id, []byte(row), c)
		}
		if i%100 == 99 {
			if _, err := db.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = new(Batch)
		}
		if i == 299 {
			if err := db.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	snap, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	columns := cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("q")))
	for i := range 300 {
		o := ScanOptions{Now: 1, FillCache: i%2 == 0, KeysOnly: i%5 == 0}
		if i%3 == 0 {
			o.Columns = columns
		}
		if i > 5 {
			o.Start = fmt.Appendf(nil, "row%05d", r.IntN(3100))
		}
		switch {
		case i > 5 && i%7 == 0:
			o.End = append(slices.Clone(o.Start), 0)
		case i > 10:
			o.End = fmt.Appendf(nil, "row%05d", r.IntN(3100))
		}
		want, cost := scanned(t, snap, id, o)
		o.Reverse = true
		got, costDown := scanned(t, snap, id, o)
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Fatalf("from %q to %q: %d rows, upward %d", o.Start, o.End, len(got), len(want))
		}
		if i <= 5 && cost != costDown {
			t.Errorf("scanned %+v, upward %+v", costDown, cost)
		}
	}
}
