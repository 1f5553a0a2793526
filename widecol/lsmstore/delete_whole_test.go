package lsmstore_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// TestDeleteOfARangeReadsNothing: it is one range tombstone in each partition, whatever is in the range, and a
// deletion of single rows has none.
func TestDeleteOfARangeReadsNothing(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	writeRows(t, s, 1000)
	before := s.Engine().LastSeq()
	d := widecol.NewDeletion()
	d.Rows = widecol.NewRowSet(widecol.PrefixRange([]byte("row004")), widecol.KeyRange([]byte("row00001")), widecol.KeyRange([]byte("row00002")))
	if _, err := s.Delete(t.Context(), "t", &d, ""); err != nil {
		t.Fatal(err)
	}
	if n := s.Engine().LastSeq() - before; n != 1 {
		t.Errorf("the deletion took %d batches, want 1", n)
	}
	if n, err := scan(s, "t"); err != nil || n != 2*(1000-102) {
		t.Errorf("%d cells are left, %v, want those of 898 rows", n, err)
	}
	if n := rangeTombstones(s); n != 2 {
		t.Errorf("%d range tombstones, want one in each of 2 partitions", n)
	}
}

// rangeTombstones counts those of all partitions.
func rangeTombstones(s *lsmstore.Store) (n int) {
	for _, p := range s.Engine().Partitions() {
		stats, _ := s.Engine().Stats(p.ID) // it is there: nothing is dropped
		n += stats.RangeTombstones
	}
	return n
}

// writeRows writes the first n rows, in both families.
func writeRows(t *testing.T, s *lsmstore.Store, n int) {
	t.Helper()
	var all []widecol.Mutation
	for i := range n {
		row := fmt.Sprintf("row%05d", i)
		all = append(append(all, one(row, "f")...), one(row, "g")...)
	}
	if _, err := s.Write(t.Context(), "t", all, ""); err != nil {
		t.Fatal(err)
	}
}

// TestManyRangesUnderAKey stops a deletion of 800 ranges and 800 rows, which takes several batches, at each step. Sent again
// after a crash, it goes on where it was: rows that were gone and are written anew stay.
func TestManyRangesUnderAKey(t *testing.T) {
	const rows = 800
	d := widecol.NewDeletion()
	var ranges []widecol.RowRange
	for i := range rows {
		ranges = append(ranges, widecol.RowRange{Start: fmt.Appendf(nil, "row%05d", i), End: fmt.Appendf(nil, "row%05d.", i)},
			widecol.KeyRange(fmt.Appendf(nil, "row%05d/", i)))
	}
	d.Rows = widecol.NewRowSet(ranges...)
	parts := 0
	for at, over := int64(0), false; !over; at += stride(5) {
		failure := &vfs.Failure{At: at, Sticky: true, Fault: vfs.Fault{Err: syscall.EIO, Effect: vfs.Full}, Match: func(op vfs.Op) bool { return op.Kind.Changes() }}
		image := failOver(t, failure, func(s *lsmstore.Store) { writeRows(t, s, rows) }, func(s *lsmstore.Store) { s.Delete(context.Background(), "t", &d, "k") })
		over = failure.Hits() == 0

		s := openAt(t, image.Crash(vfs.KeepAll, 0))
		left, err := scan(s, "t")
		if err != nil {
			t.Fatal(err)
		}
		gone := rows - left/2
		if gone > 0 {
			writeRows(t, s, gone) // the first ones
		}
		if gone > 0 && gone < rows {
			parts++
		}
		for range 2 {
			if _, err := s.Delete(t.Context(), "t", &d, "k"); err != nil {
				t.Error(err)
			}
			if n, err := scan(s, "t"); err != nil || n != 2*gone {
				t.Fatalf("operation %d: %d rows are gone and written anew: %d cells are left, %v", at, gone, n, err)
			}
		}
		s.Close()
	}
	if parts < 2 {
		t.Errorf("%d images have a part of the deletion, want some", parts)
	}
}

// TestDeletionInTheMiddleOfAnIncrement: the deletion of a range of rows waits for an update that has read one of
// the rows. Otherwise the sum of what is deleted would come back.
func TestDeletionInTheMiddleOfAnIncrement(t *testing.T) {
	mem := vfs.NewMem()
	s := openAt(t, mem)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	if _, err := increment(t.Context(), s, "row", 5, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var middle atomic.Pointer[func()]
	s = openAt(t, vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, ".sst") {
			if work := middle.Swap(nil); work != nil {
				(*work)()
			}
		}
		return vfs.Fault{}
	}))
	defer s.Close()
	d := widecol.NewDeletion()
	d.Rows = widecol.RowSet{widecol.PrefixRange([]byte("r"))}
	deleted := make(chan error, 1)
	deletion := func() {
		go func() { deleted <- errorOf(s.Delete(context.Background(), "t", &d, "")) }()
		for i := 0; i < 10_000 && len(deleted) == 0; i++ { // one that does not wait is done by then
			runtime.Gosched()
		}
	}
	middle.Store(&deletion) // the increment reads the row from its file
	if n, err := increment(t.Context(), s, "row", 1, ""); err != nil || n != 6 {
		t.Fatalf("the increment returns %d, %v, want 6", n, err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if n, err := scan(s, "t"); err != nil || n != 0 {
		t.Errorf("%d cells are left, %v", n, err)
	}
}
