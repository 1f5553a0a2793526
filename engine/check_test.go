package engine

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// checked runs the check of an open store.
func checked(t *testing.T, db *DB) (CheckResult, []*CorruptError) {
	t.Helper()
	var list []*CorruptError
	result, err := db.Check(context.Background(), func(e *CorruptError) { list = append(list, e) })
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if result.DamageCount != len(list) {
		t.Errorf("%d damages counted, %d reported", result.DamageCount, len(list))
	}
	return result, list
}

// TestCheckWhileOpen: a check of an open store with files in all kinds of levels reports nothing.
func TestCheckWhileOpen(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	for round := range 40 {
		for i := range 50 {
			mustPut(t, db, ids[round%2], fmt.Sprintf("row%02d", (i*7+round)%60), "q", strings.Repeat("v", 300))
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	result, damage := checked(t, db)
	if len(damage) > 0 || result.Partitions != 2 || result.Files < 2 || result.Entries < 100 {
		t.Errorf("got %+v, %v", result, damage)
	}
}

// disordered is a store with two files of the same row, the older one above the newer.
func disordered(t *testing.T) (fs *vfs.Mem, db *DB, ids []PartitionID) {
	fs = vfs.NewMem()
	db = mustOpen(t, fs)
	ids = mustCreate(t, db, "a", "b")
	for _, id := range ids {
		flushed(t, db, id, 2)
	}
	p := db.partitions[ids[0]]
	err := db.install(nil, func(next *manifest.Manifest) error {
		mp, v := next.Partitions[p.id], &manifest.Version{}
		newer, older := mp.Version.Levels[0][0], mp.Version.Levels[0][1]
		v.Levels[1], v.Levels[2] = []*manifest.File{older}, []*manifest.File{newer}
		next.Partitions[p.id] = mp.With(mp.Flushed, v)
		return nil
	}, func() {
		db.adoptLocked(p)
		p.compactionStopped = true // no compaction
	})
	if err != nil {
		t.Fatal(err)
	}
	return fs, db, ids
}

// TestContradictionQuarantines: a partition in disorder returns no results, since they could be
// wrong. Other partitions work, and this one can be dropped.
func TestContradictionQuarantines(t *testing.T) {
	fs, db, ids := disordered(t)
	_, damage := checked(t, db)
	if len(damage) != 1 || damage[0].Partition != "a" || !strings.Contains(damage[0].Reason, `"all"`) {
		t.Fatalf("got %v, want the row that all files have", damage)
	}
	var c *CorruptError
	if _, err := read(db, ids[0], nil); !errors.As(err, &c) {
		t.Errorf("a read got %v, want a *CorruptError", err)
	}
	if err := tryPut(db, ids[0]); !errors.As(err, &c) {
		t.Errorf("a write got %v, want a *CorruptError", err)
	}
	if err := db.Compact(context.Background(), ids[0]); !errors.As(err, &c) {
		t.Errorf("a compaction got %v, want a *CorruptError", err)
	}
	if s, _ := db.Stats(ids[0]); s.Damage == nil || len(db.Damage()) != 1 {
		t.Errorf("Stats says %v, Damage %v", s.Damage, db.Damage())
	}
	if err := tryPut(db, ids[1]); err != nil {
		t.Errorf("a write to another partition: %v", err)
	}
	if got := contents(t, db, ids[1]); len(got) != 5 {
		t.Errorf("another partition has %q", got)
	}
	if names, _ := fs.List(db.partitions[ids[0]].dir); len(names) != 2 {
		t.Errorf("files %v are left of 2", names)
	}
	if err := db.DropPartitions(ids[0]); err != nil {
		t.Errorf("DropPartitions: %v", err)
	}
	if len(db.Damage()) != 0 {
		t.Errorf("damage of a dropped partition: %v", db.Damage())
	}
	mustClose(t, db)
}

// TestCheckFindsDisorder: Check reports it in a closed store, too.
func TestCheckFindsDisorder(t *testing.T) {
	fs, db, _ := disordered(t)
	mustClose(t, db)
	var list []*CorruptError
	result, err := Check(fs, "store", func(e *CorruptError) { list = append(list, e) })
	if err != nil || len(list) != 1 || list[0].Partition != "a" || result.Files != 4 {
		t.Errorf("got %+v, %v, %v", result, list, err)
	}
}

// TestMissingFile: the store opens and reports the file. It serves other partitions, and reads that
// do not need the file.
func TestMissingFile(t *testing.T) {
	for _, empty := range []bool{false, true} {
		fs := vfs.NewMem()
		db := mustOpen(t, fs)
		ids := mustCreate(t, db, "a", "b")
		for _, id := range ids {
			mustPut(t, db, id, "zz", "q", "v")
			flushed(t, db, id, 2)
		}
		name := tableOf(db.partitions[ids[0]].version.Levels[0][0]).path
		mustClose(t, db)
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		if empty {
			f, err := fs.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		db = mustOpen(t, fs)
		var c *CorruptError
		if list := db.Damage(); !empty && (len(list) != 1 || !errors.As(list[0], &c) || c.File != name) {
			t.Errorf("after the open Damage returned %v, want %s", list, name)
		}
		if _, err := read(db, ids[0], nil); !errors.As(err, &c) || c.File != name || c.Partition != "a" {
			t.Errorf("a read got %v, want damage of %s", err, name)
		}
		if got := contents(t, db, ids[1]); len(got) != 5 {
			t.Errorf("another partition has %q", got)
		}
		if got, err := readRow(db, ids[0], "zz"); err != nil || len(got) != 1 {
			t.Errorf("a row of another file: %q, %v", got, err)
		}
		if _, list := checked(t, db); len(list) != 1 || list[0].File != name {
			t.Errorf("Check reported %v, want %s", list, name)
		}
		mustClose(t, db)
	}
}

// TestForeignFileIsNotUsed: an intact file that is not the one in the manifest is refused, although
// number, size and store are right.
func TestForeignFileIsNotUsed(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "old")
	mustClose(t, db)
	other := fs.Clone()
	write := func(fs *vfs.Mem, value string) (name string, content []byte) {
		db := mustOpen(t, fs)
		mustPut(t, db, id, "row", "q", value)
		if value == "new" {
			mustPut(t, db, id, "sow", "q", value)
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		name = tableOf(db.partitions[id].version.Levels[0][0]).path
		mustClose(t, db)
		return name, readAll(t, fs, name)
	}
	name, mine := write(fs, "yes")
	_, theirs := write(other, "new")
	if string(mine) == string(theirs) {
		t.Fatal("the files are the same")
	}
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(theirs)
	f.Close()
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got, err := read(db, id, nil); !errors.As(err, new(*CorruptError)) {
		t.Errorf("got %q, %v, want a *CorruptError", got, err)
	}
}

// TestCheckOfNoStore: a directory without a store, and a store in use, are errors and not damage.
func TestCheckOfNoStore(t *testing.T) {
	fs := vfs.NewMem()
	defer mustClose(t, mustOpen(t, fs))
	if err := fs.MkdirAll("empty"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]func(error) bool{
		"nowhere": func(err error) bool { return errors.Is(err, iofs.ErrNotExist) },
		"empty":   func(err error) bool { return err != nil && strings.Contains(err.Error(), "empty holds no store") },
		"store":   func(err error) bool { return errors.As(err, new(*vfs.LockedError)) },
	} {
		result, err := Check(fs, dir, func(e *CorruptError) { t.Errorf("%s: damage: %v", dir, e) })
		if !want(err) || result != (CheckResult{}) {
			t.Errorf("%s: got %+v, %v", dir, result, err)
		}
	}
}

// TestCheckOverErrorsOfTheDevice fails each operation of a check, one in each run. The check must
// then report neither damage nor a sound store.
func TestCheckOverErrorsOfTheDevice(t *testing.T) {
	d := newDamagedStore(t)
	for at := int64(0); ; at++ {
		failure := failing(at)
		_, err := Check(vfs.Inject(d.fs, failure.Rule), "store", func(e *CorruptError) {
			t.Errorf("operation %d: damage: %v", at, e)
		})
		if failure.Hits() == 0 {
			if err != nil || at < 50 {
				t.Errorf("a check of %d operations that all succeed: %v", at, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want EIO", at, err)
		}
	}
}

// failing fails one operation among those that only read or lock.
func failing(at int64) *vfs.Failure {
	return &vfs.Failure{At: at, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return !op.Kind.Changes() && op.Kind != vfs.OpClose
	}}
}

// TestCheckWhileOpenOverErrorsOfTheDevice is the same for an open store. The next check finds it
// sound.
func TestCheckWhileOpenOverErrorsOfTheDevice(t *testing.T) {
	var failure atomic.Pointer[vfs.Failure]
	failure.Store(&vfs.Failure{At: 1 << 40})
	opt := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault { return failure.Load().Rule(op) }))
	opt.Clock = clock.NewManual(1)
	opt.OpenFiles, opt.CacheBytes = 1, 1 // each file is opened and read again
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b", "c")
	stopCompactions(db, ids[2])
	for _, id := range ids {
		flushed(t, db, id, 2)
	}
	for range 2 {
		flushedClean(t, db, ids[2], "all", "z")
	}
	eventually(db, func() bool { return len(db.background.compactable) == 0 })
	for at := int64(0); ; at++ {
		f := failing(at)
		failure.Store(f)
		_, err := db.Check(context.Background(), func(e *CorruptError) { t.Errorf("operation %d: damage: %v", at, e) })
		if f.Hits() == 0 {
			if err != nil || at < 20 || db.Damage() != nil {
				t.Errorf("a check of %d operations that all succeed: %v, damage %v", at, err, db.Damage())
			}
			failure.Store(failing(-1)) // Close reads and writes, too
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want EIO", at, err)
		}
	}
}

// TestCheckCleanOverErrorsOfTheDevice: the check of what files are clean of reports a device error of a file that it
// opens itself, and finds no damage.
func TestCheckCleanOverErrorsOfTheDevice(t *testing.T) {
	var failure atomic.Pointer[vfs.Failure]
	failure.Store(failing(1 << 40))
	opt := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault { return failure.Load().Rule(op) }))
	opt.Clock = clock.NewManual(1)
	opt.CacheBytes = 1 // each block is read again
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	p := stopCompactions(db, id)
	flushed(t, db, id, 1)
	for range 2 {
		flushedClean(t, db, id, "all", "row5")
	}
	for at := int64(0); ; at++ {
		for db.tableCache.closeIdle() { // each file is opened again
		}
		f := failing(at)
		failure.Store(f)
		err := p.checkClean(p.state.Load().version)
		failure.Store(failing(1 << 40))
		if f.Hits() == 0 {
			if err != nil || at < 3 {
				t.Errorf("a check of %d operations that all succeed: %v", at, err)
			}
			return
		}
		var damage *CorruptError
		if !errors.Is(err, syscall.EIO) || errors.As(err, &damage) {
			t.Errorf("operation %d: got %v, want EIO", at, err)
		}
	}
}

// TestCheckIsCancelled: a cancelled check ends between partitions.
func TestCheckIsCancelled(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	mustCreate(t, db, "a", "b")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result, err := db.Check(ctx, func(e *CorruptError) { t.Errorf("damage: %v", e) })
	if !errors.Is(err, context.Canceled) || result.Partitions != 1 {
		t.Errorf("got %+v, %v, want one of two partitions", result, err)
	}
}

// TestOverlapInALevelQuarantines: two files of a level in memory share a row, although each is
// sound.
func TestOverlapInALevelQuarantines(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 2)
	db.mu.Lock()
	p := db.partitions[id]
	wrong := &manifest.Version{}
	wrong.Levels[1] = p.version.Levels[0]
	p.version, p.compactionStopped = wrong, true // no compaction
	db.publishLocked(p)
	db.mu.Unlock()
	if _, damage := checked(t, db); len(damage) != 1 || damage[0].File != p.dir || !strings.Contains(damage[0].Reason, "level 1") {
		t.Fatalf("got %v, want damage of level 1", damage)
	}
	var c *CorruptError
	if _, err := read(db, id, nil); !errors.As(err, &c) || c.File != p.dir {
		t.Errorf("a read got %v, want the same damage", err)
	}
}

// TestBatchThatCannotBe: a log record is intact, but this store cannot have written its batch.
// Check reports it, and Open refuses the store.
func TestBatchThatCannotBe(t *testing.T) {
	unknown := func() []byte {
		var b Batch
		r, c := set("row", "q", "v")
		b.Add(7, r, c)
		return b.buf
	}
	for reason, payload := range map[string][]byte{
		"no header":                     {batchVersion, 0, 0},
		"has version 9":                 {9, 0, 0, 0, 0, 0, 0, 0, 0},
		"bad length":                    {batchVersion, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 99},
		"without a row key":             {batchVersion, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 'c', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"partition 7 was never created": unknown(),
	} {
		fs := vfs.NewMem()
		opt := testOptions(fs)
		opt.Clock = clock.NewManual(1)
		db, err := Open("store", opt)
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, db, mustCreate(t, db, "a")[0], "row", "q", "v")
		segment := db.segmentPath(db.log.current.number)
		db.log.current.w.Append(db.lastSeq+1, payload)
		closeWithLog(t, db)
		is := func(c *CorruptError) bool {
			return c.File == segment && c.Partition == "" && strings.Contains(c.Reason, reason)
		}
		var list []*CorruptError
		if _, err := Check(fs, "store", func(e *CorruptError) { list = append(list, e) }); err != nil || len(list) != 1 || !is(list[0]) {
			t.Errorf("%s: Check reported %v, %v", reason, list, err)
		}
		var c *CorruptError
		if _, err := Open("store", opt); !errors.As(err, &c) || !is(c) {
			t.Errorf("%s: Open returned %v", reason, err)
		}
	}
}
