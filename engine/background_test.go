package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// flushed writes n files to a partition. Each has a row of its own and one that they share.
func flushed(t *testing.T, db *DB, id PartitionID, n int) {
	t.Helper()
	for i := range n {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", "v")
		mustPut(t, db, id, "all", fmt.Sprint(i), "v")
		if err := db.Flush(context.Background()); err != nil {
			t.Fatalf("Flush: %v", err)
		}
	}
}

// eventually waits until a condition guarded by DB.mu is true.
func eventually(db *DB, condition func() bool) {
	for {
		db.mu.Lock()
		ok := condition()
		db.mu.Unlock()
		if ok {
			return
		}
		runtime.Gosched()
	}
}

// TestUnreadableInputIsOnePartitionsTrouble: a compaction that cannot read its input backs off.
// Flushes and other partitions do not. The compaction continues by itself.
func TestUnreadableInputIsOnePartitionsTrouble(t *testing.T) {
	var broken atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if broken.Load() && op.Kind == vfs.OpRead && path.Base(op.Name) == manifest.TableFile(1) {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	opt := testOptions(fs)
	manual := clock.NewManual(1) // no backoff ends but by the test
	opt.Clock = manual
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	flushed(t, db, ids[0], 3)
	broken.Store(true)
	done := make(chan error, 1)
	go func() { done <- db.Compact(context.Background(), ids[0]) }()
	p := db.partitions[ids[0]]
	eventually(db, func() bool { return p.readBackoff.waiting })
	flushed(t, db, ids[0], 1)
	flushed(t, db, ids[1], 3)
	if err := db.Compact(context.Background(), ids[1]); err != nil {
		t.Errorf("compaction of another partition: %v", err)
	}
	broken.Store(false)
	manual.Advance(longestBackoff)
	if err := <-done; err != nil {
		t.Errorf("compaction after the fault: %v", err)
	}
}

// TestLogThatCannotGrowLeavesFlushesAlone: flushes go on, because they let the log grow again.
func TestLogThatCannotGrowLeavesFlushesAlone(t *testing.T) {
	var full atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if full.Load() && op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, manifest.FillSuffix) {
			return vfs.Fault{Err: syscall.ENOSPC}
		}
		return vfs.Fault{}
	})
	opt := testOptions(fs)
	opt.Clock = clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	eventually(db, func() bool { return len(db.log.spares) > 0 })
	full.Store(true)
	for i := 0; err == nil; i++ {
		var b Batch
		r, c := set(fmt.Sprint("row", i), "q", strings.Repeat("v", 10<<10))
		b.Add(id, r, c)
		_, err = db.Commit(context.Background(), &b)
	}
	if !errors.Is(err, ErrDiskFull) {
		t.Fatalf("got %v, want ErrDiskFull", err)
	}
	eventually(db, func() bool { return db.background.logBackoff.waiting })
	if err := db.Flush(context.Background()); err != nil {
		t.Errorf("Flush: %v", err)
	}
}

// TestFailuresAreLoggedNowAndThen: on a disk that stays full, the log has a line at once and then one a minute, and one at
// once when work has been done in between.
func TestFailuresAreLoggedNowAndThen(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	manual := clock.NewManual(1)
	var log bytes.Buffer
	opt.Clock, opt.Log = manual, slog.New(slog.NewTextHandler(&log, nil))
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	var b backoff
	fail := func(times, want int) {
		t.Helper()
		for range times {
			db.mu.Lock()
			db.backOffLocked(&b, "log", syscall.ENOSPC)
			db.mu.Unlock()
			manual.Advance(longestBackoff)
		}
		if n := strings.Count(log.String(), "background work failed"); n != want {
			t.Errorf("%d lines, want %d", n, want)
		}
	}
	fail(60, 1)
	fail(61, 3)
	b.delay = 0 // as a success does
	fail(1, 4)
}

// held is a store with a compaction that is about to create its first file.
type held struct {
	fs      *vfs.Mem
	db      *DB
	id      PartitionID
	release chan struct{}
	done    chan error // of the compaction
}

func newHeld(t *testing.T) *held {
	h := &held{fs: vfs.NewMem(), release: make(chan struct{}), done: make(chan error, 1)}
	var armed atomic.Bool
	reached := make(chan struct{})
	h.db = mustOpen(t, vfs.Inject(h.fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, manifest.TableSuffix) && armed.CompareAndSwap(true, false) {
			close(reached)
			return vfs.Fault{Hold: h.release}
		}
		return vfs.Fault{}
	}))
	h.id = mustCreate(t, h.db, "a")[0]
	flushed(t, h.db, h.id, 3)
	armed.Store(true)
	go func() { h.done <- h.db.Compact(context.Background(), h.id) }()
	<-reached
	return h
}

// TestDropDuringCompaction: the inputs stay until the compaction has released them. Then they and
// its outputs are removed.
func TestDropDuringCompaction(t *testing.T) {
	h := newHeld(t)
	dir := h.db.partitions[h.id].dir
	before, _ := h.fs.List(dir)
	if err := h.db.DropPartitions(h.id); err != nil {
		t.Fatal(err)
	}
	h.db.removeObsolete()
	if now, _ := h.fs.List(dir); len(now) != len(before) {
		t.Errorf("a compaction reads %v, of which %v are left", before, now)
	}
	close(h.release)
	if err := <-h.done; !errors.Is(err, ErrNoPartition) {
		t.Errorf("Compact returned %v, want ErrNoPartition", err)
	}
	mustClose(t, h.db)
	if now, err := h.fs.List(dir); err == nil {
		t.Errorf("%v are left", now)
	}
}

// TestCloseEndsCompactions: Close aborts compactions, which may take long. This loses nothing.
func TestCloseEndsCompactions(t *testing.T) {
	h := newHeld(t)
	go func() {
		eventually(h.db, func() bool { return h.db.background.stopping })
		<-h.db.background.stop
		close(h.release)
	}()
	mustClose(t, h.db)
	if err := <-h.done; !errors.Is(err, ErrClosed) {
		t.Errorf("Compact returned %v, want ErrClosed", err)
	}
	if n := len(h.db.partitions[h.id].version.Levels[0]); n != 3 {
		t.Errorf("%d files are in level 0, want the 3 that were there", n)
	}
	db := mustOpen(t, h.fs)
	if got := contents(t, db, h.id); len(got) != 6 {
		t.Errorf("got %q, want 6 cells", got)
	}
	mustClose(t, db)
}

// TestContradictionStopsCompaction: the partition is not compacted again, since the next attempt
// would fail in the same way.
func TestContradictionStopsCompaction(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.Clock = clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	ids := mustCreate(t, db, "a", "b")
	flushed(t, db, ids[0], 2)
	flushed(t, db, ids[1], 2)
	db.mu.Lock()
	db.partitions[ids[0]].version.Levels[0][0].Entries++ // more than the file has
	db.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var damage *CorruptError
	if err := db.Compact(ctx, ids[0]); !errors.As(err, &damage) || damage.Partition != "a" {
		t.Errorf("Compact returned %v, want a *CorruptError for partition a", err)
	}
	if err := db.Compact(ctx, ids[1]); err != nil {
		t.Errorf("compaction of another partition: %v", err)
	}
	mustClose(t, db)
}
