package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"colonnade/vfs"
)

// TestFailedDirectorySync: a sync of a directory that succeeds after one that has
// failed does not make the names durable which the first one had to. A file with
// such a name must not take the place of the log.
func TestFailedDirectorySync(t *testing.T) {
	for _, dir := range []string{"store/partitions", "store/partitions/00000001"} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
			fs := vfs.NewMem()
			failure := &vfs.Failure{
				Fault: vfs.Fault{Err: errno},
				Match: func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir && op.Name == dir },
			}
			db := mustOpen(t, vfs.Inject(fs, failure.Rule))
			id := mustCreate(t, db, "a")[0]
			mustPut(t, db, id, "row", "q", "1")
			var readOnly *ReadOnlyError
			if err := db.Flush(context.Background()); !errors.As(err, &readOnly) {
				t.Errorf("%s, %v: Flush returned %v, want a *ReadOnlyError", dir, errno, err)
			}
			crashed := fs.Crash(vfs.DropAll, 0)
			db.Close()
			db = mustOpen(t, crashed)
			if got, err := read(db, id, nil); err != nil || fmt.Sprint(got) != "[row q=1]" {
				t.Errorf("%s, %v: after a crash got %q, %v", dir, errno, got, err)
			}
			mustClose(t, db)
		}
	}
}
