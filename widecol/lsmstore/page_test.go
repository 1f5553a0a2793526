package lsmstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// TestPagesOfAWideRow: a page within a row costs what it returns, in memory and in files, and not the row up to it.
func TestPagesOfAWideRow(t *testing.T) {
	const columns, pageCells, most = 30_000, 1000, 5000
	ctx := context.Background()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	var ms []widecol.Mutation
	for i := range columns {
		ms = append(ms, widecol.Mutation{Row: []byte("wide"), Family: []byte("a"), Qualifier: fmt.Appendf(nil, "%08d", i), Time: 1, Type: cell.String, Value: []byte("value")})
	}
	if _, err := s.Write(ctx, "t", ms, ""); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"memory", "files"} {
		if where == "files" {
			if err := s.Engine().Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		var at *widecol.Position
		cells := 0
		for more := true; more; {
			p, n := pageBehind(t, s, at, pageCells)
			if cells += n; n == 0 {
				break
			}
			if p.scanned > most {
				t.Errorf("in %s, a page behind %d cells has cost %d", where, cells-n, p.scanned)
				break
			}
			at, more = &p.at, p.more
		}
		if cells != columns {
			t.Errorf("in %s, the pages have %d cells", where, cells)
		}
	}
}

type pageEnd struct {
	at      widecol.Position
	more    bool
	scanned int64
}

// pageBehind reads a page of t and returns how many cells it has.
func pageBehind(t *testing.T, s *lsmstore.Store, at *widecol.Position, most int64) (end pageEnd, cells int) {
	t.Helper()
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	q.CellLimit, q.After = most, at
	rows, err := view.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		cells += len(rows.Cells())
	}
	end.at, end.more = rows.More()
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	end.scanned = rows.Stats().CellsScanned
	return end, cells
}
