package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/vfs"
)

func mustDeleteRange(t testing.TB, db *DB, id PartitionID, start, end string) Commit {
	t.Helper()
	var b Batch
	var last []byte
	if end != "" {
		last = []byte(end)
	}
	b.DeleteRange(id, []byte(start), last)
	c, err := db.Commit(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustFlush(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func mustCompact(t testing.TB, db *DB, id PartitionID) {
	t.Helper()
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
}

func wantRanges(t testing.TB, db *DB, id PartitionID, want int) {
	t.Helper()
	if s, err := db.Stats(id); err != nil || s.RangeTombstones != want {
		t.Errorf("%d range tombstones, %v; want %d", s.RangeTombstones, err, want)
	}
}

// flushedClean writes a file that is clean of a range tombstone, which the files before need if it covers any of
// their rows. Both are of one batch, and larger than what the range tombstone covers: a range tombstone that covers
// more than its memtable holds is flushed at once, and may have no file.
func flushedClean(t testing.TB, db *DB, id PartitionID, start, end string) {
	t.Helper()
	var b Batch
	b.DeleteRange(id, []byte(start), []byte(end))
	r, c := set(start, "q", strings.Repeat("v", 10_000))
	b.Add(id, r, c)
	if _, err := db.Commit(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	mustFlush(t, db)
}

// stopCompactions keeps a partition without files from compactions, except those of the test. With files, one may
// be under way.
func stopCompactions(db *DB, id PartitionID) *partition {
	db.mu.Lock()
	defer db.mu.Unlock()
	p := db.partitions[id]
	p.compactionStopped = true
	return p
}

// begin begins a compaction of files, which is carried out by end.
func begin(db *DB, p *partition, c compaction.Choice) *compactionJob {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.startCompactionLocked(p, c, 1)
}

func end(t *testing.T, db *DB, job *compactionJob) {
	t.Helper()
	err := db.compact(job)
	db.mu.Lock()
	db.endCompactionLocked(job)
	db.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
}

// intoLast merges files into the last level.
func intoLast(level0, last []*manifest.File) compaction.Choice {
	c := compaction.Choice{Kind: compaction.Merge, Output: manifest.LastLevel}
	c.Inputs[0], c.Inputs[manifest.LastLevel] = level0, last
	return c
}

// TestDeleteRange: what a batch deletes is what was there before it, in memtables and in files, for every
// later reader, and after a reopen.
func TestDeleteRange(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem){
		"memtable": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) { return db, fs },
		"flush": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) {
			mustFlush(t, db)
			return db, fs
		},
		"compacted": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) {
			mustCompact(t, db, id)
			return db, fs
		},
		"reopen": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) {
			mustClose(t, db)
			return mustOpen(t, fs), fs
		},
		"recovery": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) {
			closeWithLog(t, db)
			return mustOpen(t, fs), fs
		},
		"loss of power": func(t *testing.T, db *DB, fs *vfs.Mem, id PartitionID) (*DB, *vfs.Mem) {
			image := fs.Crash(vfs.DropAll, 1)
			db.Close()
			return mustOpen(t, image), image
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			db := mustOpen(t, fs)
			ids := mustCreate(t, db, "a", "b")
			id := ids[0]
			for _, row := range []string{"a", "b", "b1", "c", "d"} {
				for _, id := range ids {
					mustPut(t, db, id, row, "q", "old")
				}
			}
			db, fs = between(t, db, fs, id)
			var batch Batch
			r, c := set("b", "p", "same batch")
			batch.Add(id, r, c)
			batch.DeleteRange(id, []byte("b"), []byte("c"))
			r, c = set("b1", "p", "same batch")
			batch.Add(id, r, c)
			if batch.Len() != 3 {
				t.Errorf("the batch has %d entries", batch.Len())
			}
			if _, err := db.Commit(context.Background(), &batch); err != nil {
				t.Fatal(err)
			}
			mustPut(t, db, id, "b1", "q", "new")
			db, fs = between(t, db, fs, id)
			want := []string{"a q=old", "b p=same batch", "b1 p=same batch", "b1 q=new", "c q=old", "d q=old"}
			if got := contents(t, db, id); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := contents(t, db, ids[1]); len(got) != 5 {
				t.Errorf("the other partition has %q, want 5 rows", got)
			}
			mustDeleteRange(t, db, id, "", "b")
			mustDeleteRange(t, db, id, "c", "")
			db, fs = between(t, db, fs, id)
			if got := contents(t, db, id); !slices.Equal(got, want[1:4]) {
				t.Errorf("got %q, want %q", got, want[1:4])
			}
			mustDeleteRange(t, db, id, "", "")
			db, _ = between(t, db, fs, id)
			if got := contents(t, db, id); len(got) > 0 {
				t.Errorf("got %q, want nothing", got)
			}
			if _, err := db.Check(context.Background(), func(e *CorruptError) { t.Error(e) }); err != nil {
				t.Error(err)
			}
			mustClose(t, db)
		})
	}
}

// TestRangesThatCannotBe: Commit refuses the batch.
func TestRangesThatCannotBe(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	long := []byte(strings.Repeat("r", 64<<10+1))
	for want, bounds := range map[string][2][]byte{
		`from row "b" up to "a" is of no rows`: {[]byte("b"), []byte("a")},
		`from row "a" up to "a" is of no rows`: {[]byte("a"), []byte("a")},
		`from row "" up to "" is of no rows`:   {nil, {}},
		"of 65537 and 0 bytes":                 {long, nil},
		"of 0 and 65537 bytes":                 {nil, long},
	} {
		var b Batch
		b.DeleteRange(id, bounds[0], bounds[1])
		if _, err := db.Commit(context.Background(), &b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		b.Reset()
		b.DeleteRange(id, nil, nil)
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Errorf("after a Reset: %v", err)
		}
	}
	var b Batch
	b.DeleteRange(99, nil, nil)
	if _, err := db.Commit(context.Background(), &b); !errors.Is(err, ErrNoPartition) {
		t.Errorf("got %v, want ErrNoPartition", err)
	}
}

// TestOldSnapshotSeesDeletedRange: through flush, drop of the files and compaction.
func TestOldSnapshotSeesDeletedRange(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	mustPut(t, db, id, "in memory", "q", "v")
	want := contents(t, db, id)
	old, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	check := func(when string) {
		t.Helper()
		if got, err := readAt(old, id); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, want)
		}
		if got := contents(t, db, id); len(got) > 0 {
			t.Errorf("%s: a later reader sees %q", when, got)
		}
	}
	mustDeleteRange(t, db, id, "", "")
	check("deleted")
	mustFlush(t, db)
	check("flushed")
	mustCompact(t, db, id)
	check("compacted")
	wantRanges(t, db, id, 0)
}

// TestLargePrefixIsDropped: the files within a deleted range go soon, without being read, and the range
// tombstone with them. The two files that it ends in are rewritten.
func TestLargePrefixIsDropped(t *testing.T) {
	var reads atomic.Int64
	var counting atomic.Bool
	fs := vfs.NewMem()
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, manifest.TableSuffix) && counting.Load() {
			reads.Add(int64(op.Len))
		}
		return vfs.Fault{}
	}))
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	var b Batch
	const rows = 40_000
	for i := range rows {
		r, c := set(fmt.Sprintf("row%06d", i), "q", strings.Repeat("v", 20)+fmt.Sprint(i*i))
		b.Add(id, r, c)
		if i%1000 == 999 {
			if _, err := db.Commit(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	mustCompact(t, db, id)
	p := db.partitions[id]
	before := len(p.version.Levels[manifest.LastLevel])
	largest := slices.MaxFunc(p.version.Levels[manifest.LastLevel], func(f, g *manifest.File) int { return int(f.Size - g.Size) }).Size
	if before < 10 {
		t.Fatalf("only %d files", before)
	}
	counting.Store(true)
	mustDeleteRange(t, db, id, "row001", "row038")
	eventually(db, func() bool {
		return p.version.RangeTombstones.Len()+p.active.ranges.Len() == 0 && len(p.frozen) == 0
	})
	if n := len(p.version.Levels[manifest.LastLevel]); n > 4 {
		t.Errorf("%d files of %d are left", n, before)
	}
	if n := reads.Load(); n > 6*largest { // two, and what they have become, and their checks
		t.Errorf("%d bytes of files were read, of at most %d each", n, largest)
	}
	counting.Store(false)
	if got := contents(t, db, id); len(got) != 3000 {
		t.Errorf("%d rows are left, want 3000", len(got))
	}
}

// TestScanPassesOverDeletedFiles: a reader does not read files whose entries are all deleted, even before
// they are dropped.
func TestScanPassesOverDeletedFiles(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	p := stopCompactions(db, id)
	flushed(t, db, id, 4)
	files := p.version.Levels[0] // of now: range tombstones have the memtable flushed
	for _, f := range files {
		tableOf(f).fs = nil // reading it would panic
		tableOf(f).reader.Store(nil)
	}
	mustDeleteRange(t, db, id, "", "")
	mustPut(t, db, id, "row2", "q", "new")
	check := func() {
		t.Helper()
		if got := contents(t, db, id); fmt.Sprint(got) != "[row2 q=new]" {
			t.Errorf("got %q", got)
		}
		scan, err := db.Scan(id, ScanOptions{Start: []byte("row1"), End: []byte("row1\x00"), Now: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer scan.Close()
		if got, err := linesOf(scan); err != nil || len(got) > 0 {
			t.Errorf("got %q, %v, want no row", got, err)
		}
	}
	check()
	for _, f := range files {
		tableOf(f).fs = db.opt.FS
	}
}

// TestRangeTombstoneDuringCompaction: a compaction that began before a range tombstone came leaves what it
// covers. It stays hidden, and the next compaction drops it.
func TestRangeTombstoneDuringCompaction(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	if err := db.SetPolicies(id, NewPolicies(db.LastSeq(), map[string]Policy{"f": {}})); err != nil {
		t.Fatal(err)
	}
	p := stopCompactions(db, id)
	flushed(t, db, id, 2)
	job := begin(db, p, intoLast(p.version.Levels[0], nil))
	mustDeleteRange(t, db, id, "row0", "row1")
	mustFlush(t, db)
	end(t, db, job)
	last := p.version.Levels[manifest.LastLevel]
	if len(last) != 1 || last[0].CleanSeq != 0 || last[0].MaxSeq != 0 {
		t.Fatalf("the last level has %+v", last)
	}
	wantRanges(t, db, id, 1)
	want := []string{"all 0=v", "all 1=v", "row1 q=v"}
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	end(t, db, begin(db, p, intoLast(nil, last)))
	wantRanges(t, db, id, 0)
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("without the range tombstone got %q, want %q", got, want)
	}
	if f := p.version.Levels[manifest.LastLevel][0]; f.Entries != 3 {
		t.Errorf("the file has %d entries, want 3", f.Entries)
	}
	mustClose(t, db)
}

// TestNewRowsUnderARangeTombstone: while a range tombstone is there for the sake of the files around, rows
// written after it reach the last level in the file between. They stay above it.
func TestNewRowsUnderARangeTombstone(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	if err := db.SetPolicies(id, NewPolicies(db.LastSeq(), map[string]Policy{"f": {}})); err != nil {
		t.Fatal(err)
	}
	p := stopCompactions(db, id)
	for _, rows := range []string{"ab", "mn", "yz"} {
		for _, row := range rows {
			mustPut(t, db, id, string(row), "q", "old")
		}
		mustFlush(t, db)
		end(t, db, begin(db, p, intoLast(p.version.Levels[0], nil)))
	}
	mustDeleteRange(t, db, id, "b", "z")
	mustPut(t, db, id, "m", "q", "new")
	mustPut(t, db, id, "mm", "q", "new")
	mustFlush(t, db)
	end(t, db, begin(db, p, intoLast(p.version.Levels[0], p.version.Levels[manifest.LastLevel][1:2])))
	wantRanges(t, db, id, 1)
	want := []string{"a q=old", "m q=new", "mm q=new", "z q=old"}
	check := func(when string) {
		t.Helper()
		if got := contents(t, db, id); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	check("one file is compacted")
	closeWithLog(t, db)
	if _, err := Check(fs, "store", func(e *CorruptError) { t.Error(e) }); err != nil {
		t.Error(err)
	}
	db = mustOpen(t, fs)
	check("reopened")
	mustCompact(t, db, id)
	wantRanges(t, db, id, 0)
	check("both are compacted")
	mustClose(t, db)
}

// TestCheckFindsWhatARangeTombstoneCovers: a file says that it is clean of a range tombstone, and is not.
func TestCheckFindsWhatARangeTombstoneCovers(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	p := stopCompactions(db, id)
	flushed(t, db, id, 2)
	c := mustDeleteRange(t, db, id, "row1", "")
	mustFlush(t, db)
	err := db.install(nil, func(m *manifest.Manifest) error {
		r := m.Partitions[id]
		v := *r.Version
		f := v.Levels[0][0] // rows all and row1
		v.Levels[0] = append([]*manifest.File{{
			Number: f.Number, Size: f.Size, Checksum: f.Checksum, Smallest: f.Smallest, Largest: f.Largest,
			MinSeq: f.MinSeq, MaxSeq: f.MaxSeq, Entries: f.Entries, Tombstones: f.Tombstones, RawBytes: f.RawBytes,
			CleanSeq: c.Seq, Times: f.Times, Owner: f.Owner,
		}}, v.Levels[0][1:]...)
		m.Partitions[id] = r.With(r.Flushed, &v)
		return nil
	}, func() { db.adoptLocked(p) })
	if err != nil {
		t.Fatal(err)
	}
	const want = `in row "row1", which it should not have: the range tombstone 5 covers it`
	found := ""
	if _, err := db.Check(context.Background(), func(e *CorruptError) { found += e.Reason }); err != nil || !strings.Contains(found, want) {
		t.Errorf("found %q, %v, want %q", found, err, want)
	}
	closeWithLog(t, db)
	found = ""
	if _, err := Check(fs, "store", func(e *CorruptError) { found += e.Reason }); err != nil || !strings.Contains(found, want) {
		t.Errorf("offline found %q, %v, want %q", found, err, want)
	}
}

// TestLogBeforeARangeTombstone: a log that ends before a range tombstone in the manifest is refused.
func TestLogBeforeARangeTombstone(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	log := db.segmentPath(db.log.current.number)
	stopCompactions(db, ids[0])
	flushOnlyRows := func() {
		mustPut(t, db, ids[0], "row", "q", "v")
		flushOnly(db, ids[0])
	}
	flushOnlyRows()
	mustPut(t, db, ids[1], "row", "q", "v")
	early := readAll(t, fs, log)
	mustDeleteRange(t, db, ids[0], "", "row1")
	db.mu.Lock()
	p := db.partitions[ids[0]]
	f := p.version.Levels[0][0]
	p.busy[f.Number] = true
	db.mu.Unlock()
	flushOnly(db, ids[0])
	wantRanges(t, db, ids[0], 1)
	d := &damagedStore{fs: fs.Clone()}
	closeWithLog(t, db)
	if err := openAndClose(d.fs.Clone()); err != nil {
		t.Errorf("log and manifest of one moment: %v", err)
	}
	var damage *CorruptError
	if err := openAndClose(d.with(t, log, early)); !errors.As(err, &damage) || !strings.Contains(damage.Reason, "has a range tombstone of batch 3") {
		t.Errorf("an earlier log: %v", err)
	}
}

// TestFrozenMemtableGetsARangeTombstone: the flush fails, and the log keeps its batches.
func TestFrozenMemtableGetsARangeTombstone(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	db.mu.Lock()
	p := db.partitions[id]
	m := p.active
	list := []flushJob{{p: p, m: m}}
	p.frozen, p.active = append(p.frozen, m), newMemTable()
	db.mu.Unlock()
	if err := db.writeMemTables(list); err != nil {
		t.Fatal(err)
	}
	m.ranges.Add(rangedel.Tombstone{Seq: 1})
	if err := db.installFlushed(list, 0); err == nil || !strings.Contains(err.Error(), "from 0 to 1 range tombstones") {
		t.Errorf("got %v", err)
	}
	db.Close()
}

// TestManyRangeTombstones: writers of range tombstones wait while a partition has many that compactions have
// not applied, and are refused when that takes too long. The range tombstones count as memory.
func TestManyRangeTombstones(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.LogBytes, opt.StallTimeout = 64<<20, 64<<20, 10*time.Millisecond
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	p := stopCompactions(db, id)
	mustPut(t, db, id, "row/", "q", "old")
	mustPut(t, db, id, "row0", "q", "old")
	mustFlush(t, db)
	ctx := context.Background()
	n, bytes := 0, int64(0)
	for err == nil && n < 1_000_000 {
		var b Batch
		for range 1000 {
			start := fmt.Appendf(nil, "row/%08d", n)
			b.DeleteRange(id, start, append(start, 0))
			n++
		}
		_, err = db.Commit(ctx, &b)
		db.mu.Lock()
		bytes = max(bytes, p.rangeBytesLocked())
		db.mu.Unlock()
	}
	if !errors.Is(err, ErrOverloaded) || bytes > 2*rangesMost {
		t.Fatalf("after %d range tombstones of %d bytes got %v, want ErrOverloaded", n, bytes, err)
	}
	if err := tryPut(db, id); err != nil {
		t.Errorf("another batch: %v", err)
	}
	db.mu.Lock()
	p.compactionStopped = false
	db.background.compactable[p] = true
	db.background.signalLocked()
	db.mu.Unlock()
	eventually(db, func() bool { return p.version.RangeTombstones == nil })
	mustDeleteRange(t, db, id, "row/", "row/z")
	if got := contents(t, db, id); fmt.Sprint(got) != "[row0 q=old zz q=after]" {
		t.Errorf("got %q", got)
	}

	var b Batch
	for i := range 100_000 {
		b.DeleteRange(id, fmt.Appendf(nil, "row/%08d", i), nil)
	}
	if _, err := db.Commit(ctx, &b); !errors.Is(err, ErrTooLarge) {
		t.Errorf("100,000 range tombstones in one batch: got %v, want ErrTooLarge", err)
	}
}

// TestRangeTombstonesAreCountedAsMemory: of a memtable that has nothing else.
func TestRangeTombstonesAreCountedAsMemory(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	mustDeleteRange(t, db, id, "", "a")
	before := db.memTableBytes.Load()
	mustDeleteRange(t, db, id, "", strings.Repeat("r", 1000))
	if n := db.memTableBytes.Load() - before; n < 1000 {
		t.Errorf("%d bytes more, want 1000 at least", n)
	}
	mustFlush(t, db)
	if n := db.memTableBytes.Load(); n != 0 {
		t.Errorf("%d bytes after the flush", n)
	}
	wantRanges(t, db, id, 0) // there is nothing for it to cover
}

// TestDamagedFileKeepsRangeTombstone: a file that cannot be compacted keeps the range tombstone that covers a
// part of it.
func TestDamagedFileKeepsRangeTombstone(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	for i := range 500 {
		mustPut(t, db, id, fmt.Sprintf("row%03d", i), "q", strings.Repeat("v", 100))
	}
	mustCompact(t, db, id)
	name := tableOf(db.partitions[id].version.Levels[manifest.LastLevel][0]).path
	mustClose(t, db)
	data := readAll(t, fs, name)
	data[100] ^= 1
	d := &damagedStore{fs: fs}
	db = mustOpen(t, d.with(t, name, data))
	defer mustClose(t, db)
	mustDeleteRange(t, db, id, "row2", "zz")
	mustFlush(t, db)
	var damage *CorruptError
	if err := db.Compact(context.Background(), id); !errors.As(err, &damage) {
		t.Errorf("got %v, want damage", err)
	}
	wantRanges(t, db, id, 1)
	scan, err := db.Scan(id, ScanOptions{Start: []byte("row3"), Now: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	if got, err := linesOf(scan); err != nil || len(got) > 0 {
		t.Errorf("got %d rows, %v, want none", len(got), err)
	}
}

// TestShortRangeTombstoneIsApplied: one that covers a part of a file waits, at most until the scrubber has
// read everything.
func TestShortRangeTombstoneIsApplied(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.Clock, opt.ScrubBytesPerSecond = clock.NewManual(1), 1<<40
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 3)
	mustCompact(t, db, id)
	mustDeleteRange(t, db, id, "row1", "row2")
	mustFlush(t, db)
	p := db.partitions[id]
	eventually(db, func() bool { return !db.background.compactable[p] })
	wantRanges(t, db, id, 1)
	db.scrubPass()
	eventually(db, func() bool { return p.version.RangeTombstones == nil })
	if got := contents(t, db, id); len(got) != 5 {
		t.Errorf("got %q, want 5 cells", got)
	}
}
