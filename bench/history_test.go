package bench

import (
	"context"
	"math"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// rounds is how often the histories that overwrite write a cell.
const rounds = 10

// histories are pasts of a table. Each writes rows of a shuffled table, and returns the rows that
// are left.
var histories = []struct {
	name string
	part int // one row of the table in so many is written
	make func(s *store, data *dataset.Table) (present *dataset.Table)
}{
	{"clean", 1, func(s *store, data *dataset.Table) *dataset.Table {
		s.load(data)
		return data
	}},
	{"versions", rounds, func(s *store, data *dataset.Table) *dataset.Table { // all to be returned
		for round := range rounds {
			s.rewrite(data, int64(round))
		}
		return data
	}},
	{"overwritten", rounds, func(s *store, data *dataset.Table) *dataset.Table { // the last round to be returned
		for range rounds {
			s.rewrite(data, 0)
		}
		return data
	}},
	{"deleted", 1, func(s *store, data *dataset.Table) *dataset.Table { // three rows in ten
		s.load(data)
		rows := make([]int, data.Len())
		for i := range rows {
			rows[i] = i
		}
		gone := len(rows) * 3 / 10
		s.deleteRows(data.In(rows[:gone]))
		return data.In(rows[gone:])
	}},
}

// BenchmarkHistory reads rows and scans tables that were overwritten or deleted in part, beside a
// clean one.
func BenchmarkHistory(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, h := range histories {
		opt := scaled(data)
		opt.CacheBytes = 1 << 40
		s := openStore(b, opt)
		present := h.make(s, shuffled(data, h.part))
		s.settle()
		b.Run(h.name+"/row", func(b *testing.B) { benchHistoryRow(b, s, present) })
		b.Run(h.name+"/scan", func(b *testing.B) { benchHistoryScan(b, s, present.Len()) })
	}
}

func benchHistoryRow(b *testing.B, s *store, present *dataset.Table) {
	r := reader{s: s}
	read := func(i int) answer {
		a, err := r.row(present.Key(i))
		must(b, err)
		if a.cells == 0 {
			b.Fatalf("row %q is missing", present.Key(i))
		}
		return a
	}
	for range 2 { // the first reads have level 0 compacted
		for i := range present.Len() {
			read(i)
		}
		s.settle()
	}
	var all answer
	next := 0
	m := startMeter(b)
	for b.Loop() {
		all.add(read(next % present.Len()))
		next++
	}
	m.stop()
	perSecond(b, int64(b.N), "rows")
	all.report(b)
}

func benchHistoryScan(b *testing.B, s *store, present int) {
	r := reader{s: s}
	var all answer
	m := startMeter(b)
	for b.Loop() {
		found := 0
		a, err := r.each(engine.ScanOptions{}, math.MaxInt, func(cells int) {
			if cells > 0 {
				found++
			}
		})
		must(b, err)
		if found != present {
			b.Fatalf("%d rows, want %d", found, present)
		}
		all.add(a)
	}
	m.stop()
	all.report(b)
	perSecond(b, int64(all.scanned.Cells), "cells_scanned")
}

// rewrite writes the rows of a table, their times later by the given number of microseconds.
func (s *store) rewrite(data *dataset.Table, later int64) {
	var room [16]cell.Cell
	s.inBatches(data, func(batch *engine.Batch, i int) {
		key, cells := data.Row(i, room[:0])
		for k := range cells {
			cells[k].Time += later
			batch.Add(s.id, key, &cells[k])
		}
	})
}

// deleteRows writes a tombstone for each row of a table.
func (s *store) deleteRows(data *dataset.Table) {
	s.inBatches(data, func(batch *engine.Batch, i int) {
		batch.Add(s.id, data.Key(i), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
	})
}

// inBatches calls add for each row of a table, and commits after every loadRows of them.
func (s *store) inBatches(data *dataset.Table, add func(batch *engine.Batch, i int)) {
	batch := new(engine.Batch)
	for from := 0; from < data.Len(); from += loadRows {
		batch.Reset()
		for i := from; i < min(from+loadRows, data.Len()); i++ {
			add(batch, i)
		}
		_, err := s.db.Commit(context.Background(), batch)
		must(s.b, err)
	}
}
