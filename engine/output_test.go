package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
	"github.com/colonnade-db/colonnade/vfs"
)

// lying is a disk that stores wrong bytes in some files.
type lying struct {
	vfs.FS
	lies func(name string) bool
}

type lyingFile struct {
	vfs.File
	name string
	fs   *lying
}

func (l *lying) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &lyingFile{f, name, l}, nil
}

func (f *lyingFile) Write(p []byte) (int, error) {
	if f.fs.lies(f.name) {
		p = slices.Clone(p)
		p[len(p)/3] ^= 4
	}
	return f.File.Write(p)
}

// TestWrongFlushIsNotInstalled: the memtable stays until a file has its content. A partition that
// cannot be flushed does not block others.
func TestWrongFlushIsNotInstalled(t *testing.T) {
	mem := vfs.NewMem()
	var wrong atomic.Bool
	wrong.Store(true)
	opt := testOptions(&lying{mem, func(name string) bool {
		return wrong.Load() && strings.Contains(name, "/"+manifest.PartitionDir(1)+"/")
	}})
	manual := clock.NewManual(1)
	opt.Clock = manual
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	for _, id := range ids {
		mustPut(t, db, id, "row", "q", "v")
	}
	done := make(chan error, 1)
	go func() { done <- db.Flush(context.Background()) }()
	eventually(db, func() bool { return db.background.writeBackoff.waiting })
	db.mu.Lock()
	a, b := db.partitions[ids[0]], db.partitions[ids[1]]
	if len(a.version.Levels[0]) != 0 || len(a.frozen) != 1 || len(b.version.Levels[0]) != 1 || len(b.frozen) != 0 {
		t.Errorf("a has %d files and %d memtables, b %d and %d; want 0 and 1, 1 and 0",
			len(a.version.Levels[0]), len(a.frozen), len(b.version.Levels[0]), len(b.frozen))
	}
	db.mu.Unlock()
	wrong.Store(false)
	manual.Advance(longestBackoff)
	if err := <-done; err != nil {
		t.Errorf("Flush: %v", err)
	}
	for _, id := range ids {
		if got := contents(t, db, id); fmt.Sprint(got) != "[row q=v]" {
			t.Errorf("partition %d has %q", id, got)
		}
	}
	db.removeObsolete()
	if names, _ := mem.List(a.dir); len(names) != 1 {
		t.Errorf("files of partition a: %v, want one", names)
	}
}

// TestWrongCompactionIsNotInstalled: the inputs stay, the wrong file stays as evidence, and the
// compaction is not repeated.
func TestWrongCompactionIsNotInstalled(t *testing.T) {
	var wrong atomic.Bool
	var created atomic.Int64
	fs := &lying{vfs.NewMem(), func(name string) bool {
		if !strings.HasSuffix(name, manifest.TableSuffix) {
			return false
		}
		created.Add(1)
		return wrong.Load()
	}}
	db := mustOpenIdle(t, fs)
	ids := mustCreate(t, db, "a", "b")
	flushed(t, db, ids[0], 3)
	flushed(t, db, ids[1], 3)
	want := contents(t, db, ids[0])
	wrong.Store(true)
	created.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var damage *CorruptError
	for range 2 {
		if err := db.Compact(ctx, ids[0]); !errors.As(err, &damage) || damage.Partition != "a" || path.Base(damage.File) != manifest.TableFile(7) {
			t.Errorf("Compact returned %v, want a *CorruptError for the file that was written", err)
		}
	}
	wrong.Store(false)
	if n := created.Load(); n != 1 {
		t.Errorf("%d files were written, want one and no other attempt", n)
	}
	if _, err := fs.Stat(damage.File); err != nil {
		t.Errorf("the wrong file is gone: %v", err)
	}
	if err := db.Compact(ctx, ids[1]); err != nil {
		t.Errorf("compaction of another partition: %v", err)
	}
	if got := contents(t, db, ids[0]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s, _ := db.Stats(ids[0]); s.Damage == nil {
		t.Error("Stats does not tell of it")
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if err := db.Compact(ctx, ids[0]); err != nil {
		t.Errorf("Compact after a restart: %v", err)
	}
	if got := contents(t, db, ids[0]); !slices.Equal(got, want) {
		t.Errorf("after a restart got %q, want %q", got, want)
	}
	if _, err := fs.Stat(damage.File); err == nil {
		t.Error("the wrong file is still there after a restart")
	}
}

// TestWriteFailsAmidARow: a row exceeds the writer's buffer, and the disk accepts no more writes.
// The output ends with an error that names the file.
func TestWriteFailsAmidARow(t *testing.T) {
	failure := &vfs.Failure{
		Fault: vfs.Fault{Err: syscall.EIO},
		Match: func(op vfs.Op) bool {
			return op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, manifest.TableSuffix)
		},
	}
	mem := vfs.NewMem()
	db := mustOpen(t, vfs.Inject(mem, failure.Rule))
	defer mustClose(t, db)
	p := db.partitions[mustCreate(t, db, "a")[0]]
	var cells []cell.Cell
	noise := rand.NewChaCha8([32]byte{1})
	for i := range 20 {
		value := make([]byte, 20<<10) // does not compress
		noise.Read(value)
		_, c := set("row", fmt.Sprintf("%02d", i), string(value))
		c.Time, c.Seq = 5, 1
		cells = append(cells, *c)
	}
	out := &output{db: db, p: p, split: compaction.SplitAtSize(noSplit)}
	if err := out.add([]byte("row"), true, cells); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), p.tablePath(out.number)) {
		t.Errorf("got %v, want an I/O error that names the file", err)
	}
	out.discard()
	db.removeObsolete()
	if names, err := mem.List(p.dir); err != nil || len(names) > 0 {
		t.Errorf("the directory has %v, %v, want nothing", names, err)
	}
}

// TestFileFailsAtItsEnd: an output of several files ends with the error of the file that cannot be
// completed.
func TestFileFailsAtItsEnd(t *testing.T) {
	failure := &vfs.Failure{
		Fault: vfs.Fault{Err: syscall.EIO},
		Match: func(op vfs.Op) bool { return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix) },
	}
	db := mustOpen(t, vfs.Inject(vfs.NewMem(), failure.Rule))
	defer mustClose(t, db)
	p := db.partitions[mustCreate(t, db, "a")[0]]
	_, c := set("", "q", "v")
	c.Time, c.Seq = 5, 1
	out := &output{db: db, p: p, split: &compaction.Splitter{Most: 1}}
	if err := out.add([]byte("a"), true, []cell.Cell{*c}); err != nil {
		t.Fatal(err)
	}
	if err := out.add([]byte("b"), true, []cell.Cell{*c}); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), p.tablePath(out.number)) {
		t.Errorf("got %v, want an I/O error that names the file", err)
	}
	out.discard()
}

// TestFirstFileIsVerifiedWhole: one file in sixteen is verified cell by cell, which needs more
// reads.
func TestFirstFileIsVerifiedWhole(t *testing.T) {
	reads := map[string]int{}
	db := mustOpen(t, vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, manifest.TableSuffix) {
			reads[path.Base(op.Name)]++
		}
		return vfs.Fault{}
	}))
	id := mustCreate(t, db, "a")[0]
	for round := range 3 {
		for i := range 100 {
			mustPut(t, db, id, fmt.Sprintf("row%02d", i), "q", fmt.Sprint(round, strings.Repeat("v", 200)))
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, db)
	if first, second := reads[manifest.TableFile(1)], reads[manifest.TableFile(2)]; first < second+10 || second < 4 {
		t.Errorf("file 1 was read %d times, file 2 %d times; want each block of the one, the whole of the other", first, second)
	}
}

// TestDamageStopsItsRangeOnly: compactions that do not need the damaged file go on, and those that
// do are not retried for ever.
func TestDamageStopsItsRangeOnly(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	put := func(row string) {
		t.Helper()
		mustPut(t, db, id, row, "q", strings.Repeat("v", 2000))
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	mustClose(t, db)
	flip(t, fs, "store/partitions/00000001/"+manifest.TableFile(1), 20)
	var reads atomic.Int64
	opt.FS = vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRead && path.Base(op.Name) == manifest.TableFile(1) {
			reads.Add(1)
		}
		return vfs.Fault{}
	})
	if db, err = Open("store", opt); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	for range compaction.Level0Files { // in one range away from the damaged file, and in its range
		put("x")
		put("a")
	}
	p := db.partitions[id]
	eventually(db, func() bool {
		return p.damage != nil && !slices.ContainsFunc(p.version.Levels[0], func(f *manifest.File) bool { return string(f.Smallest) == "x" })
	})
	before := reads.Load()
	put("x")
	put("a")
	if now := reads.Load(); now != before {
		t.Errorf("the damaged file was read %d times more", now-before)
	}
	if _, err := read(db, id, nil); !errors.As(err, new(*CorruptError)) {
		t.Errorf("a read of all got %v, want a *CorruptError", err)
	}
	if got, err := readRow(db, id, "x"); err != nil || len(got) != compaction.Level0Files+1 {
		t.Errorf("a read beside the damage got %d cells, %v", len(got), err)
	}
	for range 2 * stopFiles { // until level 0 is full of files that cannot leave it
		var b Batch
		row, c := set("a", "q", strings.Repeat("v", 2000))
		b.Add(id, row, c)
		if _, err = db.Commit(context.Background(), &b); err != nil {
			break
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.As(err, new(*CorruptError)) {
		t.Errorf("writes to the rows of the damage got %v, want a *CorruptError in the end", err)
	}
}

// flip changes one bit of a file.
func flip(t *testing.T, fs *vfs.Mem, name string, offset int) {
	t.Helper()
	data := readAll(t, fs, name)
	data[offset] ^= 1
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}

// readRow returns the values of one row.
func readRow(db *DB, id PartitionID, row string) (values []string, err error) {
	snap, err := db.NewSnapshot(id)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	scan, err := snap.Scan(id, ScanOptions{Start: []byte(row), End: append([]byte(row), 0), Now: 1})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	for scan.NextRow() {
		for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
			for _, c := range cells {
				values = append(values, string(c.Value))
			}
		}
	}
	return values, scan.Err()
}

// TestUnreadableOutputIsWrittenAgain: a device error while a new file is verified proves no damage.
// The file is written again.
func TestUnreadableOutputIsWrittenAgain(t *testing.T) {
	failure := &vfs.Failure{Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, manifest.TableSuffix)
	}}
	opt := testOptions(vfs.Inject(vfs.NewMem(), failure.Rule))
	hurry(&opt)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 2)
	if got := contents(t, db, id); len(got) != 4 {
		t.Errorf("got %q, want 4 cells", got)
	}
	if s, _ := db.Stats(id); s.Damage != nil {
		t.Errorf("an error of the device counts as damage: %v", s.Damage)
	}
}

// TestReplaceKeepsLevelsInOrder: an edit is refused if it removes a file that does not exist or
// adds files that share a row. The partition stays as it is.
func TestReplaceKeepsLevelsInOrder(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 2)
	p := db.partitions[id]
	before := p.version
	for reason, c := range map[string]struct{ in, out []*manifest.File }{
		"not there any more": {[]*manifest.File{manifesttest.File("90[a-b]")}, []*manifest.File{manifesttest.File("91[a-b]")}},
		"order of levels":    {before.Levels[0], []*manifest.File{manifesttest.File("90[a-m]"), manifesttest.File("91[k-z]")}},
	} {
		job := &compactionJob{p: p, version: before, choice: compaction.Choice{Kind: compaction.Merge, Output: 1}}
		job.choice.Inputs[0] = c.in
		var damage *CorruptError
		if err := db.replace(job, c.out); !errors.As(err, &damage) || damage.Partition != "a" || !strings.Contains(damage.Reason, reason) {
			t.Errorf("%s: got %v", reason, err)
		}
		if p.version != before || db.Health() != nil {
			t.Errorf("%s: the version is another one, or Health is %v", reason, db.Health())
		}
	}
	if got := contents(t, db, id); len(got) != 4 {
		t.Errorf("got %q, want 4 cells", got)
	}
}
