package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestLocate: rows go where they belong from where Locate leaves the inserters, which is right
// before them, beside others that insert at the same places.
func TestLocate(t *testing.T) {
	table, other := New(), New()
	const goroutines, rounds, width, rows = 4, 300, 16, 2000
	var all sync.WaitGroup
	for g := range uint64(goroutines) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(g, 1))
			ins := make([]Inserter, width)
			searches := make([]Search, width)
			for round := range rounds {
				n := 1 + r.IntN(width)
				for i := range n {
					searches[i].In, searches[i].Row = &ins[i], fmt.Appendf(nil, "row%04d", r.IntN(rows))
				}
				into := table
				if round%10 == 9 { // the inserters have to forget where they were
					into = other
				}
				Locate(into, searches[:n])
				for i := range n {
					ins[i].Add(into, searches[i].Row, &cell.Cell{Column: []byte("c"), Seq: g<<32 | uint64(round*width+i)})
				}
			}
		})
	}
	all.Wait()
	for _, table := range []*Table{table, other} {
		checkTable(t, table)
	}
}

// TestLocateEndsBeforeTheRow: what Locate leaves is what a search leaves, level by level.
func TestLocateEndsBeforeTheRow(t *testing.T) {
	table := New()
	Locate(table, nil)
	r := rand.New(rand.NewPCG(5, 6))
	row := func() []byte { return fmt.Appendf(nil, "row%04d", r.IntN(5000)) }
	for range 3000 {
		table.Add(row(), &cell.Cell{Column: []byte("c")})
	}
	l := table.rowList()
	var ins [8]Inserter
	for range 300 {
		var searches [8]Search
		for i := range searches {
			searches[i].In, searches[i].Row = &ins[i], row()
		}
		Locate(table, searches[:])
		for _, s := range searches {
			var want finger
			l.search(&searchKey{key: s.Row}, &want)
			if s.In.table != table { // Add would begin anew
				t.Fatalf("%s: the inserter is not of the table", s.Row)
			}
			if s.In.rows != want {
				t.Fatalf("%s: located after %v, want %v", s.Row, s.In.rows, want)
			}
		}
	}
}

// checkTable verifies the order of the rows and their count.
func checkTable(t *testing.T, table *Table) {
	t.Helper()
	it := table.NewIterator(ReadOptions{})
	defer it.Close()
	var last []byte
	n := 0
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		if n > 0 && bytes.Compare(last, it.Row()) >= 0 {
			t.Fatalf("%s after %s", it.Row(), last)
		}
		last = bytes.Clone(it.Row())
		n++
	}
	if n == 0 || n != table.Rows() {
		t.Errorf("%d rows, want %d", n, table.Rows())
	}
}

// BenchmarkLocate is BenchmarkInsert/rows=random with so many rows located together.
func BenchmarkLocate(b *testing.B) {
	rows := benchData()
	for _, width := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("rows=%d", width), func(b *testing.B) {
			b.ReportAllocs()
			ins, searches := make([]Inserter, width), make([]Search, width)
			n, t := 0, New()
			for b.Loop() {
				if n%width == 0 {
					for i := range searches {
						searches[i].In, searches[i].Row = &ins[i], rows[(n+i)%len(rows)].key
					}
					Locate(t, searches)
				}
				row := &rows[n%len(rows)]
				for j := range row.cells {
					ins[n%width].Add(t, row.key, &row.cells[j])
				}
				if n++; n%len(rows) == 0 {
					t = New()
				}
			}
			perCell(b, n*benchWidth)
		})
	}
}
