package lsmstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

const longBatch = 1_000

// openLong opens a store in memory, with a table of two families in groups of their own.
func openLong(t *testing.T, opt engine.Options) *lsmstore.Store {
	t.Helper()
	opt.FS, opt.Clock, opt.ReserveBytes, opt.SyncTimeout = vfs.NewMem(), clock.System, -1, time.Hour // large batches take long
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: opt})
	if err != nil {
		t.Fatal(err)
	}
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}, Groups: [][]string{{"b"}}}
	if err := s.CreateTable(t.Context(), "t", spec); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLongScan: a scan of many rows is one snapshot, although all rows are overwritten meanwhile,
// and memtables, files and log segments come and go.
func TestLongScan(t *testing.T) {
	longRows, memtable := 100_000, int64(10<<20)
	if testing.Short() {
		longRows, memtable = 40_000, 4<<20
	}
	s := openLong(t, engine.Options{
		Workers: 2, MemtableBytes: memtable, SegmentBytes: 1 << 20, FileBytes: 256 << 10, CacheBytes: 1 << 20,
	})
	defer s.Close()
	ctx := context.Background()
	for first := 0; first < longRows; first += longBatch {
		overwrite(t, s, first, "old")
	}
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n, cells := 0, 0
	for rows.Next() {
		if rows.First() {
			if want := longRow(n); string(rows.Row()) != want {
				t.Fatalf("row %d is %q, want %q", n, rows.Row(), want)
			}
			if n%longBatch == 0 { // from the end, ahead of the scan
				overwrite(t, s, longRows-longBatch-n, "new")
			}
			n++
		}
		for _, c := range rows.Cells() {
			if cells++; string(c.Value) != "old" {
				t.Fatalf("row %q, column %q is %q, written after the scan began", rows.Row(), c.Column, c.Value)
			}
		}
	}
	if err := rows.Err(); err != nil || n != longRows || cells != 2*longRows {
		t.Errorf("%d rows with %d cells (%v), want %d with %d", n, cells, err, longRows, 2*longRows)
	}
}

func longRow(i int) string { return fmt.Sprintf("row%06d", i) }

// overwrite writes one value to a batch of rows, in two locality groups.
func overwrite(t *testing.T, s *lsmstore.Store, first int, value string) {
	t.Helper()
	var ms []widecol.Mutation
	for i := first; i < first+longBatch; i++ {
		for _, family := range []string{"a", "b"} {
			ms = append(ms, widecol.Mutation{
				Row: []byte(longRow(i)), Family: []byte(family), Time: 1, Value: []byte(value), Type: cell.String,
			})
		}
	}
	if _, err := s.Write(context.Background(), "t", ms, ""); err != nil {
		t.Fatal(err)
	}
}
