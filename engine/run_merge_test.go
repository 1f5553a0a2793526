package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// upperFiles returns the number of files in the upper levels.
func upperFiles(v *manifest.Version) (n int) {
	for _, files := range v.Levels[1:manifest.LastLevel] {
		n += len(files)
	}
	return n
}

// grown returns a store with a partition that is larger than little, with files in upper levels,
// and the content that reads must find. Rows are overwritten and deleted. grown calls check after
// each flush.
func grown(t *testing.T, check func(v *manifest.Version)) (db *DB, id PartitionID, want map[string]string) {
	t.Helper()
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.FileBytes = 32<<10, 16<<10
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id = mustCreate(t, db, "a")[0]
	want = make(map[string]string)
	r := rand.New(rand.NewPCG(1, 2))
	for range 160 {
		overwrite(t, db, id, r, 12000, want)
		check(db.partitions[id].state.Load().version)
	}
	quiet(db)
	for upperFiles(db.partitions[id].state.Load().version) == 0 { // everything is in the last level
		overwrite(t, db, id, r, 12000, want)
		quiet(db)
	}
	return db, id, want
}

// quiet waits until no compaction is due or under way.
func quiet(db *DB) {
	eventually(db, func() bool { return len(db.background.compactable) == 0 && db.background.compactionCPUs == 0 })
}

// overwrite writes or deletes a hundred of the first rows rows, and flushes them.
func overwrite(t *testing.T, db *DB, id PartitionID, r *rand.Rand, rows int, want map[string]string) {
	t.Helper()
	var batch Batch
	for _, i := range r.Perm(rows)[:100] {
		row := fmt.Sprintf("row%05d", i)
		if r.IntN(20) == 0 {
			batch.Add(id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
			delete(want, row)
			continue
		}
		value := fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
		_, c := set(row, "q", value)
		batch.Add(id, []byte(row), c)
		want[row] = value
	}
	if _, err := db.Commit(context.Background(), &batch); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// newestOf returns the newest version of each row that a read finds.
func newestOf(t *testing.T, db *DB, id PartitionID) map[string]string {
	t.Helper()
	scan, err := db.Scan(id, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	got := make(map[string]string)
	for scan.NextRow() {
		if cells := scan.Cells(); len(cells) > 0 {
			got[string(scan.Row())] = string(cells[0].Value)
		}
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestUpperLevels: a growing partition has runs in its upper levels, several at times. Reads find
// them in order, also after the store is opened again.
func TestUpperLevels(t *testing.T) {
	runs := 0
	db, id, want := grown(t, func(v *manifest.Version) {
		n := 0
		for _, files := range v.Levels[1:manifest.LastLevel] {
			if len(files) > 0 {
				n++
			}
		}
		runs = max(runs, n)
	})
	if runs < 3 {
		t.Errorf("there were %d runs in upper levels, want some at once", runs)
	}
	compare := func(when string) {
		t.Helper()
		if got := newestOf(t, db, id); !maps.Equal(got, want) {
			t.Errorf("%s: %d rows are not the %d that were written last", when, len(got), len(want))
		}
		p := db.partitions[id]
		if err := p.checkOrder(p.state.Load().version); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	compare("loaded")
	opt := db.opt
	mustClose(t, db)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	compare("opened again")
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if v := db.partitions[id].state.Load().version; len(v.Levels[0])+upperFiles(v) > 0 {
		t.Error("compacted, but not all is in the last level")
	}
	compare("compacted")
}

// TestReadsCompactUpperLevels: reads of runs in upper levels trigger their compaction into the last
// level once they have paid for it.
func TestReadsCompactUpperLevels(t *testing.T) {
	db, id, want := grown(t, func(*manifest.Version) {})
	defer mustClose(t, db)
	p := db.partitions[id]
	rows := slices.Sorted(maps.Keys(want))
	read := func(rows []string) {
		for _, row := range rows {
			scan, err := db.Scan(id, ScanOptions{Start: []byte(row), End: []byte(row + "\x00")})
			if err != nil {
				t.Fatal(err)
			}
			if !scan.NextRow() || string(scan.Cells()[0].Value) != want[row] {
				t.Fatalf("row %s is not what was written", row)
			}
			scan.Close()
		}
	}
	read(rows[:100])
	if n := p.charges.upper.paid.Load(); n < 100 {
		t.Errorf("reads of 100 rows have paid %d questions", n)
	}
	readUntilWhole := func() {
		t.Helper()
		for range 100 {
			if v := p.state.Load().version; len(v.Levels[0])+upperFiles(v) == 0 {
				return
			}
			read(rows)
		}
		t.Fatal("after a hundred reads of all rows not all is in the last level")
	}
	readUntilWhole()
	for _, row := range []string{rows[0], rows[len(rows)-1]} {
		mustPut(t, db, id, row, "q", want[row])
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(p.state.Load().version.Levels[0]); n != 1 {
		t.Errorf("%d files in level 0, want one, alone above much", n)
	}
	readUntilWhole()
	read(rows)
	quiet(db)
	if n := p.charges.upper.paid.Load(); n != 0 || p.charges.upper.due.Load() || p.runMerges != (compaction.RunMerges{}) {
		t.Errorf("in the end %d is paid, due is %v, and the run merges are %+v", n, p.charges.upper.due.Load(), p.runMerges)
	}
}

// TestDamageInALargePartition: a damaged file of a run stops compactions of its rows. All other
// writes, however many, are accepted, leave level 0 and are found.
func TestDamageInALargePartition(t *testing.T) {
	db, id, want := grown(t, func(*manifest.Version) {})
	r := rand.New(rand.NewPCG(3, 4))
	damaged := middleOfUpper(db.partitions[id].state.Load().version)
	for damaged == nil {
		overwrite(t, db, id, r, 12000, want)
		quiet(db)
		damaged = middleOfUpper(db.partitions[id].state.Load().version)
	}
	opt, name := db.opt, db.partitions[id].tablePath(damaged.Number)
	mustClose(t, db)
	flip(t, opt.FS.(*vfs.Mem), name, 20)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)

	var before int // rows before the damaged file
	if _, err := fmt.Sscanf(string(damaged.Smallest), "row%05d", &before); err != nil || before < 1000 {
		t.Fatalf("the damaged file begins with %q: too few rows are before it", damaged.Smallest)
	}
	p := db.partitions[id]
	met := func() bool {
		db.mu.Lock()
		defer db.mu.Unlock()
		return p.damage != nil
	}
	for n := 0; !met(); n++ {
		if n == 1000 {
			t.Fatal("no compaction has met the damage")
		}
		overwrite(t, db, id, r, before, want)
	}
	for range 100 {
		overwrite(t, db, id, r, before, want)
	}
	quiet(db)
	v := p.state.Load().version
	if n := len(v.Levels[0]); n >= compaction.Level0Limit(v, db.compactionOptions()) {
		t.Errorf("%d files are left in level 0, beside the damage", n)
	}
	if n := len(v.Levels[1]); n > 2 {
		t.Errorf("%d files are left in the first level, as if all were in the way of the damaged one", n)
	}
	for row, value := range want {
		got, err := readRow(db, id, row)
		if inside := row >= string(damaged.Smallest) && row <= string(damaged.Largest); inside && errors.As(err, new(*CorruptError)) {
			continue
		}
		if err != nil || len(got) == 0 || got[0] != value {
			t.Fatalf("row %s: got %.40q, %v, want %s", row, got, err, value)
		}
	}
}

// middleOfUpper returns a file of a run with files on both sides, nil if there is none.
func middleOfUpper(v *manifest.Version) *manifest.File {
	for _, files := range v.Levels[1:manifest.LastLevel] {
		if n := len(files); n > 2 {
			return files[n/2]
		}
	}
	return nil
}
