package lsmstore_test

import (
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestPushDownToBlocks: what a query's times, limit of versions and families exclude is not read: neither blocks of a
// wide row nor files.
func TestPushDownToBlocks(t *testing.T) {
	const versions = 20_000
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	ctx := t.Context()
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}}); err != nil {
		t.Fatal(err)
	}
	write := func(mutations []widecol.Mutation) {
		t.Helper()
		if _, err := s.Write(ctx, "t", mutations, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Engine().Flush(ctx); err != nil { // a file for each write
			t.Fatal(err)
		}
	}
	set := func(row, family, qualifier string, time int64) widecol.Mutation {
		return widecol.Mutation{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Time: time, Type: cell.String, Value: fmt.Appendf(nil, "%d", time)}
	}
	var wide []widecol.Mutation
	for i := range int64(versions) {
		wide = append(wide, set("r", "a", "x", i), set("r", "a", "y", i))
	}
	write(wide)
	write([]widecol.Mutation{set("s", "b", "x", versions)})

	last := widecol.TimeRange{Start: versions - versions/100, End: widecol.EndOfTime}
	columns, wrong := widecol.ColumnsFilter("b")
	if wrong != nil {
		t.Fatal(wrong)
	}
	for name, test := range map[string]struct {
		change func(q *widecol.Query)
		cells  int64
	}{
		"times":           {func(q *widecol.Query) { q.Times = last }, 2*versions/100 + 1},
		"times, reverse":  {func(q *widecol.Query) { q.Times, q.Reverse = last, true }, 2*versions/100 + 1},
		"times of a row":  {func(q *widecol.Query) { q.Times = last; q.SetKey([]byte("r")) }, 2 * versions / 100},
		"times of a tree": {func(q *widecol.Query) { q.RowFilter = &widecol.RowFilter{Op: widecol.TimestampRange, Times: last} }, 2*versions/100 + 1},
		"newest versions": {func(q *widecol.Query) { q.ColumnCellLimit = 2 }, 5},
		"family":          {func(q *widecol.Query) { q.Filter = columns }, 1},
	} {
		q := widecol.NewQuery()
		test.change(&q)
		view, err := s.View(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := view.Scan(ctx, &q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
		}
		got := rows.Stats()
		if rows.Err() != nil || got.Cells != test.cells || got.CellsScanned > versions/5 {
			t.Errorf("%s: %d cells of %d looked at, %v, want %d", name, got.Cells, got.CellsScanned, rows.Err(), test.cells)
		}
		rows.Close()
		view.Close()
	}
}
