package lsmstore_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// loadOf returns the load of table t, by the beginnings of its ranges, and of all.
func loadOf(t *testing.T, s *lsmstore.Store) (map[string]widecol.RangeLoad, widecol.RangeLoad) {
	t.Helper()
	k, err := s.KeySpace(context.Background(), "t", widecol.AllTimes)
	if err != nil {
		t.Fatal(err)
	}
	by := make(map[string]widecol.RangeLoad)
	var all widecol.RangeLoad
	for _, w := range k.Windows {
		for _, l := range w.Loads {
			start := string(k.Range(l.Range).Start)
			sum := by[start]
			for _, to := range []*widecol.RangeLoad{&sum, &all} {
				to.RowsRead += l.RowsRead
				to.RowsWritten += l.RowsWritten
				to.BytesRead += l.BytesRead
				to.BytesWritten += l.BytesWritten
			}
			by[start] = sum
		}
	}
	return by, all
}

// TestKeySpace: each way to write and to read counts for the rows that it writes and looks at, with its bytes. A little
// load is counted exactly.
func TestKeySpace(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	ctx := context.Background()
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	var before widecol.RangeLoad
	since := func(what string, want widecol.RangeLoad) {
		t.Helper()
		_, all := loadOf(t, s)
		got := widecol.RangeLoad{RowsRead: all.RowsRead - before.RowsRead, RowsWritten: all.RowsWritten - before.RowsWritten,
			BytesRead: all.BytesRead - before.BytesRead, BytesWritten: all.BytesWritten - before.BytesWritten}
		if before = all; got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	since("nothing", widecol.RangeLoad{})
	const size = 6 + 1 + 1 + 1 + 8 + 5 // row000, f:q, time, value
	if _, err := s.Write(ctx, "t", setting(100), ""); err != nil {
		t.Fatal(err)
	}
	since("a write", widecol.RangeLoad{RowsWritten: 100, BytesWritten: 100 * size})
	list := setting(10)
	if _, _, err := s.WriteRows(ctx, "t", [][]widecol.Mutation{list[:1], {list[1], list[1]}, {list[2], {Op: 99}}}, ""); err != nil {
		t.Fatal(err)
	}
	since("three rows, of which one is refused", widecol.RangeLoad{RowsWritten: 2, BytesWritten: 3 * size})
	if _, err := s.Write(ctx, "t", []widecol.Mutation{list[0], list[0], list[1], list[1]}, ""); err != nil {
		t.Fatal(err)
	}
	since("two rows of two cells", widecol.RangeLoad{RowsWritten: 2, BytesWritten: 4 * size})

	q := widecol.NewQuery()
	readTwiceClosed(t, s, "t", &q)
	since("a scan", widecol.RangeLoad{RowsRead: 100, BytesRead: 104 * size})
	q.SetKey([]byte("row050"))
	readTwiceClosed(t, s, "t", &q)
	since("a row", widecol.RangeLoad{RowsRead: 1, BytesRead: size})
	q.SetKey([]byte("none"))
	readTwiceClosed(t, s, "t", &q)
	since("no row", widecol.RangeLoad{})
	q.SetRange([]byte("row020"), []byte("row030"))
	q.RowLimit = 4
	readTwiceClosed(t, s, "t", &q)
	since("a page", widecol.RangeLoad{RowsRead: 4, BytesRead: 4 * size})
	if by, _ := loadOf(t, s); by["row050"].RowsRead != 2 || by["row022"].RowsRead != 2 || by["row040"].RowsRead != 1 {
		t.Errorf("got %+v", by)
	}

	if _, _, err := s.ReadModifyWrite(ctx, "t", &widecol.ReadModifyWrite{Row: []byte("new"), Rules: []widecol.Rule{{Family: []byte("f"), Increment: 1}}}, ""); err != nil {
		t.Fatal(err)
	}
	if by, all := loadOf(t, s); all.RowsWritten-before.RowsWritten != 1 || by[""].RowsWritten != 1 {
		t.Errorf("an update: got %+v, before %+v", all, before)
	}
	_, before = loadOf(t, s)
	c := &widecol.CheckAndMutate{Row: []byte("row007"), If: widecol.NewQuery(), Then: list[7:8]}
	if _, _, err := s.CheckAndMutate(ctx, "t", c, ""); err != nil {
		t.Fatal(err)
	}
	since("a condition and a cell", widecol.RangeLoad{RowsRead: 1, BytesRead: size, RowsWritten: 1, BytesWritten: size})
	d := widecol.NewDeletion()
	d.Rows, d.Count = widecol.RowSet{{Start: []byte("row090")}}, true
	if _, err := s.Delete(ctx, "t", &d, ""); err != nil {
		t.Fatal(err)
	}
	if _, all := loadOf(t, s); all.RowsWritten-before.RowsWritten != 10 {
		t.Errorf("a deletion of 10 rows: got %+v, before %+v", all, before)
	}

	if err := s.DropTable(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.KeySpace(ctx, "t", widecol.AllTimes); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("of a dropped table: %v", err)
	}
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	before = widecol.RangeLoad{}
	since("a new table of the name", widecol.RangeLoad{})
}

// TestKeySpaceOfLongScans: scans count for all that they pass over, at their places, whether they go forward, back, in
// one step or by a filter, and whatever they return.
func TestKeySpaceOfLongScans(t *testing.T) {
	ctx := context.Background()
	for _, flushed := range []bool{false, true} {
		s := openAt(t, vfs.NewMem())
		if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		var list []widecol.Mutation
		for i := range n {
			m := setting(1)[0]
			m.Row = []byte{byte(i >> 16), byte(i >> 8), byte(i)}
			list = append(list, m)
		}
		if _, err := s.Write(ctx, "t", list, ""); err != nil {
			t.Fatal(err)
		}
		if flushed {
			if err := s.Engine().Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, reverse := range []bool{false, true} {
			q := widecol.NewQuery()
			q.Reverse = reverse
			readTwiceClosed(t, s, "t", &q)
			q.Filter = widecol.PrefixFilter("f:none")
			readTwiceClosed(t, s, "t", &q)
		}
		v, err := s.View(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		q := widecol.NewQuery()
		if _, err := widecol.RunAggregate(ctx, v, &widecol.Aggregate{Query: q, Of: widecol.Count}); err != nil {
			t.Fatal(err)
		}
		v.Close()
		by, all := loadOf(t, s)
		metrics := countsOf(t, s, "t")
		if off := float64(all.RowsRead) / float64(metrics.RowsScanned); off < 0.9 || off > 1.1 || metrics.RowsScanned < 3*n {
			t.Errorf("flushed %t: %d rows read, %d scanned", flushed, all.RowsRead, metrics.RowsScanned)
		}
		if off := float64(all.BytesRead) / float64(metrics.BytesScanned); off < 0.85 || off > 1.15 {
			t.Errorf("flushed %t: %d bytes read, %d scanned", flushed, all.BytesRead, metrics.BytesScanned)
		}
		low := int64(0)
		for start, l := range by {
			if bytes.Compare([]byte(start), []byte{0, n >> 9, 0}) < 0 {
				low += l.RowsRead
			}
		}
		if share := float64(low) / float64(all.RowsRead); share < 0.42 || share > 0.58 {
			t.Errorf("flushed %t: %.2f of the rows are in the first half", flushed, share)
		}
		s.Close()
	}
}
