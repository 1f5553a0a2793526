package engine

import (
	"context"
	"testing"

	"colonnade/vfs"
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
	if n := len(db.partitions[id].state.Load().version.levels[0]); n != 2 {
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

// TestReadsCompactLevel0: reads that meet the files of level 0 have them compacted,
// once they have paid for it, and not before.
func TestReadsCompactLevel0(t *testing.T) {
	db, id := flushedTwice(t)
	defer mustClose(t, db)
	p := db.partitions[id]
	snap := mustSnapshotOf(t, db, id)
	for p.wear.paid.Load() < leastPrice-100 {
		readOnce(t, snap, id, "row")
	}
	if p.wear.worn.Load() || len(p.state.Load().version.levels[0]) != 2 {
		t.Error("level 0 was compacted before it was paid for")
	}
	db.mu.Lock()
	progress := db.background.progress
	db.mu.Unlock()
	state := p.state.Load()
	for range leastPrice {
		readOnce(t, snap, id, "row")
	}
	<-progress
	snap.Close()
	if p.state.Load() == state || len(p.state.Load().version.levels[0]) != 0 {
		t.Error("level 0 was not compacted")
	}
	snap = mustSnapshotOf(t, db, id)
	defer snap.Close()
	readOnce(t, snap, id, "row")
	if n := p.wear.paid.Load(); n != 0 || p.wear.worn.Load() {
		t.Errorf("after the compaction, without files in level 0, %d is paid and worn is %v", n, p.wear.worn.Load())
	}
}

// TestOldStatesDoNotPay: what a snapshot of an earlier state reads would be spared
// nothing by a compaction now.
func TestOldStatesDoNotPay(t *testing.T) {
	db, id := flushedTwice(t)
	defer mustClose(t, db)
	snap := mustSnapshotOf(t, db, id)
	defer snap.Close()
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	for range leastPrice {
		readOnce(t, snap, id, "row")
	}
	if db.partitions[id].wear.worn.Load() {
		t.Error("reads of files that are gone have worn level 0")
	}
}

// TestPriceOfLevel0 is what a compaction would merge: with the level below, where the
// rows overlap.
func TestPriceOfLevel0(t *testing.T) {
	f := func(first, last string, cells uint64) *file {
		return &file{smallest: []byte(first), largest: []byte(last), cells: cells}
	}
	var v version
	if got := price(&v); got != 0 {
		t.Errorf("without files: %d", got)
	}
	v.levels[0] = []*file{f("c", "e", 100_000)}
	v.levels[3] = []*file{f("a", "b", 1), f("c", "d", 200_000), f("e", "f", 300_000), f("g", "h", 1)}
	v.levels[4] = []*file{f("a", "z", 1)}
	if got := price(&v); got != 600_000/entriesPaid {
		t.Errorf("got %d, want %d", got, 600_000/entriesPaid)
	}
	v.levels[3] = nil
	v.levels[0][0].cells = 1
	if got := price(&v); got != leastPrice {
		t.Errorf("of few entries: %d", got)
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
