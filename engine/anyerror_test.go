package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
)

// TestOpenOverAnyError: any one operation of an open fails. The open returns the error or works
// without the operation. The next open finds everything.
func TestOpenOverAnyError(t *testing.T) {
	d := newDamagedStore(t)
	for what, c := range map[string]struct {
		fs   func() *vfs.Mem
		want map[PartitionID][]string
	}{
		"a new store":   {vfs.NewMem, nil},
		"after a crash": {d.fs.Clone, d.want},
	} {
		for at := int64(0); ; at++ {
			mem := c.fs()
			failure := &vfs.Failure{At: at, Fault: vfs.Fault{Err: syscall.EIO}}
			db, err := Open("store", crashOptions(vfs.Inject(mem, failure.Rule)))
			hits := failure.Hits()
			failure.Heal()
			switch {
			case err == nil:
				db.Close()
			case !errors.Is(err, syscall.EIO):
				t.Errorf("%s, operation %d: got %v, want the error of the device", what, at, err)
			}
			next, err := Open("store", crashOptions(mem))
			if err != nil {
				t.Fatalf("%s, operation %d: the next open: %v", what, at, err)
			}
			for id, want := range c.want {
				if got := contents(t, next, id); !slices.Equal(got, want) {
					t.Errorf("%s, operation %d: partition %d holds %q, want %q", what, at, id, got, want)
				}
			}
			mustClose(t, next)
			if hits == 0 {
				break
			}
		}
	}
}

// TestReadOverAnyError: any one operation of a read of a row fails. The read returns the error, and
// the next read finds the row.
func TestReadOverAnyError(t *testing.T) {
	mem := vfs.NewMem()
	db := mustOpen(t, mem)
	id := mustCreate(t, db, "a")[0]
	for i := range 100 {
		mustPut(t, db, id, fmt.Sprintf("row%02d", i), "q", "1")
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	for at := int64(0); ; at++ {
		var opened atomic.Bool
		failure := &vfs.Failure{At: at, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
			return opened.Load() && (op.Kind == vfs.OpOpen || op.Kind == vfs.OpRead)
		}}
		db := mustOpen(t, vfs.Inject(mem, failure.Rule))
		opened.Store(true)
		_, err := readRow(db, id, "row50")
		hits := failure.Hits()
		failure.Heal()
		if hits > 0 && !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want the error of the device", at, err)
		}
		if got, err := readRow(db, id, "row50"); err != nil || fmt.Sprint(got) != "[1]" {
			t.Errorf("operation %d: the next read got %q, %v", at, got, err)
		}
		mustClose(t, db)
		if hits == 0 {
			break
		}
	}
}

// TestRenameOfAManifestOfUnknownOutcome: the disk is full at the rename, and cannot tell afterwards
// whether it took place.
func TestRenameOfAManifestOfUnknownOutcome(t *testing.T) {
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		switch op.Kind {
		case vfs.OpRename:
			return vfs.Fault{Err: syscall.ENOSPC}
		case vfs.OpStat:
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	if err := nameManifest(fs, "manifest"); !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v, want the error of the device", err)
	}
}

// TestFirstFileOverAnError: the directory of a partition can be neither listed nor created, so its
// first file cannot be written. The log keeps the content.
func TestFirstFileOverAnError(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpList, vfs.OpMkdir} {
		mem := vfs.NewMem()
		failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Sticky: true, Match: func(op vfs.Op) bool {
			return op.Kind == kind && op.Name == "store/partitions/00000001"
		}}
		opt := testOptions(vfs.Inject(mem, failure.Rule))
		opt.MemtableBytes, opt.LogBytes = 8<<20, 8<<20
		db, err := Open("store", opt)
		if err != nil {
			t.Fatal(err)
		}
		id := mustCreate(t, db, "a")[0]
		value := strings.Repeat("v", 1<<20)
		for _, row := range []string{"a", "b"} {
			mustPut(t, db, id, row, "q", value)
		}
		// Close flushes this much data.
		if err := db.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%v: Close returned %v, want the error of the device", kind, err)
		}
		db = mustOpen(t, mem)
		if got := contents(t, db, id); len(got) != 2 {
			t.Errorf("%v: %d rows are left, want 2", kind, len(got))
		}
		mustClose(t, db)
	}
}
