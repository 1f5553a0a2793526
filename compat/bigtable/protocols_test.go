package bigtable

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
)

// TestBothProtocols: what is written over one protocol is read over the other.
func TestBothProtocols(t *testing.T) {
	s := serve(t, t.TempDir())
	createTable(t, s.address, "grpc", "f")
	table := client(t, s.address).Open("grpc")
	m := bigtable.NewMutation()
	m.Set("f", "q", 2000, []byte("new"))
	m.Set("f", "q", 1000, []byte("old"))
	m.Set("f", "n", 1000, []byte{0, 0, 0, 0, 0, 0, 0, 7})
	if err := table.Apply(t.Context(), "row", m); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(s.call(t, "POST", "grpc/scan", `{}`))), "")
	want := `"row_key":"row","columns":{"f":{"n":[{"time":1000,"type":"bytes","value":"AAAAAAAAAAc="}],"q":[{"time":2000,"type":"bytes","value":"bmV3"},{"time":1000,"type":"bytes","value":"b2xk"}]}}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}

	s.call(t, "PUT", "json", `{"column_families": [{"name": "f"}]}`)
	s.call(t, "POST", "json/write", `{"items": [{"row_key": "row", "cells": [
		{"column_key": "f:s", "type": "string", "value": "é", "time": 3000},
		{"column_key": "f:i", "type": "i64", "value": 258, "time": 3000},
		{"column_key": "f:b", "type": "boolean", "value": true, "time": 3000},
		{"column_key": "f:f", "type": "f64", "value": 1.5, "time": 3000}]}]}`)
	row, err := client(t, s.address).Open("json").ReadRow(t.Context(), "row")
	if err != nil {
		t.Fatal(err)
	}
	cells := ""
	for _, c := range row["f"] {
		cells += fmt.Sprintf("%s@%d %q\n", c.Column, c.Timestamp, c.Value)
	}
	if want := "f:b@3000 \"\\x01\"\nf:f@3000 \"?\\xf8\\x00\\x00\\x00\\x00\\x00\\x00\"\nf:i@3000 \"\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x02\"\nf:s@3000 \"é\"\n"; cells != want {
		t.Errorf("got\n%swant\n%s", cells, want)
	}
}
