package memtable

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// What Run says is so of every run of rows that one batch or several have written, and it says so of
// those that one batch has.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []cell.Cell
		plain bool
	}{
		{"one batch", []cell.Cell{value("a", 5, 9), value("b", 5, 9), value("c", 5, 9)}, true},
		{"one cell", []cell.Cell{value("a", 5, 9)}, true},
		{"two batches", []cell.Cell{value("a", 5, 9), value("b", 5, 8)}, false},
		{"two versions of a column", []cell.Cell{value("a", 5, 9), value("a", 4, 9)}, false},
		{"a version written twice", []cell.Cell{value("a", 5, 9), value("a", 5, 8)}, false},
		{"two times", []cell.Cell{value("a", 5, 9), value("b", 4, 9)}, false},
		{"a tombstone", []cell.Cell{value("a", 5, 9), {Column: []byte("f\x00b"), Kind: cell.DeleteVersion, Time: 5, Seq: 9}}, false},
		{"a tombstone first", []cell.Cell{{Column: []byte("f\x00a"), Kind: cell.DeleteVersion, Time: 5, Seq: 9}, value("b", 5, 9)}, false},
	} {
		it := tableOf(c.cells).NewIterator(ReadOptions{})
		it.SeekRow(nil)
		cells := it.Cells(nil)
		checkRun(t, c.name, it.Run(), cells, nil)
		if run := it.Run(); run.SingleVersion != c.plain || !run.EndOfRow || !run.AllSelected {
			t.Errorf("%s: got %+v, want plain %t, the last, wanted", c.name, *run, c.plain)
		}
		it.Close()
	}
}

func TestRandomRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	var plain, last, wanted int
	for n := range 500 {
		var list []cell.Cell
		for range 1 + r.IntN(3*maxRunCells)/(1+r.IntN(100)) {
			list = append(list, value(fmt.Sprintf("%03d", r.IntN(1000)), 5+int64(r.IntN(100)/98), 9+uint64(r.IntN(100)/98)))
		}
		o := ReadOptions{}
		if n%2 == 0 {
			o.Columns = cell.NewColumns(cell.Range{Start: []byte("f\x00100"), End: []byte("f\x00500")}, cell.Range{Start: []byte("f\x00800")})
		}
		it := tableOf(list).NewIterator(o)
		it.SeekRow(nil)
		ended := false
		for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(nil) {
			if ended {
				t.Fatalf("table %d: the row goes on behind its last run", n)
			}
			run := it.Run()
			checkRun(t, fmt.Sprint("table ", n), run, cells, o.Columns)
			ended = run.EndOfRow
			plain, last, wanted = plain+one(run.SingleVersion), last+one(run.EndOfRow), wanted+one(run.AllSelected)
		}
		it.Close()
	}
	if plain < 50 || last < 100 || wanted < plain {
		t.Errorf("%d plain, %d last, %d wanted runs: too few to say anything", plain, last, wanted)
	}
}

// checkRun complains of what is not so of a run.
func checkRun(t *testing.T, name string, run *cell.Run, cells []cell.Cell, columns *cell.Columns) {
	t.Helper()
	for i := range cells {
		c := &cells[i]
		if run.AllSelected && columns != nil && !columns.Wants(c.Column) {
			t.Errorf("%s: column %q is not wanted", name, c.Column)
		}
		if run.SingleVersion && (c.Kind != cell.Set || c.Seq < run.MinSeq || c.Seq > run.MaxSeq || c.Time < run.MinTime ||
			i > 0 && string(cells[i-1].Column) == string(c.Column)) {
			t.Errorf("%s: cell %d, %v, of a run said to be plain: %+v", name, i, c, *run)
		}
	}
}

func value(column string, time int64, seq uint64) cell.Cell {
	return cell.Cell{Column: []byte("f\x00" + column), Type: cell.Bytes, Time: time, Seq: seq}
}

// tableOf returns a table with a row of these entries.
func tableOf(cells []cell.Cell) *Table {
	tb := New()
	var in Inserter
	for i := range cells {
		in.Add(tb, []byte("row"), &cells[i])
	}
	return tb
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
