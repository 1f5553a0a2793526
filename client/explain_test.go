package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
)

// TestExplain: an explanation counts what the scan of the same query returns.
func TestExplain(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	for i := range 20 {
		row := Row{Key: fmt.Sprintf("row%02d", i), Cells: []Cell{{Family: "title", Value: I64(int64(i))}, {Family: "anchor", Value: I64(1)}}}
		if err := table.Write(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	q := Query{Rows: Prefix("row1"), Columns: Families("title"), Value: &ValueFilter{Op: ">=", Value: I64(15)}}
	e, err := table.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if e.Rows.Returned != 5 || e.Cells.Returned != 5 || e.Cells.Dropped["values"] != 5 || e.Ended["rows"] != 1 || !slices.Contains(e.Checked, "values") || len(e.Partitions) == 0 {
		t.Errorf("%+v", e)
	}
	if rows := all(t, table, q); len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
	q.Limit.Rows = 1
	if e, err := table.Explain(t.Context(), q); err != nil || e.Ended["row_limit"] != 1 {
		t.Errorf("with a limit: %+v, %v", e, err)
	}
	if _, err := table.c.Table("none").Explain(t.Context(), q); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestExplainLevels: all numbers of a level are read.
func TestExplainLevels(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"result": {"explain": {"partitions": [{"name": "p", "cells_scanned": 1, "bytes_scanned": 2, "memtables": 3, "levels": [
			{"level": 4, "files": 5, "files_read": 6, "files_left_out": {"times": 7}, "bloom_filters_asked": 8, "blocks": {"read": 9, "cached": 10},
			 "value_blocks": {"read": 11, "cached": 12}, "blocks_left_out": {"columns": 13}, "bytes_decompressed": 14}]}],
			"micros": {"receive": 1, "open": 2, "read": 3, "write": 4, "total": 1500}}}}`)
	})
	e, err := open(t, server, Options{}).Table("t").Explain(t.Context(), Query{})
	want := `[{p 1 2 3 [{4 5 6 map[times:7] 8 {9 10} {11 12} map[columns:13] 14}]}]`
	if err != nil || fmt.Sprint(e.Partitions) != want || e.Took().String() != "1.5ms" || e.Micros.Write != 4 {
		t.Errorf("%v, %+v, %v", err, e.Partitions, e.Took())
	}
}

// TestAdvice: advice can be followed as it is.
func TestAdvice(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/table/t/advice" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		io.WriteString(w, `{"result": {"since": 17, "moves": [{"column_family": "anchor", "body": {"locality_group": "new"}, "saves_bytes": 5, "saves_partitions": -12, "bytes": 6},
			{"column_family": "title", "body": {"locality_group": null}, "saves_bytes": 1, "saves_partitions": 2, "bytes": 3}],
			"queries": [{"column_families": ["title"], "query_count": 1, "partitions_read": 2, "bytes_read": 3, "bytes_stepped_over": 4}], "other_query_count": 9}}`)
	})
	a, err := open(t, server, Options{}).Table("t").Advice(t.Context())
	want := fmt.Sprint([]MoveAdvice{{"anchor", NewGroup, 5, -12, 6}, {"title", "", 1, 2, 3}}, []QueryCount{{[]string{"title"}, 1, 2, 3, 4}}, 17, 9)
	if got := fmt.Sprint(a.Moves, a.Queries, a.Since.Micros(), a.OtherQueries); err != nil || got != want {
		t.Errorf("%v, %s, want %s", err, got, want)
	}
	table := webtable(t, open(t, newServer(t), Options{}))
	if a, err := table.Advice(t.Context()); err != nil || len(a.Moves) != 0 {
		t.Errorf("of a new table: %+v, %v", a, err)
	}
}
