package lsmstore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// divideRows is the number of rows of a table that is large enough to divide.
const divideRows = 10_000

// noise returns a value that does not compress, long enough to fill many blocks.
func noise(seed int) string {
	value := make([]byte, 400)
	rand.NewChaCha8([32]byte{byte(seed / longBatch)}).Read(value)
	return string(value)
}

// TestDivide: the parts of a query return its rows in its order, and their costs add up to its
// cost, with files on two levels and memtables above them.
func TestDivide(t *testing.T) {
	s := openLong(t, engine.Options{
		MemtableBytes: 16 << 20, SegmentBytes: 1 << 20, FileBytes: 2 << 20, BlockBytes: 64,
	})
	defer s.Close()
	ctx := context.Background()
	for first := 0; first < divideRows; first += longBatch {
		overwrite(t, s, first, noise(first))
	}
	for _, step := range []struct {
		state string
		reach func() error
	}{
		{"flushed", func() error { return s.Engine().Flush(ctx) }},
		{"compacted", func() error { return compactAll(ctx, s.Engine()) }},
		{"with newer versions in memory", func() error { overwrite(t, s, 5000, "new"); return nil }},
		{"and in level 0", func() error { return s.Engine().Flush(ctx) }},
		{"with a deleted row", func() error {
			_, err := s.Delete(ctx, "t", widecol.RowDeletion([]byte(longRow(7000)), widecol.Filter{}), "")
			return err
		}},
	} {
		if err := step.reach(); err != nil {
			t.Fatal(err)
		}
		checkDivisions(t, s, step.state)
	}
}

func compactAll(ctx context.Context, db *engine.DB) error {
	for _, p := range db.Partitions() {
		if err := db.Compact(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

func checkDivisions(t *testing.T, s *lsmstore.Store, state string) {
	t.Helper()
	view, err := s.View(context.Background(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	ofA, _ := widecol.ColumnsFilter("a:")
	for name, change := range map[string]func(*widecol.Query){
		"everything": func(*widecol.Query) {},
		"one family": func(q *widecol.Query) { q.Filter = ofA },
		"keys only":  func(q *widecol.Query) { q.KeysOnly = true },
		"a range":    func(q *widecol.Query) { q.SetRange([]byte(longRow(3000)), []byte(longRow(9_000))) },
		"several ranges": func(q *widecol.Query) {
			q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte(longRow(7))), widecol.KeyRange([]byte(longRow(11))),
				widecol.RowRange{Start: []byte(longRow(3000)), End: []byte(longRow(9000))}, widecol.KeyRange([]byte(longRow(9500))))
		},
		"reverse": func(q *widecol.Query) { q.Reverse = true },
		"several ranges, reverse": func(q *widecol.Query) {
			q.Reverse = true
			q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte(longRow(7))), widecol.KeyRange([]byte(longRow(11))),
				widecol.RowRange{Start: []byte(longRow(3000)), End: []byte(longRow(9000))}, widecol.KeyRange([]byte(longRow(9500))))
		},
		"per row": func(q *widecol.Query) { q.RowCellLimit, q.ColumnCellLimit = 1, 1 },
		"a filter tree": func(q *widecol.Query) {
			q.RowFilter = &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{
				{Op: widecol.RowKeyRegex, Pattern: []byte(`row00[3-8].*`)}, {Op: widecol.RowSample, P: 0.3}, {Op: widecol.RowOffset, N: 1}}}
		},
	} {
		q := widecol.NewQuery()
		change(&q)
		parts := view.(widecol.Divider).Divide(&q, 1<<20)
		if len(parts) < 3 || len(parts) > 64 {
			t.Errorf("%s, %s: %d parts", state, name, len(parts))
		}
		parts = divideAgain(view, parts, 1<<20)
		want, wantRows := readAll(t, view, &q)
		var got widecol.Stats
		rows := ""
		for i := range parts {
			stats, list := readAll(t, view, &parts[i])
			rows += list
			got.Rows += stats.Rows
			got.Cells += stats.Cells
			got.RowsScanned += stats.RowsScanned
			got.CellsScanned += stats.CellsScanned
			got.BytesScanned += stats.BytesScanned
			got.Partitions = stats.Partitions
		}
		if got != want {
			t.Errorf("%s, %s: the parts cost %+v, the whole %+v", state, name, got, want)
		}
		if rows != wantRows {
			t.Errorf("%s, %s: the parts do not have the rows of the whole", state, name)
		}
	}
	for name, change := range map[string]func(*widecol.Query){
		"rows": func(q *widecol.Query) { q.RowLimit = 5000 }, "cells": func(q *widecol.Query) { q.CellLimit = 5000 },
		"an offset": func(q *widecol.Query) { q.Offset = 1 }, "a sample": func(q *widecol.Query) { q.Sample = 0.5 },
		"one row": func(q *widecol.Query) { q.SetKey([]byte(longRow(5000))) }, "no row": func(q *widecol.Query) { q.Rows = nil },
		"too many ranges": func(q *widecol.Query) { q.Rows = everySecondRow(10_000) },
	} {
		q := widecol.NewQuery()
		change(&q)
		if n := len(view.(widecol.Divider).Divide(&q, 1<<20)); n != 1 {
			t.Errorf("%s: a query with a limit on %s has %d parts", state, name, n)
		}
	}
}

func everySecondRow(n int) (rows widecol.RowSet) {
	for i := 0; i < n; i += 2 {
		rows = append(rows, widecol.KeyRange([]byte(longRow(i))))
	}
	return rows
}

// TestDivideManyFiles: a query over many files has few parts, and each can be divided again. A
// query for a few rows has one part, wherever the rows are.
func TestDivideManyFiles(t *testing.T) {
	const least = 1 << 10
	s := openLong(t, engine.Options{MemtableBytes: 16 << 20, SegmentBytes: 1 << 20, FileBytes: 16 << 10, BlockBytes: 64})
	defer s.Close()
	ctx := context.Background()
	for first := 0; first < divideRows; first += longBatch {
		overwrite(t, s, first, noise(first))
	}
	if err := compactAll(ctx, s.Engine()); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	parts := view.(widecol.Divider).Divide(&q, least)
	if len(parts) < 50 || len(parts) > 66 {
		t.Errorf("%d parts, want 64 at most and nearly as many", len(parts))
	}
	if n := len(view.(widecol.Divider).Divide(&q, 200<<10)); n < 10 || n > 26 {
		t.Errorf("%d parts of 200 KiB of some 4 MiB in small files", n)
	}
	for i := range parts[1:] {
		from, to := parts[i], parts[i+1]
		q, bound := from, from.Rows[0].End
		before := bytes.Clone(bound)
		before[len(before)-1]-- // the row before
		q.SetRange(before, append(slices.Clip(bound), 'x'))
		if n := len(view.(widecol.Divider).Divide(&q, least)); n != 1 {
			t.Errorf("%q, around the bound of %q: %d parts", q.Rows, to.Rows, n)
		}
	}
	whole, rows := readAll(t, view, &q)
	var again widecol.Stats
	text := ""
	all := divideAgain(view, parts, least)
	for i := range all {
		stats, part := readAll(t, view, &all[i])
		text += part
		again.Cells += stats.Cells
	}
	if len(all) < 2*len(parts) || text != rows || again.Cells != whole.Cells {
		t.Errorf("divided again there are %d parts with %d cells, want %d", len(all), again.Cells, whole.Cells)
	}
}

// divideAgain divides parts until none can be divided further.
func divideAgain(view widecol.View, parts []widecol.Query, least int64) (all []widecol.Query) {
	for _, part := range parts {
		if more := view.(widecol.Divider).Divide(&part, least); len(more) > 1 {
			all = append(all, divideAgain(view, more, least)...)
		} else {
			all = append(all, part)
		}
	}
	return all
}

// readAll returns the cost of a query, and its cells as text.
func readAll(t *testing.T, view widecol.View, q *widecol.Query) (widecol.Stats, string) {
	t.Helper()
	rows, err := view.Scan(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var text []byte
	for rows.Next() {
		for _, c := range rows.Cells() {
			text = fmt.Appendf(text, "%s %s %d %s\n", rows.Row(), c.Column, c.Time, c.Value)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return rows.Stats(), string(text)
}
