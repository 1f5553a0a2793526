package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"colonnade/memtable"
	"colonnade/vfs"
)

// TestFlushesShareEdits: hundreds of partitions with little in them, which all keep
// the oldest segment of the log, go into files together.
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
	for i := range 60 { // one partition makes the log long
		mustPut(t, db, ids[0], fmt.Sprint("row", i), "q", strings.Repeat("v", 20<<10))
	}
	eventually(db, func() bool { return db.log.segments[0].number > 2 })
	db.mu.Lock()
	defer db.mu.Unlock()
	if n := db.manifest.edit; n > 60 {
		t.Errorf("%d edits for %d partitions", n, partitions)
	}
}

// TestDropDuringFlush drops partitions that a flush of several has written already,
// and has not written yet. The others lose nothing, and of these nothing is left.
func TestDropDuringFlush(t *testing.T) {
	fs := vfs.NewMem()
	var files atomic.Int64
	reached, release := make(chan struct{}), make(chan struct{})
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, tableSuffix) && files.Add(1) == 3 {
			close(reached)
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	}))
	ids := mustCreate(t, db, "a", "b", "c", "d", "e")
	for _, id := range ids { // in this order they are flushed
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
		if names, _ := fs.List("store/partitions/" + partitionName(uint64(id))); len(names) > 0 {
			t.Errorf("of partition %d there are %v", id, names)
		}
	}
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	for _, id := range []PartitionID{ids[1], ids[3]} {
		if n := len(db.partitions[id].version.levels[0]); n != 1 {
			t.Errorf("partition %d has %d files, want 1", id, n)
		}
		if got := contents(t, db, id); len(got) != 1 {
			t.Errorf("partition %d has %q, want one cell", id, got)
		}
	}
}

// TestWriteCountsEntries: of the entries that a flush or compaction is to read, each is
// written or left out for a reason. Where one is missing in its input, the partition is
// not to be trusted any more; where one is lost on the way, the input is as good as
// before.
func TestWriteCountsEntries(t *testing.T) {
	for reason, c := range map[string]struct {
		entries     int    // that are expected
		written     uint64 // that are said to be written, beyond those that are
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
		out := &output{db: db, p: p, split: &splitter{most: maxFile}, cells: c.written}
		it := p.active.newest().NewIterator(memtable.ReadOptions{})
		err := db.write(out, it, c.entries, func([]byte) bool { return false })
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
