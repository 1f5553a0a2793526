package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// Seeks and steps down, with rows left before their end.
func TestIteratorMovesDown(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			tb, m := fillRows(r, 1+r.IntN(2000), func(r *rand.Rand) string { return fmt.Sprint(r.IntN(1 + 500*int(seed%3))) })
			rows := m.rows()
			it := tb.NewIterator(ReadOptions{})
			defer it.Close()
			for range 20 {
				at := len(rows)
				if r.IntN(4) == 0 {
					it.SeekBelow(nil)
				} else {
					target := fmt.Sprint(r.IntN(1000))
					it.SeekBelow([]byte(target))
					at = sort.SearchStrings(rows, target)
				}
				for range r.IntN(len(rows) + 2) {
					if at--; at < 0 {
						break
					}
					if it.Row() == nil || string(it.Row()) != rows[at] {
						t.Fatalf("got row %q, want %q", it.Row(), rows[at])
					}
					if r.IntN(3) > 0 {
						compare(t, takeRow(nil, it), m.rowEntries(rows[at]))
					}
					it.PrevRow()
				}
				if at < 0 && it.Row() != nil {
					t.Fatalf("got row %q, want the start", it.Row())
				}
			}
			it.SeekBelow([]byte{})
			if it.PrevRow(); it.Row() != nil {
				t.Errorf("got row %q below all keys", it.Row())
			}
		})
	}
}

// A walk down returns of each row what a walk up does, whatever it selects, and counts the same.
func TestColumnsDown(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 12))
		tb, _ := fill(r, 600)
		for _, o := range []ReadOptions{{}, {KeysOnly: true}, {Columns: randomColumns(r)}} {
			up, down := tb.NewIterator(o), tb.NewIterator(o)
			var want, got [][]entry
			for up.SeekRow(nil); up.Row() != nil; up.NextRow() {
				want = append(want, takeRow(nil, up))
			}
			for down.SeekBelow(nil); down.Row() != nil; down.PrevRow() {
				got = append(got, takeRow(nil, down))
			}
			slices.Reverse(got)
			compare(t, slices.Concat(got...), slices.Concat(want...))
			if up.Scanned() != down.Scanned() {
				t.Errorf("seed %d: scanned %+v, upward %+v", seed, down.Scanned(), up.Scanned())
			}
			up.Close()
			down.Close()
		}
	}
}

// A reader that moves down beside writers meets every row that was there before, rows in order and none
// twice. Rows have entries.
func TestMovesDownBesideInserts(t *testing.T) {
	const writers, each = 2, 3000
	tb := New()
	var before []string
	for i := range 500 {
		row := fmt.Sprintf("%05d", 37*i)
		before = append(before, row)
		tb.Add([]byte(row), &cell.Cell{Column: []byte("f\x00"), Seq: 1, Type: cell.Bytes})
	}
	slices.Reverse(before)
	alongside(writers, 2, func(g int) {
		r := rand.New(rand.NewPCG(uint64(g), 13))
		var in Inserter
		for range each {
			in.Add(tb, fmt.Appendf(nil, "%05d", r.IntN(20_000)), &cell.Cell{Column: []byte("f\x00"), Seq: 2, Type: cell.Bytes})
		}
	}, func() {
		it := tb.NewIterator(ReadOptions{})
		defer it.Close()
		met := before
		var last []byte
		for it.SeekBelow(nil); it.Row() != nil; it.PrevRow() {
			if last != nil && bytes.Compare(it.Row(), last) >= 0 {
				t.Errorf("row %q after %q", it.Row(), last)
			}
			last = it.Row()
			if len(it.Cells(nil)) == 0 {
				t.Errorf("row %q has no entries", last)
			}
			if len(met) > 0 && string(last) == met[0] {
				met = met[1:]
			}
		}
		if len(met) > 0 {
			t.Errorf("row %q was not met", met[0])
		}
	})
}

func TestMovingDownAllocatesNothing(t *testing.T) {
	tb, _ := fill(rand.New(rand.NewPCG(5, 14)), 2000)
	run := make([]cell.Cell, 0, maxRunCells)
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	allocs := testing.AllocsPerRun(5, func() { // after one run that fills the buffers
		for it.SeekBelow(nil); it.Row() != nil; it.PrevRow() {
			for run = it.Cells(run[:0]); len(run) > 0; {
				run = it.Cells(run[:0])
			}
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}
