package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/memtable"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestFlushesShareEdits: hundreds of partitions with little data, which all keep the oldest log
// segment, are flushed together.
func TestFlushesShareEdits(t *testing.T) {
	const partitions = 500
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.LogBytes = 64<<20, 1<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, make([]string, partitions)...)
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "v")
	}
	for i := range 60 { // this partition makes the log long
		mustPut(t, db, ids[0], fmt.Sprint("row", i), "q", strings.Repeat("v", 20<<10))
	}
	eventually(db, func() bool { return db.log.segments[0].number > 2 })
	db.mu.Lock()
	defer db.mu.Unlock()
	if n := db.manifest.Edit; n > 60 {
		t.Errorf("%d edits for %d partitions", n, partitions)
	}
}

// TestDropDuringFlush drops partitions during a flush of several: one already written and one not
// yet. The others lose nothing, and no file of the dropped ones is left.
func TestDropDuringFlush(t *testing.T) {
	for _, partitions := range []int{5, 3 * filesPerWriter} { // one goroutine, four
		dropDuringFlush(t, partitions)
	}
}

func dropDuringFlush(t *testing.T, partitions int) {
	fs := vfs.NewMem()
	var files atomic.Int64
	reached, release := make(chan struct{}), make(chan struct{})
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, manifest.TableSuffix) && files.Add(1) == 3 {
			close(reached)
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	}))
	ids := mustCreate(t, db, make([]string, partitions)...)
	for _, id := range ids { // the flush order
		mustPut(t, db, id, "row", "q", "v")
	}
	done := make(chan error, 1)
	go func() { done <- db.Flush(context.Background()) }()
	<-reached
	if err := db.DropPartitions(ids[0], ids[2], ids[4]); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	for _, id := range []PartitionID{ids[0], ids[2], ids[4]} {
		if names, _ := fs.List("store/partitions/" + manifest.PartitionDir(uint64(id))); len(names) > 0 {
			t.Errorf("of partition %d there are %v", id, names)
		}
	}
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	for _, id := range append([]PartitionID{ids[1], ids[3]}, ids[5:]...) {
		if n := len(db.partitions[id].version.Levels[0]); n != 1 {
			t.Errorf("partition %d has %d files, want 1", id, n)
		}
		if got := contents(t, db, id); len(got) != 1 {
			t.Errorf("partition %d has %q, want one cell", id, got)
		}
	}
}

// TestSmallFilesAreWrittenTogether: while one of many small files is being synced, the next ones
// are written, up to one for each filesPerWriter and one more.
func TestSmallFilesAreWrittenTogether(t *testing.T) {
	const writers = 3
	together := make(chan struct{})
	release := sync.OnceFunc(func() { close(together) })
	var syncs atomic.Int64
	db := mustOpen(t, vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind != vfs.OpSync || !strings.HasSuffix(op.Name, manifest.TableSuffix) {
			return vfs.Fault{}
		}
		if syncs.Add(1) == writers {
			release()
		}
		return vfs.Fault{Hold: together}
	}))
	defer mustClose(t, db)
	ids := mustCreate(t, db, make([]string, (writers-1)*filesPerWriter)...)
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "v")
	}
	done := make(chan error, 1)
	go func() { done <- db.Flush(context.Background()) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%d files are written together, want %d", syncs.Load(), writers)
		release()
		<-done
	}
	for _, id := range ids {
		if got := contents(t, db, id); len(got) != 1 {
			t.Errorf("partition %d has %q, want one cell", id, got)
		}
	}
}

// TestFullDiskEndsAFlush: once the disk is full, a flush of many files begins no more of them.
func TestFullDiskEndsAFlush(t *testing.T) {
	const writers = 3
	var full atomic.Bool
	var creates atomic.Int64
	manual := clock.NewManual(1) // no backoff ends but by the test
	opt := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, manifest.TableSuffix) && full.Load() {
			creates.Add(1)
			return vfs.Fault{Err: syscall.ENOSPC}
		}
		return vfs.Fault{}
	}))
	opt.Clock = manual
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, make([]string, (writers-1)*filesPerWriter)...)
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "v")
	}
	full.Store(true)
	done := make(chan error, 1)
	go func() { done <- db.Flush(context.Background()) }()
	eventually(db, func() bool { return db.background.writeBackoff.waiting })
	if n := creates.Load(); n < 1 || n > writers {
		t.Errorf("%d files were begun on a full disk, want %d at most", n, writers)
	}
	full.Store(false)
	manual.Advance(firstBackoff)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if n := len(db.partitions[id].version.Levels[0]); n != 1 {
			t.Errorf("partition %d has %d files, want 1", id, n)
		}
	}
}

// TestFlushHardlyTriesToCompress: a flush rarely tries to compress values that save little, if the
// file will soon be merged with others. A file before or after all others is compressed, because it
// may be moved down without a merge.
func TestFlushHardlyTriesToCompress(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	db.mu.Lock()
	db.partitions[id].compactionStopped = true // no compaction
	db.mu.Unlock()
	r := rand.New(rand.NewPCG(1, 1))
	flush := func(prefix string) int64 {
		for i := range 300 {
			value := make([]byte, 200)
			for k := range value[:160] {
				value[k] = byte(r.Uint32())
			}
			mustPut(t, db, id, fmt.Sprintf("%s%06d", prefix, i), "q", string(value))
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		db.mu.Lock()
		defer db.mu.Unlock()
		return db.partitions[id].version.Levels[0][0].Size
	}
	alone := flush("m")
	if behind, before := flush("z"), flush("a"); behind > alone*51/50 || before > alone*51/50 {
		t.Errorf("%d bytes alone, %d behind, %d before others", alone, behind, before)
	}
	if among := flush("m"); among < alone*21/20 {
		t.Errorf("%d bytes alone, %d among others", alone, among)
	}
}

// TestWriteCountsEntries: a flush or compaction writes each entry of its input or drops it for a
// reason. If the input lacks entries, the partition is quarantined. If entries are lost on the way,
// the input stays valid.
func TestWriteCountsEntries(t *testing.T) {
	for reason, c := range map[string]struct {
		entries     int    // expected in the input
		written     uint64 // counted as written, besides those that are
		quarantined bool
	}{
		"2 entries expected, 1 read":            {2, 0, true},
		"1 entries read, 2 written, 0 left out": {1, 1, false},
		"1 entries read, 0 written, 0 left out": {1, ^uint64(0), false},
	} {
		db := mustOpen(t, vfs.NewMem())
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "v")
		p := db.partitions[id]
		out := &output{db: db, p: p, split: compaction.SplitAtSize(noSplit), cells: c.written}
		it := p.active.last().NewIterator(memtable.ReadOptions{})
		err := db.writeAll(out, it, c.entries, func([]byte) bool { return false })
		it.Close()
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.Partition != "a" || damage.Reason != reason {
			t.Errorf("got %v, want %s", err, reason)
		}
		if _, err := read(db, id, nil); errors.As(err, &damage) != c.quarantined {
			t.Errorf("%s: then a read got %v, want damage: %t", reason, err, c.quarantined)
		}
		out.discard()
		mustClose(t, db)
	}
}
