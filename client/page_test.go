package client

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// joinedPages returns the rows of pages. A row that goes on is one.
func joinedPages(t *testing.T, table *Table, q Query) (rows []Row, pages int) {
	t.Helper()
	for page, err := range table.Pages(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		if int64(len(page.Rows)) != page.Stats.Rows {
			t.Errorf("a page of %d rows has %+v", len(page.Rows), page.Stats)
		}
		for _, row := range page.Rows {
			if n := len(rows); n > 0 && rows[n-1].Key == row.Key {
				rows[n-1].Cells = append(rows[n-1].Cells, row.Cells...)
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows, pages
}

func TestPages(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	rows := numbered(50)
	if err := table.Write(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	back := slices.Clone(rows)
	slices.Reverse(back)
	for _, e := range []struct {
		q     Query
		want  []Row
		pages int
	}{
		{Query{}, rows, 1},
		{Query{Limit: Limit{Rows: 7}}, rows, 8},
		{Query{Limit: Limit{Rows: 25}, Reverse: true}, back, 2},
		{Query{Limit: Limit{Rows: 10, Offset: 20}}, rows[20:], 3},
		{Query{Limit: Limit{Cells: 1}, Rows: Prefix("r0001")}, rows[10:20], 23},
		{Query{Limit: Limit{Cells: 4, Rows: 3}, Reverse: true}, back, 33},
		{Query{Limit: Limit{Rows: 0}, Rows: Key("none")}, nil, 1},
	} {
		got, pages := joinedPages(t, table, e.q)
		if !sameRows(got, e.want) {
			t.Errorf("%+v: got %d rows, want %d", e.q, len(got), len(e.want))
		}
		if e.q.Limit.Cells == 0 && pages != e.pages || e.q.Limit.Cells == 1 && pages != e.pages {
			t.Errorf("%+v: got %d pages, want %d", e.q, pages, e.pages)
		}
	}
	page, err := table.ReadPage(t.Context(), Query{Limit: Limit{Rows: 7}})
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	rest, err := table.ReadPage(t.Context(), Query{Page: page.Next})
	if err != nil || rest.Next != "" || !sameRows(rest.Rows, rows[7:]) {
		t.Errorf("got %d rows behind a page, %v", len(rest.Rows), err)
	}
	var e *Error
	_, err = table.ReadPage(t.Context(), Query{Page: page.Next, Reverse: true})
	if !errors.As(err, &e) || e.Code != "page_token_mismatch" || !errors.Is(err, ErrInvalid) {
		t.Errorf("another query gets %v", err)
	}
}

// TestPagesBreak: a page that breaks off is read again, and no row comes twice.
func TestPagesBreak(t *testing.T) {
	table, s, _ := scripted(t, Options{})
	rows := numbered(30)
	if err := table.Write(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	s.play(loseRequest, pass, cut(500), say(503, "overloaded", ""), loseAnswer)
	got, pages := joinedPages(t, table, Query{Limit: Limit{Rows: 10}})
	if !sameRows(got, rows) || pages != 3 || len(s.requests()) != 7 {
		t.Errorf("got %d rows on %d pages with %d requests", len(got), pages, len(s.requests()))
	}
	s.play(pass, say(400, "page_token_mismatch", ""))
	failed := false
	for page, err := range table.Pages(t.Context(), Query{Limit: Limit{Rows: 10}}) {
		failed = err != nil
		if failed && len(page.Rows) > 0 {
			t.Error("a page comes with an error")
		}
	}
	if !failed {
		t.Error("pages end without the error")
	}
}

func TestScanEach(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	rows := numbered(20)
	if err := table.Write(t.Context(), rows...); err != nil {
		t.Fatal(err)
	}
	var got []Row
	for row, err := range table.ScanEach(t.Context(),
		Query{Rows: Prefix("r0001"), Limit: Limit{Rows: 2}},
		Query{Rows: Keys("r00003", "none")},
		Query{Limit: Limit{Cells: 2}},
		Query{Rows: Key("r00005"), Columns: Families("title"), Value: &ValueFilter{"=", I64(5)}},
	) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row)
	}
	want := []Row{rows[10], rows[11], rows[3], {"r00000", rows[0].Cells[:2]}}
	if !sameRows(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, err := range table.ScanEach(t.Context(), Query{Reverse: true}) {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("a reverse query gets %v", err)
		}
	}
}

func TestScanLines(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	if err := table.Write(t.Context(), numbered(5)...); err != nil {
		t.Fatal(err)
	}
	lines, err := table.ScanLines(t.Context(), Query{Rows: Prefix("r"), Limit: Limit{Rows: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	text, err := io.ReadAll(lines)
	if err != nil || strings.Count(string(text), "\n") != 4 || strings.Count(string(text), `{"row_key":"r0000`) != 3 || !strings.Contains(string(text), `"has_more":true`) {
		t.Errorf("got %v, %s", err, text)
	}
}

// TestFilters: each filter is one that the server takes, and does what it says.
func TestFilters(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	cells := []Cell{
		{Family: "anchor", Qualifier: "a", Value: String("x"), Time: At(3)},
		{Family: "anchor", Qualifier: "a", Value: String("y"), Time: At(2)},
		{Family: "anchor", Qualifier: "b\xff", Value: I64(1), Time: At(1)},
		{Family: "title", Qualifier: "", Value: String("x"), Time: At(5)},
	}
	if err := table.Write(t.Context(), Row{"r\xff", cells}); err != nil {
		t.Fatal(err)
	}
	labelled := func(c Cell, label string) Cell { c.Label = label; return c }
	emptied := func(c Cell) Cell { c.Value = Bytes(nil); return c }
	for name, e := range map[string]struct {
		f    Filter
		want []Cell
	}{
		"none":            {Filter{}, cells},
		"pass":            {PassAll(), cells},
		"block":           {BlockAll(), nil},
		"chain":           {Chain(FamilyRegex("anchor"), CellsPerRow(2), SkipCells(1)), cells[1:2]},
		"interleave":      {Interleave(FamilyRegex("title"), Chain(FamilyRegex("title"), Label("again"))), []Cell{cells[3], labelled(cells[3], "again")}},
		"choose then":     {Choose(ValueRegex("y"), FamilyRegex("title"), Filter{}), cells[3:]},
		"choose else":     {Choose(ValueRegex("z"), Filter{}, FamilyRegex("title")), cells[3:]},
		"choose nothing":  {Choose(ValueRegex("z"), PassAll(), Filter{}), nil},
		"sink":            {Chain(Chain(FamilyRegex("title"), Sink()), BlockAll()), cells[3:]},
		"row key":         {RowKeyRegex(`r\C`), cells},
		"other row key":   {RowKeyRegex("r"), nil},
		"row sample":      {RowSample(0.999999), cells},
		"qualifier":       {QualifierRegex("b\xff"), cells[2:3]},
		"qualifiers":      {QualifierRange("anchor", Range{Start: "a", ExcludeStart: true, End: "b\xff", IncludeEnd: true}), cells[2:3]},
		"qualifiers, end": {QualifierRange("anchor", Range{Start: "a", End: "b"}), cells[:2]},
		"family":          {QualifierRange("title", Range{}), cells[3:]},
		"values":          {ValueRange(Range{Start: "x", End: "y"}), []Cell{cells[0], cells[3]}},
		"times":           {TimeRange(Times{Start: At(2), End: At(3)}), cells[1:2]},
		"from a time":     {TimeRange(Times{Start: At(4)}), cells[3:]},
		"versions":        {Chain(FamilyRegex("anchor"), CellsPerColumn(1)), []Cell{cells[0], cells[2]}},
		"no values":       {Chain(CellsPerRow(1), EmptyValues()), []Cell{emptied(cells[0])}},
	} {
		var want []Row
		if e.want != nil {
			want = []Row{{"r\xff", e.want}}
		}
		if got := all(t, table, Query{Filter: e.f}); !sameRows(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		rows, err := table.ReadRows(t.Context(), RowRead{Key: "r\xff", Filter: e.f})
		if err != nil || !slices.Equal(rows[0].Cells, e.want) {
			t.Errorf("%s: ReadRows got %v, %v", name, rows, err)
		}
		if n, err := table.Count(t.Context(), Query{Filter: e.f}); err != nil || n.Cells != int64(len(e.want)) {
			t.Errorf("%s: %d cells are counted, %v", name, n.Cells, err)
		}
	}
	if _, err := table.Count(t.Context(), Query{Filter: RowKeyRegex("(")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a bad pattern gets %v", err)
	}
	rows, err := table.ReadRows(t.Context(), RowRead{Key: "r\xff", Times: Times{End: At(2)}, StripValues: true}, RowRead{Key: "r\xff", Value: &ValueFilter{"=", String("y")}})
	if err != nil || len(rows[0].Cells) != 1 || !rows[0].Cells[0].Value.IsNull() || !slices.Equal(rows[1].Cells, cells[1:2]) {
		t.Errorf("by times and value: got %v, %v", rows, err)
	}
}

func TestAggregate(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	err := table.Write(t.Context(),
		Row{"a/1", []Cell{{Family: "anchor", Qualifier: "n", Value: I64(1)}, {Family: "title", Qualifier: "\xff", Value: String("x")}}},
		Row{"a/2", []Cell{{Family: "anchor", Qualifier: "n", Value: F64(0.5)}}},
		Row{"\xff", []Cell{{Family: "anchor", Qualifier: "n", Value: Byte(7)}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	var stats Stats
	for _, e := range []struct {
		by   GroupBy
		of   []Function
		want []Group
	}{
		{GroupBy{}, []Function{CountOf, Sum, Min, Max, Avg}, []Group{{Count: 4, Sum: F64(8.5), Min: F64(0.5), Max: Byte(7), Avg: F64(8.5 / 3)}}},
		{ByRowDelimiter("/"), []Function{Sum}, []Group{{Key: "a/", Sum: F64(1.5)}, {Key: "\xff", Sum: I64(7)}}},
		{ByRowLength(3), []Function{CountOf}, []Group{{Key: "a/1", Count: 2}, {Key: "a/2", Count: 1}, {Key: "\xff", Count: 1}}},
		{ByColumn(), []Function{CountOf, Max}, []Group{{Key: "anchor:n", Count: 3, Max: Byte(7)}, {Key: "title:\xff", Count: 1}}},
	} {
		got, s, err := table.Aggregate(t.Context(), Query{Stats: &stats}, e.by, e.of...)
		if err != nil || !slices.Equal(got, e.want) {
			t.Errorf("%v: got %v, %v, want %v", e.by, got, err, e.want)
		}
		if s.Rows != 3 || s.Cells != 4 || s.RowsScanned != 3 || s.CellsScanned != 4 || s.BytesScanned == 0 || s.LocalityGroups != 2 || s != stats {
			t.Errorf("got the statistics %+v", s)
		}
	}
	if _, _, err := table.Aggregate(t.Context(), Query{}, GroupBy{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no function gets %v", err)
	}
}
