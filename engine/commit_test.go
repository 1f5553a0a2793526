package engine

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"colonnade/clock"
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
