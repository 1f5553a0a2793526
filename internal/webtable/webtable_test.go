package webtable

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

type line struct {
	RowKey string `json:"row_key"`
	Cells  []struct {
		ColumnKey string `json:"column_key"`
		Type      string `json:"type"`
		Value     any    `json:"value"`
		Time      int64  `json:"time"`
	} `json:"cells"`
}

func rows(t *testing.T, o Options) []line {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]line, o.Rows)
	for i := range list {
		raw := g.AppendRow(nil, int64(i))
		if strings.Count(string(raw), "\n") != 1 || raw[len(raw)-1] != '\n' {
			t.Fatalf("row %d is not one line: %q", i, raw)
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.DisallowUnknownFields()
		if err := d.Decode(&list[i]); err != nil {
			t.Fatalf("row %d: %v in %s", i, err, raw)
		}
	}
	return list
}

func TestRowsAreInOrderAndHaveTheirShape(t *testing.T) {
	var raw, cells int
	list := rows(t, Options{Rows: 5000, Seed: 7, Contents: 100})
	for i, row := range list {
		if i > 0 && list[i-1].RowKey >= row.RowKey {
			t.Fatalf("row %d: key %q does not follow %q", i, row.RowKey, list[i-1].RowKey)
		}
		if len(row.Cells) != CellsPerRow {
			t.Fatalf("row %d has %d cells, want %d", i, len(row.Cells), CellsPerRow)
		}
		columns := map[string]bool{}
		for _, c := range row.Cells {
			columns[c.ColumnKey] = true
			raw += len(row.RowKey) + len(c.ColumnKey) + 8
			switch v := c.Value.(type) {
			case string:
				raw += len(v)
				if c.Type != "string" || len(v) < 2 || len(v) > 150 {
					t.Errorf("row %d, %s: type %s, value %q", i, c.ColumnKey, c.Type, v)
				}
			case float64:
				raw += 8
				if c.Type != "i64" {
					t.Errorf("row %d, %s: type %s with a number", i, c.ColumnKey, c.Type)
				}
			}
			if c.Time != row.Cells[0].Time || c.Time < firstFetch || c.Time >= firstFetch+fetchDays*dayMicros {
				t.Errorf("row %d, %s: time %d", i, c.ColumnKey, c.Time)
			}
		}
		if len(columns) != CellsPerRow {
			t.Errorf("row %d writes a column twice: %v", i, columns)
		}
		cells += len(row.Cells)
	}
	if mean := raw / cells; mean < 63 || mean > 77 {
		t.Errorf("a cell has %d raw bytes on average, want about 70", mean)
	}
}

func TestShuffleIsAPermutation(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 64, 1000, 1025} {
		sorted := rows(t, Options{Rows: n, Seed: 3, Contents: 20})
		dealt := rows(t, Options{Rows: n, Seed: 3, Contents: 20, Shuffle: true})
		if n >= 64 && slices.IsSortedFunc(dealt, func(a, b line) int { return strings.Compare(a.RowKey, b.RowKey) }) {
			t.Errorf("%d shuffled rows are in order", n)
		}
		slices.SortFunc(dealt, func(a, b line) int { return strings.Compare(a.RowKey, b.RowKey) })
		for i := range sorted {
			a, _ := json.Marshal(sorted[i])
			b, _ := json.Marshal(dealt[i])
			if string(a) != string(b) {
				t.Fatalf("%d rows: shuffled and sorted differ at %d:\n%s\n%s", n, i, b, a)
			}
		}
	}
}

func TestSeedDecidesEverything(t *testing.T) {
	text := func(seed uint64) string {
		g, err := New(Options{Rows: 100, Seed: seed, Contents: 50})
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		for i := range int64(100) {
			b = g.AppendRow(b, i)
		}
		return string(b)
	}
	one, again, two := text(1), text(1), text(2)
	if one != again {
		t.Error("the same seed gives two tables")
	}
	if one == two {
		t.Error("two seeds give the same table")
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for _, o := range []Options{{Rows: -1, Contents: 50}, {Rows: maxRows + 1, Contents: 50}, {Rows: 1}, {Rows: 1, Contents: maxContents + 1}} {
		if _, err := New(o); err == nil {
			t.Errorf("options %+v were accepted", o)
		}
	}
}

func BenchmarkAppendRow(b *testing.B) {
	g, err := New(Options{Rows: 1_000_000, Seed: 1, Contents: 100})
	if err != nil {
		b.Fatal(err)
	}
	var line []byte
	var i int64
	b.ReportAllocs()
	for b.Loop() {
		line = g.AppendRow(line[:0], i%1_000_000)
		i++
	}
	b.ReportMetric(float64(i)*CellsPerRow/b.Elapsed().Seconds(), "cells/s")
	b.SetBytes(int64(len(line)))
}
