package engine

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
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

// TestReserve: with too little free space, Commits are refused, even if the log needs no space.
// Flushes, compactions and reads go on. Once there is space, Commits work again without a restart.
func TestReserve(t *testing.T) {
	const reserve = 8 << 20
	fs := vfs.NewMem()
	opt := testOptions(fs)
	manual := clock.NewManual(1)
	opt.Clock, opt.ReserveBytes = manual, reserve
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	put := func() error {
		manual.Advance(time.Second)
		err := tryPut(db, id)
		eventually(db, func() bool { return !db.diskReserve.checking })
		return err
	}
	for range 10 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	segment := db.log.current.number
	free, _ := fs.FreeSpace("store")
	fs.SetCapacity(1<<40 - int64(free) + reserve - 1)
	put() // notices the shortage
	if err := put(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("with less than the reserve: got %v, want ErrDiskFull", err)
	}
	if db.log.current.number != segment {
		t.Error("the log has moved on: it is the lack of a segment that was met")
	}
	if err := db.Health(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("Health is %v, want ErrDiskFull", err)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Errorf("Flush: %v", err)
	}
	if err := db.Compact(context.Background(), id); err != nil {
		t.Errorf("Compact: %v", err)
	}
	if got := contents(t, db, id); len(got) == 0 {
		t.Error("nothing can be read")
	}
	fs.SetCapacity(1 << 40)
	for db.Health() != nil { // no writes meanwhile
		manual.Advance(time.Second)
	}
	if err := put(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestLowDiskGetsSegmentsBack: while space is low, segments kept for reuse are removed, and no
// others are kept.
func TestLowDiskGetsSegmentsBack(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	manual := clock.NewManual(1)
	opt.Clock, opt.ReserveBytes = manual, 8<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	fill := func(rows int) { // each row fills a segment
		for i := range rows {
			mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 40<<10))
		}
	}
	fill(8)
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	kept := func() int {
		db.mu.Lock()
		defer db.mu.Unlock()
		return len(db.log.recycled)
	}
	fill(3)
	if kept() < 2 {
		t.Fatalf("%d segments are kept for reuse", kept())
	}
	free, _ := fs.FreeSpace("store")
	fs.SetCapacity(1<<40 - int64(free) + 1<<20)
	for db.Health() == nil {
		manual.Advance(time.Second)
		tryPut(db, id) // notices the shortage
	}
	if n := kept(); n > 0 {
		t.Fatalf("%d segments are kept for reuse on a disk that is almost full", n)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := kept(); n > 0 {
		t.Fatalf("%d segments were kept for reuse while the disk was almost full", n)
	}
	eventually(db, func() bool {
		names, _ := fs.List("store/wal")
		return len(names) == len(db.log.segments)+len(db.log.spares)
	})
}

// TestReserveIsLeft: Commits leave enough space for flushes.
func TestReserveIsLeft(t *testing.T) {
	const reserve = 4 << 20
	fs := vfs.NewMem()
	fs.SetCapacity(16 << 20)
	opt := testOptions(fs)
	opt.ReserveBytes = reserve
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	noise := make([]byte, 16<<10)
	random := rand.NewChaCha8([32]byte{})
	for i := 0; err == nil; i++ {
		var b Batch
		random.Read(noise)
		r, c := set(fmt.Sprint("row", i), "q", string(noise))
		b.Add(id, r, c)
		_, err = db.Commit(context.Background(), &b)
		if free, _ := fs.FreeSpace("store"); free < reserve/2 {
			t.Fatalf("after batch %d only %d bytes are free", i, free)
		}
	}
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("got %v, want ErrDiskFull", err)
	}
}

// TestShortageAtEveryOperation: each operation except a sync, and all after it, lack a resource for
// a while. Reads go on, writes are refused or have an unknown outcome, and no restart is needed.
func TestShortageAtEveryOperation(t *testing.T) {
	step := int64(11)
	if testing.Short() {
		step = 41
	}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.EINTR} {
		for _, effect := range []vfs.Effect{vfs.None, vfs.Half, vfs.Full} {
			at := int64(effect)
			for ; lacks(t, errno, effect, at); at += step {
			}
			if at < 20 {
				t.Fatalf("the workload has only %d operations", at)
			}
		}
	}
}

// lacks runs a workload. Operation number at and all later ones fail with errno until the failure
// is healed. It returns false if the workload ends before operation at.
func lacks(t *testing.T, errno syscall.Errno, effect vfs.Effect, at int64) bool {
	mem := vfs.NewMem()
	failure := &vfs.Failure{At: at, Sticky: true, Fault: vfs.Fault{Err: errno, Effect: effect}, Match: func(op vfs.Op) bool {
		switch op.Kind {
		case vfs.OpCreate, vfs.OpReuse, vfs.OpRename, vfs.OpLink, vfs.OpRemove, vfs.OpMkdir, vfs.OpWrite:
			return op.Name != "store"
		}
		return false
	}}
	var armed atomic.Bool
	opt := crashOptions(vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if !armed.Load() {
			return vfs.Fault{}
		}
		return failure.Rule(op)
	}))
	opt.Clock, opt.SyncTimeout, opt.StallTimeout = hurried{clock.System}, time.Second, time.Second
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%v, effect %d, from operation %d on: %s", errno, effect, at, fmt.Sprintf(format, args...))
	}
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	armed.Store(true)
	const batches = 80
	next, refused, slow := int64(0), 0, false // slow: a busy machine ended the workload
	for next < batches && refused < 3 {
		err := w.run(db, next, batches)
		next = w.attempted.Load()
		var unknown *UnknownError
		switch {
		case err == nil:
		case errors.As(err, &unknown):
			refused++
			slow = slow || failure.Hits() == 0
		case errors.Is(err, ErrDiskFull), errors.Is(err, ErrOverloaded), errors.Is(err, ErrSlowDisk):
			refused++
			next-- // nothing was written
		default:
			fail("Commit: %v", err)
			refused = 3
		}
		if len(contents(t, db, w.ids[0])) == 0 && w.acked.Load() > 0 {
			fail("nothing can be read")
		}
	}
	hits := failure.Hits()
	failure.Heal()
	for over := time.Now(); ; runtime.Gosched() {
		err := w.run(db, next, batches+5)
		if next = w.attempted.Load(); err == nil {
			break
		}
		if next--; time.Since(over) > time.Minute || errors.As(err, new(*ReadOnlyError)) {
			fail("does not go on once it is over: %v", err)
			break
		}
	}
	if err := db.Flush(context.Background()); err != nil {
		fail("Flush: %v", err)
	}
	crashed := mem.Crash(vfs.DropAll, uint64(at))
	db.Close()
	db, err = Open("store", crashOptions(crashed))
	if err != nil {
		fail("open: %v", err)
		return hits > 0
	}
	defer mustClose(t, db)
	if _, err := w.holds(t, db, next, next); err != nil {
		fail("after a crash: %v", err)
	}
	return hits > 0 || slow
}

// TestNoSegmentFromTheReserve: no new log segment is created if only the reserve is free, whatever
// checks came before.
func TestNoSegmentFromTheReserve(t *testing.T) {
	fs := vfs.NewMem()
	fs.SetCapacity(64 << 20)
	opt := testOptions(fs)
	opt.ReserveBytes = 1 << 30
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	name := db.path(manifest.LogDir, manifest.FillFile(1000))
	if err := db.writeFill(name, opt.SegmentBytes); !errors.Is(err, ErrDiskFull) {
		t.Errorf("writeFill returned %v, want %v", err, ErrDiskFull)
	}
	if _, err := fs.Stat(name); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
