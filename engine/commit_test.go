package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"colonnade/cell"
	"colonnade/clock"
	"colonnade/sstable"
	"colonnade/vfs"
)

// TestRefusedWriteIsNotUnknown: once a sync of the log has failed, the outcome of
// that write is not known. Of those after it, it is: nothing was written.
func TestRefusedWriteIsNotUnknown(t *testing.T) {
	var armed atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if armed.Load() && op.Kind == vfs.OpSync && op.Name == "store/wal/"+segmentName(1) {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	opt := testOptions(fs)
	opt.Clock = clock.NewManual(1) // so that no seal comes before the write
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id := mustCreate(t, db, "a")[0]
	armed.Store(true)
	for i, want := range []string{"unknown", "read-only", "read-only"} {
		err := tryPut(db, id)
		var unknown *UnknownError
		var readOnly *ReadOnlyError
		got := ""
		if errors.As(err, &unknown) {
			got += "unknown"
		}
		if errors.As(err, &readOnly) {
			got += "read-only"
		}
		if got != want || !errors.Is(err, syscall.EIO) {
			t.Errorf("write %d: got %q (%v), want %s for the failure of the sync", i, got, err, want)
		}
	}
}

// TestBadEntriesAreRefused: once in the log, they would keep the store from opening,
// or in a memtable, that from being flushed.
func TestBadEntriesAreRefused(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	long := strings.Repeat("x", sstable.MaxKey+1)
	for name, spoil := range map[string]func(row *[]byte, c *cell.Cell){
		"no row key":    func(row *[]byte, c *cell.Cell) { *row = nil },
		"long row key":  func(row *[]byte, c *cell.Cell) { *row = []byte(long) },
		"long column":   func(row *[]byte, c *cell.Cell) { c.Column = append(c.Column, long...) },
		"no family":     func(row *[]byte, c *cell.Cell) { c.Column = []byte("x") },
		"negative time": func(row *[]byte, c *cell.Cell) { c.Time = -2 },
		"unknown kind":  func(row *[]byte, c *cell.Cell) { c.Kind = cell.KindCount },
		"no type":       func(row *[]byte, c *cell.Cell) { c.Type = cell.None },
	} {
		var b Batch
		row, c := set("row", "q", "v")
		b.Add(id, row, c)
		spoil(&row, c)
		b.Add(id, row, c)
		if _, err := db.Commit(context.Background(), &b); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	mustPut(t, db, id, "row", "q", "1")
	if err := db.Flush(context.Background()); err != nil {
		t.Error(err)
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("got %q, want one cell", got)
	}
	mustClose(t, db)
}
