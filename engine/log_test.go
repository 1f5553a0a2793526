package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestSegmentsAreReused: segments released by a flush become the next ones, also after the store is
// opened again. They take at most half of LogBytes.
func TestSegmentsAreReused(t *testing.T) {
	var filled atomic.Int64
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) (f vfs.Fault) {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, manifest.FillSuffix) {
			filled.Add(1)
		}
		return f
	})
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	segments := func(n int) {
		for i := range n {
			mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 40<<10))
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	reuse := func() {
		t.Helper()
		eventually(db, func() bool { return len(db.log.spares) > 0 })
		db.mu.Lock()
		n := len(db.log.recycled)
		db.mu.Unlock()
		if n < 4 || n > 8 {
			t.Errorf("%d segments are kept for reuse, want 4 to 8", n)
		}
		before := filled.Load()
		segments(4)
		if n := filled.Load() - before; n > 0 {
			t.Errorf("%d segments were made of new files", n)
		}
	}
	segments(7)
	reuse()
	segments(12)
	mustClose(t, db)
}
