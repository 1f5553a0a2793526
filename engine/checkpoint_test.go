package engine

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
)

// mustCheckpoint makes a checkpoint of some partitions.
func mustCheckpoint(t testing.TB, db *DB, name string, ids ...PartitionID) []CheckpointFile {
	t.Helper()
	snap, err := db.NewSnapshot(ids...)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	files, err := snap.Checkpoint(context.Background(), name)
	if err != nil {
		t.Fatalf("Checkpoint: %v", err)
	}
	return files
}

// openCheckpoint opens a copy of a checkpoint, made of the files that it says it has, and checks it before.
func openCheckpoint(t testing.TB, fs vfs.FS, from *DB, name string, files []CheckpointFile) *DB {
	t.Helper()
	dir := "copy-" + name
	for _, f := range files {
		in, err := from.OpenCheckpoint(name, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, f.Size)
		if n, err := in.Size(); n != f.Size || err != nil {
			t.Fatalf("%s has %d bytes, %v, want %d", f.Name, n, err, f.Size)
		}
		if _, err := in.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if err := fs.MkdirAll(path.Dir(path.Join(dir, f.Name))); err != nil {
			t.Fatal(err)
		}
		out, err := fs.Create(path.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		out.Close()
	}
	if _, err := fs.List(path.Join(dir, "partitions")); err != nil {
		fs.MkdirAll(path.Join(dir, "partitions"))
	}
	if _, err := Check(fs, dir, func(e *CorruptError) { t.Errorf("check of %s: %v", dir, e) }); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, crashOptions(fs))
	if err != nil {
		t.Fatalf("open %s: %v", dir, err)
	}
	return db
}

// filled writes batches 0 to 19 to three new partitions: half of them to files, the others to memtables.
func filled(t testing.TB, db *DB) *workload {
	t.Helper()
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	if err := w.run(db, 0, 10); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.run(db, 10, 20); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestCheckpoint makes checkpoints while batches are written, flushed and compacted. Each has what was
// acknowledged before and the same batches in each partition. It takes writes, and so does the DB.
func TestCheckpoint(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	mustCreate(t, db, "d")
	written := make(chan error)
	go func() { written <- w.run(db, 0, 600) }()
	type made struct {
		name             string
		files            []CheckpointFile
		acked, attempted int64
	}
	var list []made
	for i := range 20 {
		for w.acked.Load() < int64(i*25) {
			runtime.Gosched()
		}
		m := made{name: fmt.Sprint("c", i), acked: w.acked.Load()}
		m.files = mustCheckpoint(t, db, m.name, w.ids...)
		m.attempted = w.attempted.Load()
		list = append(list, m)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for _, id := range w.ids {
		if err := db.Compact(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range list {
		copied := openCheckpoint(t, fs, db, m.name, m.files)
		have, err := w.holds(t, copied, m.acked, m.attempted)
		if err != nil {
			t.Fatalf("checkpoint %s: %v", m.name, err)
		}
		if got := copied.Partitions(); len(got) != 3 {
			t.Errorf("checkpoint %s has the partitions %v, want three", m.name, got)
		}
		if err := (&workload{ids: w.ids}).run(copied, have, have+20); err != nil {
			t.Fatal(err)
		}
		mustClose(t, copied)
		if copied, err = Open("copy-"+m.name, crashOptions(fs)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.holds(t, copied, have+20, have+20); err != nil {
			t.Fatalf("checkpoint %s, after writes and a restart: %v", m.name, err)
		}
		mustClose(t, copied)
	}
	if _, err := w.holds(t, db, 600, 600); err != nil {
		t.Fatal(err)
	}
	if err := db.RemoveCheckpoint("c3"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.OpenCheckpoint("c3", list[3].files[0].Name); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("a file of a removed checkpoint: got %v", err)
	}
	mustClose(t, db)
	if db, err = Open("store", crashOptions(fs)); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	if names, err := fs.List("store/checkpoints"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("checkpoints are left after an open: %q, %v", names, err)
	}
	if _, err := w.holds(t, db, 600, 600); err != nil {
		t.Fatal(err)
	}
}

// TestCheckpointLinks: what is in files is not copied, unless the file system has no links.
func TestCheckpointLinks(t *testing.T) {
	for _, links := range []bool{true, false} {
		mem := vfs.NewMem()
		fs := vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
			if op.Kind == vfs.OpLink && !links {
				return vfs.Fault{Err: syscall.EPERM}
			}
			return vfs.Fault{}
		})
		db, err := Open("store", crashOptions(fs))
		if err != nil {
			t.Fatal(err)
		}
		w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
		if err := w.run(db, 0, 100); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		kinds := map[vfs.Kind]int{}
		mem.SetHook(func(op vfs.Op, done bool) {
			if done && strings.HasSuffix(op.Name, ".sst") || strings.HasSuffix(op.To, ".sst") {
				kinds[op.Kind]++
			}
		})
		files := mustCheckpoint(t, db, "c", w.ids...)
		mem.SetHook(nil)
		if (kinds[vfs.OpLink] > 0) != links || (kinds[vfs.OpCreate] == 0) != links {
			t.Errorf("with links %v: operations %v", links, kinds)
		}
		copied := openCheckpoint(t, fs, db, "c", files)
		if _, err := w.holds(t, copied, 100, 100); err != nil {
			t.Errorf("with links %v: %v", links, err)
		}
		mustClose(t, copied)
		mustClose(t, db)
	}
}

// TestCrashDuringCheckpoint: after a crash at any operation of a checkpoint, or of its removal, the store has
// all that was acknowledged, and nothing of the checkpoint is left.
func TestCrashDuringCheckpoint(t *testing.T) {
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c", "d", "e")}
	if err := w.run(db, 0, 30); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.run(db, 30, 40); err != nil {
		t.Fatal(err)
	}
	stop := capture(fs, w, 1, 500)
	mustCheckpoint(t, db, "c", w.ids...)
	if err := db.RemoveCheckpoint("c"); err != nil {
		t.Fatal(err)
	}
	images := stop()
	mustClose(t, db)
	if len(images) < 100 {
		t.Fatalf("only %d images", len(images))
	}
	for i := int64(0); i < int64(len(images)); i += stride(4) {
		im := images[i]
		if err := w.survive(t, im, uint64(i)); err != nil {
			t.Errorf("image %d of %d: %s after %s: %v", i, len(images), im.model, im.op, err)
		}
		if names, err := im.fs.List("store/checkpoints"); err == nil {
			t.Errorf("image %d: %q are left of checkpoints", i, names)
		}
	}
}

// TestCheckpointOverAnyError: any one operation of a checkpoint fails. Then it is whole nevertheless, or there is
// an error and nothing of it; the store takes writes, and the next checkpoint succeeds.
func TestCheckpointOverAnyError(t *testing.T) {
	for at := int64(0); ; at++ {
		mem := vfs.NewMem()
		failure := &vfs.Failure{At: at, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
			return strings.Contains(op.Name+op.To, "checkpoints")
		}}
		opt := crashOptions(vfs.Inject(mem, failure.Rule))
		opt.MemtableBytes, opt.LogBytes = 4<<20, 4<<20
		db, err := Open("store", opt)
		if err != nil {
			if failure.Hits() > 0 {
				continue // the open removes checkpoints, and a failure of that is logged
			}
			t.Fatal(err)
		}
		w := filled(t, db)
		snap, err := db.NewSnapshot(w.ids...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = snap.Checkpoint(context.Background(), "c")
		snap.Close()
		hits := failure.Hits()
		failure.Heal()
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want the error of the device", at, err)
		}
		if names, listErr := mem.List("store/checkpoints/c"); err != nil && listErr == nil {
			t.Errorf("operation %d: %v left %q", at, err, names)
		}
		if err := w.run(db, 20, 30); err != nil {
			t.Fatalf("operation %d: a write afterwards: %v", at, err)
		}
		files := mustCheckpoint(t, db, "d", w.ids...)
		copied := openCheckpoint(t, mem, db, "d", files)
		if _, err := w.holds(t, copied, 30, 30); err != nil {
			t.Errorf("operation %d: %v", at, err)
		}
		mustClose(t, copied)
		mustClose(t, db)
		if hits == 0 {
			break
		}
	}
}

// TestCheckpointRefused: what cannot be made leaves nothing.
func TestCheckpointRefused(t *testing.T) {
	mem := vfs.NewMem()
	opt := crashOptions(mem)
	opt.ReserveBytes = 1 << 20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	if err := w.run(db, 0, 20); err != nil {
		t.Fatal(err)
	}
	snap, err := db.NewSnapshot(w.ids...)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := snap.Checkpoint(ctx, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: got %v", err)
	}
	mem.SetCapacity(1 << 20)
	if _, err := snap.Checkpoint(context.Background(), "c"); !errors.Is(err, ErrDiskFull) {
		t.Errorf("with less free than the reserve: got %v, want ErrDiskFull", err)
	}
	mem.SetCapacity(1 << 30)
	if names, err := mem.List("store/checkpoints/c"); err == nil {
		t.Errorf("%q are left", names)
	}
	files, err := snap.Checkpoint(context.Background(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(files, func(a, b CheckpointFile) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the files are not in order: %v", files)
	}
}

// checkpointCase is a store with files and memtables, whose checkpoint meets what rule does while it is made.
type checkpointCase struct {
	*testing.T
	mem  *vfs.Mem
	db   *DB
	snap *Snapshot

	mu   sync.Mutex             // operations come from several goroutines
	rule func(vfs.Op) vfs.Fault // nil for nothing; guarded by mu
}

func (c *checkpointCase) fault(op vfs.Op) vfs.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rule == nil {
		return vfs.Fault{}
	}
	return c.rule(op)
}

func (c *checkpointCase) setRule(rule func(vfs.Op) vfs.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rule = rule
}

func newCheckpointCase(t *testing.T, reserve int64) *checkpointCase {
	c := &checkpointCase{T: t, mem: vfs.NewMem()}
	opt := crashOptions(vfs.Inject(c.mem, c.fault))
	opt.MemtableBytes, opt.LogBytes, opt.ReserveBytes = 4<<20, 4<<20, reserve
	var err error
	if c.db, err = Open("store", opt); err != nil {
		t.Fatal(err)
	}
	w := filled(t, c.db)
	if c.snap, err = c.db.NewSnapshot(w.ids...); err != nil {
		t.Fatal(err)
	}
	return c
}

// make makes the checkpoint under a rule. After an error nothing of it may be there.
func (c *checkpointCase) make(ctx context.Context, rule func(vfs.Op) vfs.Fault) error {
	c.Helper()
	c.setRule(rule)
	_, err := c.snap.Checkpoint(ctx, "c")
	c.setRule(nil)
	if names, listErr := c.mem.List("store/checkpoints/c"); err != nil && listErr == nil {
		c.Errorf("%v left %q", err, names)
	}
	return err
}

func (c *checkpointCase) close() {
	c.snap.Close()
	mustClose(c.T, c.db)
}

// isCopy reports whether an operation is about a sorted file in a checkpoint.
func isCopy(op vfs.Op) bool {
	return strings.HasSuffix(op.Name, ".sst") && strings.Contains(op.Name, "checkpoints")
}

// noLinks is the rule of a file system without links, with more rules for other operations.
func noLinks(more func(vfs.Op) vfs.Fault) func(vfs.Op) vfs.Fault {
	return func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpLink {
			return vfs.Fault{Err: syscall.EPERM}
		}
		return more(op)
	}
}

// TestCheckpointCopiesOverErrors: where files are copied, each operation may fail, with those on the files that are copied.
func TestCheckpointCopiesOverErrors(t *testing.T) {
	for at := 0; ; at++ {
		c := newCheckpointCase(t, -1)
		seen := 0
		err := c.make(context.Background(), noLinks(func(op vfs.Op) vfs.Fault {
			if strings.HasSuffix(op.Name, ".sst") {
				if seen++; seen-1 == at {
					return vfs.Fault{Err: syscall.EIO}
				}
			}
			return vfs.Fault{}
		}))
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want the error of the device", at, err)
		}
		c.close()
		if seen <= at {
			break
		}
	}
}

// TestCheckpointEnds: what ends a checkpoint while it is made, and what can be told before.
func TestCheckpointEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := false
	end := func(kind vfs.Kind) func(vfs.Op) vfs.Fault {
		return func(op vfs.Op) vfs.Fault {
			if op.Kind == kind && isCopy(op) || op.Kind == vfs.OpLink && kind == vfs.OpLink {
				ended = true
				cancel()
			}
			return vfs.Fault{}
		}
	}
	c := newCheckpointCase(t, 1<<20)
	defer c.close()
	if err := c.make(ctx, end(vfs.OpLink)); !errors.Is(err, context.Canceled) || !ended {
		t.Errorf("a context that ends between two files: got %v", err)
	}
	if err := c.make(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended, with files to link: got %v", err)
	}
	ended = false
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	if err := c.make(ctx, noLinks(end(vfs.OpCreate))); !errors.Is(err, context.Canceled) || !ended {
		t.Errorf("a context that ends within a copy: got %v", err)
	}
	if err := c.make(context.Background(), noLinks(func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, ".sst") {
			c.mem.SetCapacity(1 << 20) // others have taken the room
		}
		return vfs.Fault{}
	})); !errors.Is(err, ErrDiskFull) {
		t.Errorf("without room for a copy: got %v, want ErrDiskFull", err)
	}
	c.mem.SetCapacity(1 << 30)
	if err := c.make(context.Background(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpWrite && isCopy(op) {
			return vfs.Fault{Err: syscall.ENOSPC}
		}
		return vfs.Fault{}
	}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("without room for the memtables: got %v, want ErrDiskFull", err)
	}

	damage := new(CorruptError)
	p := c.snap.pins[0].p
	p.quarantined.Store(&CorruptError{Partition: p.name, Offset: -1, Reason: "damaged by the test"})
	if err := c.make(context.Background(), nil); !errors.As(err, &damage) {
		t.Errorf("with a damaged partition: got %v, want a CorruptError", err)
	}
	p.quarantined.Store(nil)

	made, err := c.snap.newCheckpoint(context.Background(), "c")
	if err != nil {
		t.Fatal(err)
	}
	made.manifest.NextPartition = 0
	if err := made.write(); err == nil || !strings.Contains(err.Error(), "contradicts itself") {
		t.Errorf("a manifest without room for its partitions: got %v", err)
	}
	for _, f := range made.tables {
		tableOf(f).close()
	}
	if err := c.db.RemoveCheckpoint("c"); err != nil {
		t.Fatal(err)
	}
	if err := c.make(context.Background(), nil); err != nil {
		t.Errorf("after all of this: %v", err)
	}
}

// TestCheckpointOfMissingFile: a file that is gone is damage.
func TestCheckpointOfMissingFile(t *testing.T) {
	c := newCheckpointCase(t, -1)
	defer c.close()
	for f := range c.snap.pins[0].state.version.Files() {
		if err := c.mem.Remove(tableOf(f).path); err != nil {
			t.Fatal(err)
		}
	}
	damage := new(CorruptError)
	if err := c.make(context.Background(), nil); !errors.As(err, &damage) {
		t.Errorf("got %v, want a CorruptError", err)
	}
}

// TestCheckpointOfClosed: a DB that is closed makes no checkpoint.
func TestCheckpointOfClosed(t *testing.T) {
	c := newCheckpointCase(t, -1)
	mustClose(t, c.db)
	if err := c.make(context.Background(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	c.snap.Close()
}

// TestRemoveCheckpointOverAnyError: a removal that fails can be made again.
func TestRemoveCheckpointOverAnyError(t *testing.T) {
	c := newCheckpointCase(t, -1)
	defer c.close()
	for at := 0; ; at++ {
		if err := c.make(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		seen := 0
		c.setRule(func(op vfs.Op) vfs.Fault {
			if strings.Contains(op.Name, "checkpoints") {
				if seen++; seen-1 == at {
					return vfs.Fault{Err: syscall.EIO}
				}
			}
			return vfs.Fault{}
		})
		err := c.db.RemoveCheckpoint("c")
		c.setRule(nil)
		if seen <= at {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want the error of the device", at, err)
		}
		if err := c.db.RemoveCheckpoint("c"); err != nil {
			t.Errorf("after operation %d had failed: %v", at, err)
		}
	}
}
