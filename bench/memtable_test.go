package bench

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/memtable"
)

// fullTable is the size of a full memtable: what the default options allow the only one of a store.
const fullTable = 64 << 20

// BenchmarkMemtable inserts rows of ten cells, each with the inserter of a new batch, until the table
// is full.
func BenchmarkMemtable(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, order := range []struct {
		name string
		data *dataset.Table
	}{{"sorted", data}, {"random", shuffled(data, 1)}} {
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("order=%s/goroutines=%d", order.name, goroutines), func(b *testing.B) {
				benchInsert(b, order.data, goroutines)
			})
		}
	}
}

func benchInsert(b *testing.B, data *dataset.Table, goroutines int) {
	var current atomic.Pointer[memtable.Table]
	current.Store(memtable.New())
	var next, seq atomic.Int64
	var cells counter
	concurrently(b, goroutines, func(g int) func() error {
		var in memtable.Inserter
		var key []byte
		var row []cell.Cell
		return func() error {
			key, row = data.Nth(int(next.Add(1)-1), key, row[:0])
			t := current.Load()
			if t.Bytes() >= fullTable {
				current.CompareAndSwap(t, memtable.New())
				t = current.Load()
			}
			n := uint64(seq.Add(1))
			in.Reset()
			for i := range row {
				row[i].Seq = n
				in.Add(t, key, &row[i])
			}
			cells.add(g, len(row))
			return nil
		}
	})
	perSecond(b, cells.sum(), "cells")
}
