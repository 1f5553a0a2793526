package engine

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// tables lists the sorted files of partition 1.
func tables(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("store/partitions/" + manifest.PartitionDir(1))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFileStaysForItsReader: a scan finishes on the files that it started with, although a
// compaction has replaced all of them.
func TestFileStaysForItsReader(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.CacheBytes, opt.OpenFiles = 1, 1 // each file is opened again, by its name
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 4)
	snap, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	scan, err := snap.Scan(id, ScanOptions{Now: 1})
	if err != nil {
		t.Fatal(err)
	}
	scan.NextRow()
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	db.removeObsolete()
	if n := len(tables(t, fs)); n != 5 {
		t.Errorf("%d files, want the four that are read and the one that took their place", n)
	}
	rows := 1
	for scan.NextRow() {
		rows++
	}
	if err := scan.Err(); err != nil || rows != 5 {
		t.Errorf("the scan has %d rows, %v; want 5", rows, err)
	}
	scan.Close()
	snap.Close()
	db.removeObsolete()
	if got := tables(t, fs); len(got) != 1 {
		t.Errorf("%v are left, want one file", got)
	}
}

// TestDropDuringScan: the scan finishes normally, and then no file is left.
func TestDropDuringScan(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	mustPut(t, db, id, "zz", "q", "in memory")
	want := contents(t, db, id)
	snap, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.DropPartitions(id); err != nil {
		t.Fatal(err)
	}
	if got, err := readAt(snap, id); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	snap.Close()
	db.removeObsolete()
	if names, err := fs.List("store/partitions/" + manifest.PartitionDir(1)); err == nil {
		t.Errorf("%v are left", names)
	}
	if _, err := db.NewSnapshot(id); !errors.Is(err, ErrNoPartition) {
		t.Errorf("a new snapshot got %v, want ErrNoPartition", err)
	}
}

// TestErrorOfTheDeviceIsForgotten: a failed read fails one request only. A file that cannot be read
// affects only the rows in its range.
func TestErrorOfTheDeviceIsForgotten(t *testing.T) {
	failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpRead && path.Base(op.Name) == manifest.TableFile(2)
	}}
	for _, sticky := range []bool{false, true} {
		mem := vfs.NewMem()
		db := mustOpen(t, mem)
		id := mustCreate(t, db, "a")[0]
		for _, row := range []string{"a", "m", "z"} {
			mustPut(t, db, id, row, "q", "v")
			if err := db.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, db)
		*failure = vfs.Failure{Fault: failure.Fault, Match: failure.Match, Sticky: sticky}
		db = mustOpen(t, vfs.Inject(mem, failure.Rule))
		if _, err := read(db, id, nil); !errors.Is(err, syscall.EIO) {
			t.Errorf("a read got %v, want EIO", err)
		}
		if _, err := read(db, id, nil); errors.Is(err, syscall.EIO) != sticky {
			t.Errorf("sticky %v: the next read got %v", sticky, err)
		}
		for _, row := range []string{"a", "z"} {
			if got, err := readRow(db, id, row); err != nil || len(got) != 1 {
				t.Errorf("row %s of another file: %q, %v", row, got, err)
			}
		}
		if err := tryPut(db, id); err != nil {
			t.Errorf("a write: %v", err)
		}
		mustClose(t, db)
	}
}

// TestDamagedBlockIsNotCached: a block is read again after a failed checksum, and may be right
// then.
func TestDamagedBlockIsNotCached(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	name := tableOf(db.partitions[id].version.Levels[0][0]).path
	mustClose(t, db)
	for _, offset := range []int{20, 150} { // in the cell block and the index
		flip(t, fs, name, offset)
		db = mustOpen(t, fs)
		if _, err := readRow(db, id, "row0"); !errors.As(err, new(*CorruptError)) {
			t.Errorf("offset %d: got %v, want a *CorruptError", offset, err)
		}
		flip(t, fs, name, offset)
		for db.tableCache.closeIdle() { // the next read opens the file by its name
		}
		if got, err := readRow(db, id, "row0"); err != nil || len(got) != 1 {
			t.Errorf("offset %d: after that %q, %v", offset, got, err)
		}
		mustClose(t, db)
	}
}

// TestFilesThatCannotBeRemoved: leftover files do not count. The next open removes them, and does
// not use their numbers again.
func TestFilesThatCannotBeRemoved(t *testing.T) {
	mem := vfs.NewMem()
	db := mustOpen(t, vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRemove && strings.HasSuffix(op.Name, manifest.TableSuffix) {
			return vfs.Fault{Err: syscall.EACCES}
		}
		return vfs.Fault{}
	}))
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	want := contents(t, db, id)
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	before := tables(t, mem)
	if len(before) != 4 {
		t.Fatalf("files %v, want the three that could not be removed and one", before)
	}
	db = mustOpen(t, mem)
	defer mustClose(t, db)
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if after := tables(t, mem); len(after) != 1 || after[0] != before[3] {
		t.Errorf("after the next open files %v, want %s", after, before[3])
	}
}

// TestUnlistedFileGoes: a file that the manifest does not list is removed, and its number is not
// used again.
func TestUnlistedFileGoes(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	mustClose(t, db)
	f, err := fs.Create("store/partitions/" + manifest.PartitionDir(1) + "/" + manifest.TableFile(77))
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("of a compaction that never ended"))
	f.Close()
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got := tables(t, fs); len(got) != 1 {
		t.Errorf("files %v, want one", got)
	}
	flushed(t, db, id, 1)
	if got := tables(t, fs); len(got) != 2 || got[1] != manifest.TableFile(78) {
		t.Errorf("files %v, want the number after the one that was there", got)
	}
}

// TestSyncOfNewFileFails: the file is not used, and never synced again.
func TestSyncOfNewFileFails(t *testing.T) {
	mem := vfs.NewMem()
	failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix)
	}}
	opt := testOptions(vfs.Inject(mem, failure.Rule))
	hurry(&opt)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	if failure.Hits() != 1 {
		t.Fatal("no sync failed")
	}
	db.removeObsolete()
	if got := tables(t, mem); len(got) != 1 || got[0] != manifest.TableFile(2) {
		t.Errorf("files %v, want the second attempt's", got)
	}
	crashed := mem.Crash(vfs.DropAll, 0)
	mustClose(t, db)
	db = mustOpen(t, crashed)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 2 {
		t.Errorf("after a crash %q, want 2 cells", got)
	}
}

// TestCompactionOnFullDisk: the compaction is aborted and leaves no file. Reads and writes go on.
// The compaction continues by itself once there is space.
func TestCompactionOnFullDisk(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	opt := testOptions(vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite && path.Base(op.Name) > manifest.TableFile(3) && strings.HasSuffix(op.Name, manifest.TableSuffix) {
			return vfs.Fault{Err: syscall.ENOSPC, Effect: vfs.Half}
		}
		return vfs.Fault{}
	}))
	manual := clock.NewManual(1)
	opt.Clock = manual
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	want := contents(t, db, id)
	full.Store(true)
	done := make(chan error, 1)
	go func() { done <- db.Compact(context.Background(), id) }()
	eventually(db, func() bool { return db.background.writeBackoff.waiting })
	db.removeObsolete()
	eventually(db, func() bool { return len(tables(t, mem)) == 3 }) // the inputs; the background may lag
	if err := tryPut(db, id); err != nil {
		t.Errorf("a write: %v", err)
	}
	if got := contents(t, db, id); len(got) != len(want)+1 {
		t.Errorf("got %q", got)
	}
	full.Store(false)
	for {
		manual.Advance(longestBackoff)
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("with room again: %v", err)
			}
			return
		default:
		}
	}
}

// TestStallEndsWithCompaction: writes to a partition with too many files wait up to StallTimeout
// and are then refused. They go on once compaction has caught up.
func TestStallEndsWithCompaction(t *testing.T) {
	release := make(chan struct{})
	var held atomic.Bool
	held.Store(true)
	opt := testOptions(vfs.NewMem())
	opt.FS = vfs.Inject(opt.FS, func(op vfs.Op) vfs.Fault {
		if held.Load() && op.Kind == vfs.OpRead && path.Base(op.Name) == manifest.TableFile(1) && op.Offset == 0 {
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	})
	hurry(&opt)
	opt.StallTimeout = 20 * time.Second // for a store with too many files
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	p := db.partitions[id]
	put := func() error {
		var b Batch
		r, c := set("row", "q", "v")
		b.Add(id, r, c)
		_, err := db.Commit(context.Background(), &b)
		return err
	}
	held.Store(false)
	if err := put(); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	held.Store(true)
	for i := 0; ; i++ {
		err := put()
		if err != nil {
			if !errors.Is(err, ErrOverloaded) || i < stopFiles-2 {
				t.Errorf("write %d got %v, want ErrOverloaded at %d files", i, err, stopFiles)
			}
			break
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	held.Store(false)
	close(release)
	eventually(db, func() bool { return len(p.version.Levels[0]) < stopFiles })
	if err := put(); err != nil {
		t.Errorf("after the compaction: %v", err)
	}
}

// TestTombstoneStorm: a scan passes a million deletions in one pass, and can be cancelled at any
// row. Compaction removes them by itself.
func TestTombstoneStorm(t *testing.T) {
	rows := 1_000_000
	if testing.Short() {
		rows = 50_000
	}
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.LogBytes, opt.SegmentBytes, opt.FileBytes = 128<<20, 256<<20, 16<<20, 32<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	var b Batch
	for i := range rows {
		b.Add(id, fmt.Appendf(nil, "row%07d", i), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		if i%10_000 == 9999 {
			if _, err := db.Commit(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	mustPut(t, db, id, "zz", "q", "v")
	start := time.Now()
	if got := contents(t, db, id); fmt.Sprint(got) != "[zz q=v]" {
		t.Errorf("got %q", got)
	}
	t.Logf("%d tombstones in memory: %v", rows, time.Since(start))
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	if got := contents(t, db, id); fmt.Sprint(got) != "[zz q=v]" {
		t.Errorf("after a flush got %q", got)
	}
	t.Logf("%d tombstones in files: %v", rows, time.Since(start))
	eventually(db, func() bool {
		entries := uint64(0)
		for f := range db.partitions[id].version.Files() {
			entries += f.Entries
		}
		return entries == 1
	})
}

// TestReservationsGoWithTheirFiles: the memory of file readers counts against the cache as long as
// the files exist.
func TestReservationsGoWithTheirFiles(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	contents(t, db, id)
	if blocks, bytes := db.CacheStats(); blocks != 0 || bytes == 0 {
		t.Fatalf("%d blocks, %d bytes with what is reserved", blocks, bytes)
	}
	if err := db.DropPartitions(id); err != nil {
		t.Fatal(err)
	}
	eventually(db, func() bool {
		_, bytes := db.CacheStats()
		return bytes == 0
	})
}
