package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/vfs"
)

// flushedTwice is a partition with two files of level 0, of the same row.
func flushedTwice(t *testing.T) (*DB, PartitionID) {
	t.Helper()
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	for _, value := range []string{"old", "new"} {
		mustPut(t, db, id, "row", "q", value)
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(db.partitions[id].state.Load().version.Levels[0]); n != 2 {
		t.Fatalf("%d files in level 0, want 2", n)
	}
	return db, id
}

// readOnce reads the row.
func readOnce(t *testing.T, snap *Snapshot, id PartitionID, row string) {
	t.Helper()
	scan, err := snap.Scan(id, ScanOptions{Start: []byte(row), End: []byte(row + "\x00")})
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	for scan.NextRow() {
		if cells := scan.Cells(); len(cells) == 0 || string(cells[0].Value) != "new" {
			t.Fatalf("row %q begins with %v", row, cells)
		}
	}
}

// TestReadsCompactLevel0: reads of level 0 trigger its compaction once they have paid for it, and
// not before.
func TestReadsCompactLevel0(t *testing.T) {
	db, id := flushedTwice(t)
	defer mustClose(t, db)
	p := db.partitions[id]
	snap := mustSnapshotOf(t, db, id)
	for p.charges.level0.paid.Load() < compaction.MinThreshold-100 {
		readOnce(t, snap, id, "row")
	}
	if p.charges.level0.due.Load() || len(p.state.Load().version.Levels[0]) != 2 {
		t.Error("level 0 was compacted before it was paid for")
	}
	db.mu.Lock()
	progress := db.background.progress
	db.mu.Unlock()
	state := p.state.Load()
	// No read runs beside the compaction: a read that began before the compaction ended could pay
	// after it.
	for i := 0; i < compaction.MinThreshold && !p.charges.level0.due.Load(); i++ {
		readOnce(t, snap, id, "row")
	}
	<-progress
	snap.Close()
	if p.state.Load() == state || len(p.state.Load().version.Levels[0]) != 0 {
		t.Error("level 0 was not compacted")
	}
	snap = mustSnapshotOf(t, db, id)
	defer snap.Close()
	readOnce(t, snap, id, "row")
	if n := p.charges.level0.paid.Load(); n != 0 || p.charges.level0.due.Load() {
		t.Errorf("after the compaction, without files in level 0, %d is paid and due is %v", n, p.charges.level0.due.Load())
	}
}

// TestReadCharges: a read pays one unit for each file of level 0 that can have its rows, and more
// for files that it has to read. It pays nothing for lower levels and memtables.
func TestReadCharges(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	for i, value := range []string{"below", "old", "new", "newer"} {
		for _, row := range []string{"a", "row", "z"} {
			mustPut(t, db, id, row, "q", value)
		}
		if i == 3 {
			break // stays in the memtable
		}
		if err := db.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := db.Compact(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := db.partitions[id]
	if v := p.state.Load().version; len(v.Levels[0]) != 2 || len(slices.Collect(v.Files())) != 3 {
		t.Fatalf("%d files in level 0 of %d", len(v.Levels[0]), len(slices.Collect(v.Files())))
	}
	for _, c := range []struct {
		what string
		opt  ScanOptions
		pays int64
	}{
		{"a row", ScanOptions{Start: []byte("row"), End: []byte("row\x00")}, 2 + 2*compaction.SourceCost},
		{"the first row", ScanOptions{Start: []byte("a"), End: []byte("a\x00")}, 2 + 2*compaction.SourceCost},
		{"the last row", ScanOptions{Start: []byte("z"), End: []byte("z\x00")}, 2 + 2*compaction.SourceCost},
		{"an absent row", ScanOptions{Start: []byte("m"), End: []byte("m\x00")}, 2},
		{"a row before all", ScanOptions{Start: []byte("A"), End: []byte("A\x00")}, 0},
		{"a row after all", ScanOptions{Start: []byte("zz"), End: []byte("zz\x00")}, 0},
		{"all rows", ScanOptions{}, 2 + 2*compaction.SourceCost},
	} {
		before := p.charges.level0.paid.Load()
		scan, err := db.Scan(id, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		for scan.NextRow() {
			if cells := scan.Cells(); len(cells) == 0 || string(cells[0].Value) != "newer" {
				t.Errorf("%s: row %q begins with %v", c.what, scan.Row(), cells)
			}
		}
		scan.Close()
		if paid := p.charges.level0.paid.Load() - before; paid != c.pays {
			t.Errorf("%s pays %d, want %d", c.what, paid, c.pays)
		}
	}
}

// TestOldStatesAreNotCharged: reads of an older snapshot pay nothing, since a compaction would not
// help them.
func TestOldStatesAreNotCharged(t *testing.T) {
	db, id := flushedTwice(t)
	defer mustClose(t, db)
	snap := mustSnapshotOf(t, db, id)
	defer snap.Close()
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	for range compaction.MinThreshold {
		readOnce(t, snap, id, "row")
	}
	if db.partitions[id].charges.level0.due.Load() {
		t.Error("reads of files that are gone are charged to level 0")
	}
}

func mustSnapshotOf(t *testing.T, db *DB, ids ...PartitionID) *Snapshot {
	t.Helper()
	snap, err := db.NewSnapshot(ids...)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
