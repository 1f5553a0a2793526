package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"colonnade/vfs"
)

// withNeighbours is a store with a large partition and small ones, all flushed
// together as often as it says, and compacted until nothing is due. flushed is what the
// flushes have written.
func withNeighbours(t *testing.T, small, flushes, size int) (db *DB, ids []PartitionID, flushed int64) {
	t.Helper()
	db = mustOpen(t, vfs.NewMem())
	names := []string{"large"}
	for i := range small {
		names = append(names, fmt.Sprint("small", i))
	}
	ids = mustCreate(t, db, names...)
	noise := rand.NewChaCha8([32]byte{})
	for range flushes {
		value := make([]byte, size)
		noise.Read(value)
		mustPut(t, db, ids[0], "row", "q", string(value))
		for _, id := range ids[1:] {
			mustPut(t, db, id, "row", "q", "value")
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		eventually(db, func() bool { return len(db.background.compactable) == 0 })
	}
	for _, id := range ids {
		for _, files := range db.partitions[id].state.Load().version.levels {
			flushed += totalSize(files)
		}
	}
	return db, ids, flushed
}

// TestSmallPartitionsAreTidied: beside a large partition a small one is one run soon,
// while the large one goes by the rules.
func TestSmallPartitionsAreTidied(t *testing.T) {
	const flushes = 5
	db, ids, _ := withNeighbours(t, 1, flushes, 100<<10)
	defer mustClose(t, db)
	large, small := db.partitions[ids[0]].state.Load().version, db.partitions[ids[1]].state.Load().version
	if n := len(large.levels[0]); n != flushes {
		t.Errorf("the large partition has %d files in level 0, want all %d", n, flushes)
	}
	if n := len(small.leaving0()); n > 1 {
		t.Errorf("the small partition has %d files, want one run", n)
	}
	if got := contents(t, db, ids[1]); len(got) != flushes {
		t.Errorf("got %q, want all versions", got)
	}
}

// TestTidyingIsBounded by a part of what was flushed, each partition counting as
// much as an edit and files cost.
func TestTidyingIsBounded(t *testing.T) {
	const small = 20
	db, ids, flushed := withNeighbours(t, small, 2, 64<<10)
	defer mustClose(t, db)
	tidied := int64(0)
	for _, id := range ids[1:] {
		if len(db.partitions[id].state.Load().version.leaving0()) < 2 {
			tidied++
		}
	}
	each := db.opt.MemtableBytes / leastTidied
	if most := flushed / tidiedPart / each; tidied < 1 || tidied > most {
		t.Errorf("%d of %d small partitions were tidied, want 1 to %d after %d bytes of flushes", tidied, small, most, flushed)
	}
}
