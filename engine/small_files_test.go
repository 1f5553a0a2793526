package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// withNeighbours returns a store with a large partition and small ones. They are flushed together,
// flushes times, and compacted until nothing is due. The rows of flush i have the key row(i).
// flushed is the size of all files at the end.
func withNeighbours(t *testing.T, small, flushes, size int, row func(i int) string) (db *DB, ids []PartitionID, flushed int64) {
	t.Helper()
	db = mustOpen(t, vfs.NewMem())
	names := []string{"large"}
	for i := range small {
		names = append(names, fmt.Sprint("small", i))
	}
	ids = mustCreate(t, db, names...)
	noise := rand.NewChaCha8([32]byte{})
	for i := range flushes {
		value := make([]byte, size)
		noise.Read(value)
		mustPut(t, db, ids[0], row(i), "q", string(value))
		for _, id := range ids[1:] {
			mustPut(t, db, id, row(i), "q", "value")
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		eventually(db, func() bool { return len(db.background.compactable) == 0 })
	}
	for _, id := range ids {
		for _, files := range db.partitions[id].state.Load().version.Levels {
			flushed += manifest.TotalSize(files)
		}
	}
	return db, ids, flushed
}

func sameRow(int) string { return "row" }

// TestSmallFileCompaction: beside a large partition, a small one becomes one run before its level 0
// is full. The large one does not.
func TestSmallFileCompaction(t *testing.T) {
	const flushes = 5
	db, ids, _ := withNeighbours(t, 1, flushes, 100<<10, sameRow)
	defer mustClose(t, db)
	large, small := db.partitions[ids[0]].state.Load().version, db.partitions[ids[1]].state.Load().version
	if n := len(large.Levels[0]); n != flushes {
		t.Errorf("the large partition has %d files in level 0, want all %d", n, flushes)
	}
	if n := len(compaction.Level0Inputs(small)); n > 1 {
		t.Errorf("the small partition has %d files, want one run", n)
	}
	if got := contents(t, db, ids[1]); len(got) != flushes {
		t.Errorf("got %q, want all versions", got)
	}
}

// TestSmallFileCompactionIsBounded: small-file compactions merge a fraction of the flushed bytes.
// Each counts at least as much as an edit and new files cost, even one that only moves a file.
func TestSmallFileCompactionIsBounded(t *testing.T) {
	const (
		small, flushes = 20, 2
		share, least   = 16, 512 // as in compaction.SmallFileBudget
	)
	for name, row := range map[string]func(int) string{"merged": sameRow, "moved": func(i int) string { return fmt.Sprint("row", i) }} {
		db, ids, flushed := withNeighbours(t, small, flushes, 64<<10, row)
		compacted := int64(0)
		for _, id := range ids[1:] {
			if len(db.partitions[id].state.Load().version.Levels[0]) < flushes {
				compacted++
			}
		}
		each := db.opt.MemtableBytes / least
		if most := flushed / share / each; compacted < 1 || compacted > most {
			t.Errorf("%s: %d of %d small partitions were compacted, want 1 to %d after %d bytes of flushes", name, compacted, small, most, flushed)
		}
		mustClose(t, db)
	}
}
