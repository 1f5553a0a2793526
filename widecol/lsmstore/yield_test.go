package lsmstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestWideRowWithoutMatch: a query that finds nothing in a row of many chunks calls Yield meanwhile, and ends
// when its context does.
func TestWideRowWithoutMatch(t *testing.T) {
	const cells = 200_000
	s := openLong(t, engine.Options{MemtableBytes: 64 << 20})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var ms []widecol.Mutation
	for i := range cells {
		ms = append(ms, widecol.Mutation{
			Row: []byte("row"), Family: []byte("a"), Qualifier: fmt.Appendf(nil, "%06d", i),
			Time: 1, Type: cell.String, Value: []byte("v"),
		})
	}
	if _, err := s.Write(ctx, "t", ms, ""); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	q.Times.Start = 2
	calls := 0
	q.Yield = func() error {
		if calls++; calls == 3 {
			cancel()
		}
		return nil
	}
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() {
		t.Errorf("got %v, want nothing", rows.Cells())
	}
	if n := rows.Stats().CellsScanned; !errors.Is(rows.Err(), context.Canceled) || calls != 3 || n == cells {
		t.Errorf("got %v after %d calls of Yield and %d cells, want %v after 3", rows.Err(), calls, n, context.Canceled)
	}
}

// TestManyMissingRows: so does a query for many rows that do not exist.
func TestManyMissingRows(t *testing.T) {
	s := openLong(t, engine.Options{})
	defer s.Close()
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	q.Rows = everySecondRow(2000)
	calls := 0
	q.Yield = func() error { calls++; return nil }
	if _, text := readAll(t, view, &q); text != "" || calls < 1000/widecol.YieldEvery {
		t.Errorf("got %q and %d calls of Yield for 1000 rows", text, calls)
	}
}
