package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
)

// zeros is a reader of zeros, for the id of test stores.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// testOptions have small sizes, so everything happens soon.
func testOptions(fs vfs.FS) Options {
	return Options{
		FS: fs, Clock: clock.System, Rand: zeros{},
		MemtableBytes: 1 << 20, CacheBytes: 1 << 20, LogBytes: 1 << 20, SegmentBytes: 64 << 10,
		FileBytes: 64 << 10, BlockBytes: 1 << 10, StallTimeout: 20 * time.Second, ReserveBytes: -1,
	}
}

func mustOpen(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	db, err := Open("store", testOptions(fs))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return db
}

func mustClose(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// closeWithLog closes a store as Close does if it has no time to flush: the content of the
// memtables stays in the log.
func closeWithLog(t testing.TB, db *DB) {
	t.Helper()
	db.mu.Lock()
	db.closed = true
	db.readPartitions.Store(nil)
	db.mu.Unlock()
	db.stop()
	if err := db.release(nil); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// stride is the distance of the operations at which a test makes something happen: one, or n in a short run under the
// race detector.
func stride(n int64) int64 {
	if raceEnabled && testing.Short() {
		return n
	}
	return 1
}

// mustOpenIdle opens a store with a clock that stands still. Timers do nothing, such as sealing an
// idle log.
func mustOpenIdle(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	opt := testOptions(fs)
	opt.Clock = clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return db
}

func mustCreate(t testing.TB, db *DB, names ...string) []PartitionID {
	t.Helper()
	ids, err := db.CreatePartitions(names...)
	if err != nil {
		t.Fatalf("CreatePartitions: %v", err)
	}
	return ids
}

func set(row, column, value string) (r []byte, c *cell.Cell) {
	return []byte(row), &cell.Cell{
		Column: cell.AppendColumn(nil, []byte("f"), []byte(column)), Value: []byte(value),
		Type: cell.String, Time: CommitTime,
	}
}

func mustPut(t testing.TB, db *DB, id PartitionID, row, column, value string) Commit {
	t.Helper()
	var b Batch
	r, c := set(row, column, value)
	b.Add(id, r, c)
	commit, err := db.Commit(context.Background(), &b)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return commit
}

// contents returns every visible cell as "row column=value" lines.
func contents(t testing.TB, db *DB, id PartitionID) []string {
	t.Helper()
	lines, err := read(db, id, nil)
	if err != nil {
		t.Fatalf("read partition %d: %v", id, err)
	}
	return lines
}

func read(db *DB, id PartitionID, policies *Policies) (lines []string, err error) {
	snap, err := db.NewSnapshot(id)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return readWith(snap, id, policies)
}

func readAt(snap *Snapshot, id PartitionID) ([]string, error) {
	return readWith(snap, id, nil)
}

func readWith(snap *Snapshot, id PartitionID, policies *Policies) (lines []string, err error) {
	scan, err := snap.Scan(id, ScanOptions{Now: 1, Policies: policies})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	return linesOf(scan)
}

func linesOf(scan *Scan) (lines []string, err error) {
	for scan.NextRow() {
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				_, q := cell.SplitColumn(c.Column)
				lines = append(lines, fmt.Sprintf("%s %s=%s", scan.Row(), q, c.Value))
			}
		}
	}
	return lines, scan.Err()
}

func TestReopenKeepsWhatWasCommitted(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	rnd := rand.New(rand.NewPCG(1, 2))
	want := map[string]string{}
	for round := range 5 {
		for i := range 2000 {
			row, value := fmt.Sprintf("row%04d", rnd.IntN(3000)), fmt.Sprintf("%d.%d", round, i)
			mustPut(t, db, ids[i%2], row, "q", value)
			want[fmt.Sprint(i%2, row)] = value
		}
		mustClose(t, db)
		db = mustOpen(t, fs)
		for k, id := range ids {
			newest := map[string]string{}
			for _, line := range contents(t, db, id) {
				var row, value string
				fmt.Sscanf(line, "%s q=%s", &row, &value)
				if _, ok := newest[row]; !ok {
					newest[row] = value
				}
			}
			for key, value := range want {
				if key[0] != "01"[k] {
					continue
				}
				if newest[key[1:]] != value {
					t.Fatalf("round %d: partition %d row %s has %q, want %q", round, k, key[1:], newest[key[1:]], value)
				}
			}
		}
	}
	mustClose(t, db)
}

// TestCompactionBeforePoliciesLosesNothing: a store compacts from the open on, and only later
// learns the families of its partitions.
func TestCompactionBeforePoliciesLosesNothing(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "old", "1")
	since := db.LastSeq()
	mustPut(t, db, id, "row", "new", "2")
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	policies := NewPolicies(db.LastSeq(), map[string]Policy{"f": {Since: since}})
	got, err := read(db, id, policies)
	if err != nil || fmt.Sprint(got) != "[row new=2]" {
		t.Errorf("got %q, %v, want the cell written after the family was created anew, alone", got, err)
	}
}
