package bench

import (
	"context"
	"math"
	"testing"

	"colonnade/bench/dataset"
	"colonnade/cell"
	"colonnade/engine"
)

// rounds is how often a cell is written in the histories that write it again.
const rounds = 10

// histories are ways in which a table can have come to be what it is. Each
// returns the rows that are there in the end.
var histories = []struct {
	name string
	make func(s *store, data *dataset.Table) (present []int)
}{
	{"clean", func(s *store, data *dataset.Table) []int {
		order := data.Shuffled(1)
		s.load(data, order)
		return order
	}},
	{"versions", func(s *store, data *dataset.Table) []int { // of a tenth of the rows, all to be returned
		part := data.Shuffled(1)[:max(data.Len()/rounds, 1)]
		for round := range rounds {
			s.rewrite(data, part, int64(round))
		}
		return part
	}},
	{"overwritten", func(s *store, data *dataset.Table) []int { // a tenth of the rows, the last round to be returned
		part := data.Shuffled(1)[:max(data.Len()/rounds, 1)]
		for range rounds {
			s.rewrite(data, part, 0)
		}
		return part
	}},
	{"deleted", func(s *store, data *dataset.Table) []int { // three rows in ten
		order := data.Shuffled(1)
		s.load(data, order)
		gone := len(order) * 3 / 10
		s.deleteRows(data, order[:gone])
		return order[gone:]
	}},
}

// BenchmarkHistory reads rows and scans tables that were written again, or
// deleted in part, next to one that was not.
func BenchmarkHistory(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, h := range histories {
		opt := scaled(data)
		opt.CacheBytes = 1 << 40
		s := openStore(b, opt)
		present := h.make(s, data)
		s.settle()
		b.Run(h.name+"/row", func(b *testing.B) { benchHistoryRow(b, s, data, present) })
		b.Run(h.name+"/scan", func(b *testing.B) { benchHistoryScan(b, s, len(present)) })
	}
}

func benchHistoryRow(b *testing.B, s *store, data *dataset.Table, present []int) {
	r := reader{s: s}
	read := func(i int) int {
		cells, err := r.row(data.Key(i))
		must(b, err)
		if cells == 0 {
			b.Fatalf("row %q is missing", data.Key(i))
		}
		return cells
	}
	for range 2 { // the first reads have level 0 compacted
		for _, i := range present {
			read(i)
		}
		s.settle()
	}
	var cells int64
	next := 0
	m := startMeter(b)
	for b.Loop() {
		cells += int64(read(present[next%len(present)]))
		next++
	}
	m.stop()
	perSecond(b, int64(b.N), "rows")
	perSecond(b, cells, "cells")
}

func benchHistoryScan(b *testing.B, s *store, present int) {
	r := reader{s: s}
	var cells, scanned int64
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
		cells += int64(a.cells)
		scanned += int64(a.scanned)
	}
	m.stop()
	perSecond(b, cells, "cells")
	perSecond(b, scanned, "cells_scanned")
}

// rewrite writes rows with times that are later by a number of microseconds.
func (s *store) rewrite(data *dataset.Table, rows []int, later int64) {
	batch := new(engine.Batch)
	var room [16]cell.Cell
	for from := 0; from < len(rows); from += loadRows {
		batch.Reset()
		for _, i := range rows[from:min(from+loadRows, len(rows))] {
			key, cells := data.Row(i, room[:0])
			for k := range cells {
				cells[k].Time += later
				batch.Add(s.id, key, &cells[k])
			}
		}
		_, err := s.db.Commit(context.Background(), batch)
		must(s.b, err)
	}
}

// deleteRows writes a tombstone for each row.
func (s *store) deleteRows(data *dataset.Table, rows []int) {
	batch := new(engine.Batch)
	for from := 0; from < len(rows); from += loadRows {
		batch.Reset()
		for _, i := range rows[from:min(from+loadRows, len(rows))] {
			batch.Add(s.id, data.Key(i), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		}
		_, err := s.db.Commit(context.Background(), batch)
		must(s.b, err)
	}
}
