package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestNothingChangesAfterClose: after Close another process may own the directory.
func TestNothingChangesAfterClose(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a")
	mustPut(t, db, ids[0], "row", "q", "1")
	mustClose(t, db)
	before := fs.Ops()
	if _, err := db.CreatePartitions("b"); !errors.Is(err, ErrClosed) {
		t.Errorf("CreatePartitions: got %v, want ErrClosed", err)
	}
	if err := db.DropPartitions(ids...); !errors.Is(err, ErrClosed) {
		t.Errorf("DropPartitions: got %v, want ErrClosed", err)
	}
	if err := tryPut(db, ids[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit: got %v, want ErrClosed", err)
	}
	if err := db.Compact(context.Background(), ids[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("Compact: got %v, want ErrClosed", err)
	}
	if err := db.SetPolicies(ids[0], rowmerge.NoPolicies); !errors.Is(err, ErrClosed) {
		t.Errorf("SetPolicies: got %v, want ErrClosed", err)
	}
	if _, err := db.NewSnapshot(ids...); !errors.Is(err, ErrClosed) {
		t.Errorf("NewSnapshot: got %v, want ErrClosed", err)
	}
	if err := db.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close: got %v, want ErrClosed", err)
	}
	if n := fs.Ops() - before; n > 0 {
		t.Errorf("%d operations after Close", n)
	}
}

// TestNoSuchPartition: a partition was dropped or never existed. A batch or edit with such a
// partition among others has no effect.
func TestNoSuchPartition(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	if err := db.DropPartitions(ids[1]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []PartitionID{ids[1], 99} {
		var b Batch
		for _, id := range []PartitionID{ids[0], id} {
			r, c := set("row", "q", "v")
			b.Add(id, r, c)
		}
		_, commit := db.Commit(context.Background(), &b)
		_, snapshot := db.NewSnapshot(ids[0], id)
		for what, err := range map[string]error{
			"Commit":         commit,
			"NewSnapshot":    snapshot,
			"DropPartitions": db.DropPartitions(ids[0], id),
			"SetPolicies":    db.SetPolicies(id, rowmerge.NoPolicies),
			"Compact":        db.Compact(context.Background(), id),
		} {
			if !errors.Is(err, ErrNoPartition) {
				t.Errorf("%s of partition %d: got %v, want ErrNoPartition", what, id, err)
			}
		}
	}
	if got := contents(t, db, ids[0]); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestCloseWaitsForSegments: a Commit that finds no room in the log creates a segment. Close keeps
// the directory locked meanwhile.
func TestCloseWaitsForSegments(t *testing.T) {
	fs := vfs.NewMem()
	var armed atomic.Bool
	held, hold := make(chan struct{}, 8), make(chan struct{})
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpReuse && armed.Load() {
			held <- struct{}{}
			return vfs.Fault{Hold: hold}
		}
		return vfs.Fault{}
	}))
	id := mustCreate(t, db, "a")[0]
	for spares := 0; spares == 0; runtime.Gosched() { // then the Commit creates one itself
		db.mu.Lock()
		spares = len(db.log.spares)
		db.mu.Unlock()
	}
	armed.Store(true)
	committed, closed := make(chan error, 1), make(chan int64, 1)
	go func() {
		var b Batch
		r, c := set("row", "q", strings.Repeat("v", 2*int(db.opt.SegmentBytes)))
		b.Add(id, r, c)
		_, err := db.Commit(context.Background(), &b)
		committed <- err
	}()
	<-held
	go func() {
		db.Close()
		closed <- fs.Ops()
	}()
	select { // time for a Close that does not wait
	case n := <-closed:
		closed <- n
	case <-time.After(20 * time.Millisecond):
	}
	close(hold)
	if err := <-committed; !errors.Is(err, ErrClosed) {
		t.Errorf("Commit: got %v, want ErrClosed", err)
	}
	if n := fs.Ops() - <-closed; n > 0 {
		t.Errorf("%d operations after Close", n)
	}
}

// TestIdleLeaderEnds: a leader waits for the next group as long as the store is open, and no
// longer.
func TestIdleLeaderEnds(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	for idle := false; !idle; runtime.Gosched() {
		select {
		case db.leaders <- struct{}{}: // an idle leader takes it, and finds no group
			idle = true
		default:
		}
	}
	mustPut(t, db, id, "row", "q", "w")
	mustClose(t, db)
	for range 100 {
		select {
		case db.leaders <- struct{}{}:
			t.Fatal("a leader of a closed store waits for the next group")
		default:
			runtime.Gosched()
		}
	}
}

// logFiles returns the names of the log's files and their total size.
func logFiles(t *testing.T, fs vfs.FS) (names []string, bytes int64) {
	t.Helper()
	names, err := fs.List("store/" + manifest.LogDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		size, err := fs.Stat("store/" + manifest.LogDir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += size
	}
	return names, bytes
}

// TestCloseEmptiesTheLog: a closed store is its sorted files and a log of some KiB, however much
// was written, and whatever a crash had left before.
func TestCloseEmptiesTheLog(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.MemtableBytes, opt.SegmentBytes, opt.LogBytes = 4<<20, 1<<20, 16<<20
	open := func(fs vfs.FS) *DB {
		opt.FS = fs
		db, err := Open("store", opt)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open(fs)
	ids := mustCreate(t, db, "a", "b", "c")
	fill := func(db *DB, from, to int) {
		for i := from; i < to; i++ {
			mustPut(t, db, ids[i%2], fmt.Sprint("row", i), "q", strings.Repeat("v", 10<<10))
		}
	}
	small := func(what string, fs vfs.FS) {
		t.Helper()
		if names, bytes := logFiles(t, fs); len(names) != 1 || bytes > 8<<10 {
			t.Errorf("%s, the log is %v, %d bytes", what, names, bytes)
		}
	}
	fill(db, 0, 1000)
	crashed := fs.Crash(vfs.DropAll, 1)
	mustClose(t, db)
	small("after a close", fs)
	db = open(crashed)
	fill(db, 1000, 1010)
	mustClose(t, db)
	small("after a crash, an open and a close", crashed)
	db = open(crashed)
	defer mustClose(t, db)
	if got := len(contents(t, db, ids[0])) + len(contents(t, db, ids[1])); got != 1010 {
		t.Errorf("%d cells are there, want 1010", got)
	}
	if db.LastSeq() < 1010 {
		t.Errorf("the last batch is %d", db.LastSeq())
	}
}

// TestSmallStoreIsSmall: a store with little content is small, also while it is open.
func TestSmallStoreIsSmall(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", Options{FS: fs, Clock: clock.System, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	for i := range 1000 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 500))
	}
	eventually(db, func() bool { return len(db.log.spares) > 0 })
	if names, bytes := logFiles(t, fs); bytes > 2<<20 {
		t.Errorf("with half a megabyte of values the log is %v, %d bytes", names, bytes)
	}
}

// TestSegmentsGrow: each segment is twice the size of the one before, up to Options.SegmentBytes.
func TestSegmentsGrow(t *testing.T) {
	db, err := Open("store", Options{FS: vfs.NewMem(), Clock: clock.System, SegmentBytes: 2 << 20, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	for i := range 60 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 100<<10))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	want := int64(firstSegment)
	for _, s := range db.log.segments {
		if s.size != want {
			t.Errorf("segment %d has %d bytes, want %d", s.number, s.size, want)
		}
		want = min(2*want, 2<<20)
	}
	if len(db.log.segments) < 5 {
		t.Errorf("only %d segments", len(db.log.segments))
	}
}

// TestCrashInClose: after a crash at any operation of Close, the store has everything that was
// acknowledged.
func TestCrashInClose(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	if err := w.run(db, 0, 40); err != nil {
		t.Fatal(err)
	}
	stop := capture(fs, w, 1, 1000)
	mustClose(t, db)
	images := stop()
	if len(images) < 40 {
		t.Fatalf("only %d images", len(images))
	}
	for i, im := range images {
		if err := w.survive(t, im, uint64(i)); err != nil {
			t.Errorf("image %d of %d: %s after %s: %v", i, len(images), im.model, im.op, err)
		}
	}
	t.Logf("%d images", len(images))
}

// TestCloseThatCannotEmptyTheLog: on a full disk, or without file descriptors, the log stays as it
// is, and nothing is lost. So Close succeeds, whichever file it cannot write.
func TestCloseThatCannotEmptyTheLog(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EMFILE} {
		for _, part := range []string{manifest.FillSuffix, manifest.TempSuffix, manifest.TableSuffix, manifest.SegmentSuffix} {
			for _, flushed := range []bool{false, true} {
				name := fmt.Sprintf("%v, %s, flushed %v", cause, part, flushed)
				mem := vfs.NewMem()
				var full atomic.Bool
				var failures atomic.Int32
				opt := testOptions(vfs.Inject(mem, func(op vfs.Op) (f vfs.Fault) {
					if full.Load() && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, part) {
						failures.Add(1)
						f.Err = cause
					}
					return f
				}))
				db, err := Open("store", opt)
				if err != nil {
					t.Fatal(err)
				}
				id := mustCreate(t, db, "a")[0]
				mustPut(t, db, id, "row", "q", "v")
				if flushed {
					if err := db.Flush(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				full.Store(true)
				if err := db.Close(); err != nil {
					t.Errorf("%s: Close: %v", name, err)
				}
				if none := flushed && part == manifest.TableSuffix; none != (failures.Load() == 0) {
					t.Errorf("%s: %d writes have failed", name, failures.Load())
				}
				db = mustOpen(t, mem)
				if got := contents(t, db, id); len(got) != 1 {
					t.Errorf("%s: got %q, want the one cell", name, got)
				}
				mustClose(t, db)
			}
		}
	}
}

// TestCloseThatMakesTheStoreReadOnly: Close reports a sync that has failed, though its error is one
// of a full disk: what is on disk is not known then.
func TestCloseThatMakesTheStoreReadOnly(t *testing.T) {
	mem := vfs.NewMem()
	var full atomic.Bool
	db, err := Open("store", testOptions(vfs.Inject(mem, func(op vfs.Op) (f vfs.Fault) {
		if full.Load() && op.Kind == vfs.OpSyncDir {
			f.Err = syscall.ENOSPC
		}
		return f
	})))
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	full.Store(true)
	if err := db.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
	db = mustOpen(t, mem)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("got %q, want the one cell", got)
	}
}

// racing is a clock that moves on by a minute at each call of Now, once begun is set.
type racing struct {
	clock.Clock
	begun atomic.Bool
	moved atomic.Int64
}

func (c *racing) Now() int64 {
	if c.begun.Load() {
		c.moved.Add(time.Minute.Microseconds())
	}
	return c.Clock.Now() + c.moved.Load()
}

// TestCloseWithoutTime: memtables that Close has no time to flush stay in the log.
func TestCloseWithoutTime(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	slow := &racing{Clock: clock.NewManual(1)}
	opt.Clock = slow
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 2*flushFiles + 1 {
		names = append(names, fmt.Sprint("p", i))
	}
	ids := mustCreate(t, db, names...)
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "v")
	}
	slow.begun.Store(true)
	mustClose(t, db)
	files := 0
	for _, p := range db.partitions {
		files += len(slices.Collect(p.version.Files()))
	}
	if files == 0 || files >= len(ids) {
		t.Fatalf("%d of %d memtables were flushed, want some", files, len(ids))
	}
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	for _, id := range ids {
		if got := contents(t, db, id); len(got) != 1 {
			t.Errorf("partition %d has %q, want the one cell", id, got)
		}
	}
}
