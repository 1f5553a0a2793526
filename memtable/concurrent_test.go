package memtable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// watch scans the table and reports what a reader beside writers must never
// see: rows or entries out of order or twice, rows without entries. It returns
// how many entries it met by writer, which is what Seq says.
func watch(t *testing.T, tb *Table, writers int) []int {
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	met := make([]int, writers)
	var row []byte
	var run []cell.Cell
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		if row != nil && bytes.Compare(row, it.Row()) >= 0 {
			t.Errorf("row %q after %q", it.Row(), row)
		}
		row = it.Row()
		var last cell.Cell
		n := 0
		for run = it.Cells(run[:0]); len(run) > 0; run = it.Cells(run[:0]) {
			for i := range run {
				c := run[i]
				if n > 0 && last.Compare(&c) >= 0 {
					t.Errorf("row %q: %q %d %d after %q %d %d", row, c.Column, c.Time, c.Seq, last.Column, last.Time, last.Seq)
				}
				met[c.Seq]++
				last = c
				n++
			}
		}
		if n == 0 {
			t.Errorf("row %q has no entries", row)
		}
	}
	return met
}

// alongside runs read until all writers are done, and once more after that.
func alongside(writers, readers int, write func(g int), read func()) {
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for g := range writers {
		writing.Go(func() { write(g) })
	}
	for range readers {
		reading.Go(func() {
			for last := false; !last; {
				last = done.Load()
				read()
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

// Sixteen writers, with entries of their own in shared rows: many small rows,
// one wide row, keys in random and in ascending order. Readers check the order,
// and that all is there that was added before they began.
func TestConcurrentInserts(t *testing.T) {
	const writers, readers, each = 16, 2, 400
	for name, place := range map[string]func(r *rand.Rand, i int) (row, column string){
		"many rows":        func(r *rand.Rand, i int) (string, string) { return fmt.Sprint(r.IntN(each)), "f\x00" },
		"one wide row":     func(r *rand.Rand, i int) (string, string) { return "row", fmt.Sprint("f\x00", r.IntN(each)) },
		"ascending rows":   func(r *rand.Rand, i int) (string, string) { return fmt.Sprintf("%04d", i/10), "f\x00" },
		"ascending in one": func(r *rand.Rand, i int) (string, string) { return "row", fmt.Sprintf("f\x00%04d", i) },
	} {
		t.Run(name, func(t *testing.T) {
			tb := New()
			var added [writers]atomic.Int64
			var all [writers][]entry
			write := func(g int) {
				r := rand.New(rand.NewPCG(uint64(g), 6))
				in := Inserter{Ascending: g%4 == 1}
				for i := range each {
					row, column := place(r, i)
					c := cell.Cell{Column: []byte(column), Value: []byte(row), Time: int64(i), Seq: uint64(g), Type: cell.String}
					if g%4 == 0 {
						tb.Add([]byte(row), &c)
					} else {
						in.Add(tb, []byte(row), &c)
					}
					all[g] = append(all[g], entry{row, c})
					added[g].Add(1)
				}
			}
			read := func() {
				var least [writers]int64
				for g := range least {
					least[g] = added[g].Load()
				}
				for g, n := range watch(t, tb, writers) {
					if int64(n) < least[g] {
						t.Errorf("writer %d: met %d entries, %d were there before", g, n, least[g])
					}
				}
			}
			alongside(writers, readers, write, read)

			checkInvariants(t, tb)
			m := new(model)
			for _, entries := range all {
				for _, e := range entries {
					m.add(e.row, e.cell)
				}
			}
			compare(t, dump(tb, ReadOptions{}), m.entries)
			if got, want := tb.Len(), writers*each; got != want {
				t.Errorf("Len: got %d, want %d", got, want)
			}
			if got, want := tb.Rows(), len(m.rows()); got != want {
				t.Errorf("Rows: got %d, want %d", got, want)
			}
		})
	}
}

// Writers fight for the same places. Each entry is there once, and what it
// holds is what one of them wrote, never a mixture.
func TestConcurrentReplace(t *testing.T) {
	const writers, readers, places, rounds = 16, 2, 60, 6
	tb := New()
	value := func(v int) cell.Cell {
		c := cell.Cell{Kind: cell.Set, Type: cell.Type(1 + v%8)}
		c.Value = bytes.Repeat([]byte{byte(v)}, v*v)
		if v%8 == 0 {
			c = cell.Cell{Kind: cell.DeleteVersion}
		}
		return c
	}
	write := func(g int) {
		r := rand.New(rand.NewPCG(uint64(g), 7))
		var in Inserter
		for range rounds {
			for _, p := range r.Perm(places) {
				c := value(r.IntN(64))
				c.Column = binary.BigEndian.AppendUint16([]byte("f\x00"), uint16(p))
				in.Add(tb, []byte{byte(p % 3)}, &c)
			}
		}
	}
	read := func() {
		for _, e := range dump(tb, ReadOptions{}) {
			want := cell.Cell{Kind: cell.DeleteVersion}
			if n := len(e.cell.Value); n > 0 {
				want = value(int(e.cell.Value[0]))
			}
			if e.cell.Kind != want.Kind || e.cell.Type != want.Type || !bytes.Equal(e.cell.Value, want.Value) {
				t.Errorf("got %v, which nobody wrote", e)
			}
		}
	}
	alongside(writers, readers, write, read)
	checkInvariants(t, tb)
	if got := len(dump(tb, ReadOptions{})); got != places || tb.Len() != places || tb.Rows() != 3 {
		t.Errorf("got %d entries, Len %d, Rows %d, want %d, %d, 3", got, tb.Len(), tb.Rows(), places, places)
	}
}

// Seeks and reads of some columns beside writers find what was there before.
func TestConcurrentSeeks(t *testing.T) {
	const writers, readers, rows = 4, 4, 300
	tb := New()
	column := []byte("f\x00wanted")
	for i := range rows {
		tb.Add(fmt.Appendf(nil, "%05d", 10*i), &cell.Cell{Column: column, Type: cell.String})
	}
	columns := cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("wanted")))
	write := func(g int) {
		var in Inserter
		for i := range 10 * rows {
			c := cell.Cell{Column: fmt.Appendf(nil, "f\x00%d", i), Time: int64(g), Type: cell.String}
			in.Add(tb, fmt.Appendf(nil, "%05d", i*7%(10*rows)), &c)
		}
	}
	read := func() {
		it := tb.NewIterator(ReadOptions{Columns: columns})
		defer it.Close()
		for i := range rows {
			row := fmt.Appendf(nil, "%05d", i*11%rows*10)
			it.SeekRow(row)
			if !bytes.Equal(it.Row(), row) {
				t.Errorf("SeekRow(%q): got row %q", row, it.Row())
				continue
			}
			if got := it.Cells(nil); len(got) != 1 || !bytes.Equal(got[0].Column, column) {
				t.Errorf("row %q: got %v, want the one column", row, got)
			}
		}
	}
	alongside(writers, readers, write, read)
	checkInvariants(t, tb)
}
