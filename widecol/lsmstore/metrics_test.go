package lsmstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// setting returns mutations that set a version of family f in each of n rows.
func setting(n int) (list []widecol.Mutation) {
	for i := range n {
		list = append(list, widecol.Mutation{Row: fmt.Appendf(nil, "row%03d", i), Family: []byte("f"), Qualifier: []byte("q"), Time: widecol.CommitTime, Type: cell.String, Value: []byte("value")})
	}
	return list
}

func countsOf(t *testing.T, s *lsmstore.Store, table string) lsmstore.TableMetrics {
	t.Helper()
	for _, m := range s.Metrics().Tables {
		if m.Name == table {
			return m
		}
	}
	t.Fatalf("no table %s", table)
	return lsmstore.TableMetrics{}
}

// TestMetrics: the counts of a table go up by what was done with it, and stay in the total when it is dropped.
func TestMetrics(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	ctx := context.Background()
	for _, name := range []string{"a", "b"} {
		if err := s.CreateTable(ctx, name, widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := s.Write(ctx, "a", setting(100), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Write(ctx, "a", setting(1), "key"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ReadModifyWrite(ctx, "b", &widecol.ReadModifyWrite{Row: []byte("r"), Rules: []widecol.Rule{{Family: []byte("f"), Increment: 1}}}, ""); err != nil {
		t.Fatal(err)
	}
	a := countsOf(t, s, "a")
	if a.Writes != 4 || a.RowsWritten != 301 || a.EntriesWritten != 302 || a.BytesWritten < 301*10 || a.Reads != 0 || a.MemtableBytes == 0 {
		t.Errorf("after 300 rows, and one with a key: got %+v", a)
	}
	if b := countsOf(t, s, "b"); b.Writes != 1 || b.RowsWritten != 1 || b.EntriesWritten != 1 {
		t.Errorf("after an update: got %+v", b)
	}
	q := widecol.NewQuery()
	q.ColumnCellLimit = 1
	for range 2 {
		readTwiceClosed(t, s, "a", &q)
	}
	a = countsOf(t, s, "a")
	if a.Reads != 2 || a.RowsReturned != 200 || a.CellsReturned != 200 || a.RowsScanned != 200 || a.CellsScanned != 602 || a.BytesScanned == 0 {
		t.Errorf("after two scans: got %+v", a)
	}
	m := s.Metrics()
	if m.Keys != 1 || m.KeysUnderWay != 0 || m.Moves != 0 || m.Engine.Batches < 5 {
		t.Errorf("got %d keys, %d under way, %d moves, %d batches", m.Keys, m.KeysUnderWay, m.Moves, m.Engine.Batches)
	}
	if err := s.DropTable(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	m = s.Metrics()
	if len(m.Tables) != 1 || m.Total.RowsWritten != 302 || m.Total.RowsReturned != 200 {
		t.Errorf("after a drop: got %d tables, and in all %+v", len(m.Tables), m.Total)
	}
}

// readTwiceClosed reads all that a query returns, and closes its result twice.
func readTwiceClosed(t *testing.T, s *lsmstore.Store, table string, q *widecol.Query) {
	t.Helper()
	v, err := s.View(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	rows, err := v.Scan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	rows.Close()
	rows.Close()
}
