package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestFailedDirectorySync: after a failed sync of a directory, a successful one does not make the
// names of the first durable. A file with such a name must not replace the log.
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

// TestFailedDirectorySyncOfMany: if one of the directory syncs of a flush fails, none of its files
// counts, and the log keeps everything.
func TestFailedDirectorySyncOfMany(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSyncDir && op.Name == "store/partitions/00000007" {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	}))
	ids := mustCreate(t, db, make([]string, 3*filesPerWriter)...)
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "1")
	}
	var readOnly *ReadOnlyError
	if err := db.Flush(context.Background()); !errors.As(err, &readOnly) {
		t.Errorf("Flush returned %v, want a *ReadOnlyError", err)
	}
	for _, id := range ids {
		if n := len(db.partitions[id].version.Levels[0]); n > 0 {
			t.Errorf("partition %d has %d files", id, n)
		}
	}
	crashed := fs.Crash(vfs.DropAll, 0)
	db.Close()
	db = mustOpen(t, crashed)
	defer mustClose(t, db)
	for _, id := range ids {
		if got, err := read(db, id, nil); err != nil || fmt.Sprint(got) != "[row q=1]" {
			t.Errorf("after a crash partition %d has %q, %v", id, got, err)
		}
	}
}

// unreturned is a file system whose first sync of the directory dir fails, and returns only after
// say is closed.
type unreturned struct {
	vfs.FS
	dir         string
	failed, say chan struct{}
	first       sync.Once
}

func (u *unreturned) SyncDir(dir string) error {
	if dir != u.dir {
		return u.FS.SyncDir(dir)
	}
	err := error(nil)
	u.first.Do(func() {
		close(u.failed)
		<-u.say
		err = syscall.EIO
	})
	return err
}

// TestDirectorySyncBesideOneThatFails: a sync of a directory that begins after another has failed,
// but before that returns, succeeds and makes nothing durable. It must not count.
func TestDirectorySyncBesideOneThatFails(t *testing.T) {
	u := &unreturned{FS: vfs.NewMem(), dir: "store/partitions/00000001", failed: make(chan struct{}), say: make(chan struct{})}
	db := mustOpen(t, u)
	defer db.Close()
	p := db.partitions[mustCreate(t, db, "a")[0]]
	var failing sync.WaitGroup
	failing.Go(func() {
		if err := db.syncTables(p); !errors.Is(err, syscall.EIO) {
			t.Errorf("the sync that fails returned %v", err)
		}
	})
	<-u.failed
	beside := make(chan error, 1)
	go func() { beside <- db.syncTables(p) }()
	select {
	case err := <-beside:
		t.Errorf("the sync beside it did not wait, and returned %v", err)
	case <-time.After(50 * time.Millisecond): // it waits
	}
	close(u.say)
	failing.Wait()
	var readOnly *ReadOnlyError
	if err := <-beside; !errors.As(err, &readOnly) {
		t.Errorf("the sync beside it returned %v, want a *ReadOnlyError", err)
	}
}

// TestFullDiskThatRemovesNothing: a copy-on-write file system needs space even to remove a file.
// Leftover temporary files must not block the log once there is space.
func TestFullDiskThatRemovesNothing(t *testing.T) {
	var full atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		temp := strings.HasSuffix(op.Name, manifest.TempSuffix) || strings.HasSuffix(op.Name, manifest.FillSuffix)
		if full.Load() && temp && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpRemove) {
			return vfs.Fault{Err: syscall.ENOSPC}
		}
		return vfs.Fault{}
	})
	opt := testOptions(fs)
	hurry(&opt)
	opt.LogBytes = 8 << 20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	large := func() error {
		var b Batch
		r, c := set("row", "q", strings.Repeat("v", 2*int(opt.SegmentBytes)))
		b.Add(id, r, c)
		_, err := db.Commit(context.Background(), &b)
		return err
	}
	for round, want := range []error{nil, ErrDiskFull, nil} {
		full.Store(want != nil)
		for range 2 {
			if _, err := db.CreatePartitions("b"); !errors.Is(err, want) {
				t.Errorf("round %d: CreatePartitions returned %v, want %v", round, err, want)
			}
			if err := large(); !errors.Is(err, want) {
				t.Errorf("round %d: Commit returned %v, want %v", round, err, want)
			}
		}
	}
}

// TestSegmentThatCannotBeRemoved: creating a segment fails after the file has its name. While the
// name cannot be removed, there is no room. Once it can, the log uses that name.
func TestSegmentThatCannotBeRemoved(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	reuse := &vfs.Failure{
		Fault: vfs.Fault{Err: syscall.ENOSPC, Effect: vfs.Full},
		Match: func(op vfs.Op) bool { return full.Load() && op.Kind == vfs.OpReuse },
	}
	removals := &vfs.Failure{
		Sticky: true,
		Fault:  vfs.Fault{Err: syscall.ENOSPC},
		Match: func(op vfs.Op) bool {
			return full.Load() && op.Kind == vfs.OpRemove && strings.HasPrefix(op.Name, "store/wal/")
		},
	}
	fs := vfs.Inject(vfs.Inject(mem, reuse.Rule), removals.Rule)
	opt := testOptions(fs)
	opt.Clock = clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	eventually(db, func() bool { return len(db.log.spares) > 0 })
	full.Store(true)
	for i := range 2 {
		if err := db.prepareSegment(int(2 * opt.SegmentBytes)); !errors.Is(err, ErrDiskFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("attempt %d: got %v, want ErrDiskFull", i, err)
		}
	}
	if _, err := mem.Stat(db.segmentPath(db.log.next)); err != nil || removals.Hits() < 3 {
		t.Errorf("the name is not in the way: %v, after %d removals", err, removals.Hits())
	}
	full.Store(false)
	value := strings.Repeat("v", 2*int(opt.SegmentBytes))
	mustPut(t, db, id, "row", "q", value)
	crashed := mustOpen(t, mem.Crash(vfs.DropAll, 1))
	if got := contents(t, crashed, id); len(got) != 1 || got[0] != "row q="+value {
		t.Errorf("after a crash got %d rows", len(got))
	}
	mustClose(t, crashed)
	mustClose(t, db)
}

// hurried is a clock whose timers run a hundred times as fast, so retries are quick.
type hurried struct{ clock.Clock }

func (c hurried) AfterFunc(d time.Duration, f func()) func() bool {
	return c.Clock.AfterFunc(d/100, f)
}

// hurry gives a store such a clock. Writes have as much patience as before and more, or a busy machine would count as
// a slow disk.
func hurry(opt *Options) {
	opt.Clock, opt.SyncTimeout, opt.StallTimeout = hurried{clock.System}, 100*time.Hour, 100*time.Hour
}

// TestDirectoryWhoseNameIsLost fails the directory sync that a partition waits for. After a restart
// readers see the directory. A file in it must not depend on a name that no later sync makes
// durable.
func TestDirectoryWhoseNameIsLost(t *testing.T) {
	mem := vfs.NewMem()
	failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpSyncDir && op.Name == "store/partitions"
	}}
	db := mustOpen(t, vfs.Inject(mem, failure.Rule))
	id := mustCreate(t, db, "p")[0]
	mustPut(t, db, id, "row", "q", "1")
	var readOnly *ReadOnlyError
	if err := db.Flush(context.Background()); !errors.As(err, &readOnly) {
		t.Fatalf("flush: %v, want a store that is read-only", err)
	}
	db.Close()

	db = mustOpen(t, mem) // in a new process, with all that the system still shows
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := mem.Crash(vfs.DropAll, 0)
	mustClose(t, db)
	db = mustOpen(t, after)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// TestFailureIsNoDamage: an error while listing a directory says nothing about its content.
func TestFailureIsNoDamage(t *testing.T) {
	mem := vfs.NewMem()
	mustClose(t, mustOpen(t, mem))
	failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpList && op.Name == "store/wal"
	}}
	_, err := Open("store", testOptions(vfs.Inject(mem, failure.Rule)))
	var damage *CorruptError
	if !errors.Is(err, syscall.EIO) || errors.As(err, &damage) {
		t.Errorf("got %v, want the error of the disk", err)
	}
}
