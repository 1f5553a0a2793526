package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// shelf is an archive of a log, as simple as can be.
type shelf struct {
	mu   sync.Mutex
	list []shelved
	seen uint64 // the last segment
}

type shelved struct {
	number, after, last uint64
	time                int64 // up to which it tells of all commits and drops, with those before it
	batches             []LogBatch
	partitions          []PartitionInfo
	dropped             []DroppedPartition
	next                PartitionID
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// take shelves all finished segments.
func (a *shelf) take(db *DB) error {
	for {
		l, err := db.NextLogSegment(ended, a.seen)
		if errors.Is(err, context.Canceled) {
			return nil
		} else if err != nil {
			return err
		}
		if err := a.shelve(l); err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		a.seen = l.Number
		db.ReleaseLog(l.Number)
	}
}

func (a *shelf) shelve(l *LogSegment) error {
	s := shelved{number: l.Number, after: l.After, partitions: l.Partitions, dropped: l.Dropped, next: l.NextPartition}
	if n := len(a.list); n > 0 && a.list[n-1].number == l.Number-1 {
		s.after, s.time = a.list[n-1].last, a.list[n-1].time
	} else if !l.Complete {
		return nil
	}
	s.last = s.after
	for {
		b, err := l.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if b.Seq > s.last {
			b.Payload = bytes.Clone(b.Payload)
			s.batches = append(s.batches, b)
			s.last, s.time = b.Seq, b.Time
		}
	}
	for _, d := range l.Dropped {
		if d.Segment <= l.Number {
			s.time = max(s.time, d.Time)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, s)
	return nil
}

// size returns how many segments are shelved.
func (a *shelf) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.list)
}

// first returns a shelf as it was with n segments.
func (a *shelf) first(n int) *shelf {
	b := &shelf{list: slices.Clone(a.list[:n])}
	if n > 0 {
		b.seen = b.list[n-1].number
	}
	return b
}

// base is a checkpoint: its files, and the last batch that it has.
type base struct {
	files map[string][]byte
	seq   uint64
}

func mustBase(t testing.TB, db *DB, name string) *base {
	t.Helper()
	var ids []PartitionID
	for _, p := range db.Partitions() {
		ids = append(ids, p.ID)
	}
	snap, err := db.NewSnapshot(ids...)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	files, err := snap.Checkpoint(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	b := &base{files: make(map[string][]byte), seq: snap.Seq()}
	for _, f := range files {
		b.files[f.Name] = readAll(t, db.opt.FS, path.Join(db.CheckpointPath(name), f.Name))
	}
	if err := db.RemoveCheckpoint(name); err != nil {
		t.Fatal(err)
	}
	return b
}

// copyTo makes the files of a base a directory.
func (b *base) copyTo(t testing.TB, fs vfs.FS, dir string) {
	t.Helper()
	for name, data := range b.files {
		name = path.Join(dir, name)
		if err := fs.MkdirAll(path.Dir(name)); err != nil {
			t.Fatal(err)
		}
		f, err := fs.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(data)
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		for at := path.Dir(name); ; at = path.Dir(at) {
			if err := fs.SyncDir(at); err != nil {
				t.Fatal(err)
			}
			if at == "." {
				break
			}
		}
	}
	fs.MkdirAll(path.Join(dir, manifest.PartitionsDir))
	if err := fs.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// forever is later than any commit.
const forever = math.MaxInt64

// extend brings a copy of a base to a time.
func (a *shelf) extend(fs vfs.FS, dir string, b *base, until int64) error {
	r, err := NewRestoration(fs, dir)
	if err != nil {
		return err
	}
	p, err := a.replay(r, b, until)
	if err != nil {
		r.Abandon()
		return err
	}
	return r.Finish(p, bytes.NewReader([]byte("timeline")))
}

func (a *shelf) replay(r *Restoration, b *base, until int64) (p Restored, err error) {
	p.Dropped = make(map[PartitionID]bool)
	i := slices.IndexFunc(a.list, func(s shelved) bool { return s.last >= b.seq })
	if i < 0 || a.list[i].after > b.seq {
		return p, fmt.Errorf("nothing goes on behind batch %d", b.seq)
	}
	for k, s := range a.list[i:] {
		if k > 0 && s.number != a.list[i+k-1].number+1 {
			return p, fmt.Errorf("segment %d comes after %d", s.number, a.list[i+k-1].number)
		}
		p.Created, p.NextPartition = append(p.Created, s.partitions...), max(p.NextPartition, s.next)
		for _, d := range s.dropped {
			p.Created = append(p.Created, PartitionInfo{ID: d.ID, Name: d.Name})
			p.Dropped[d.ID] = p.Dropped[d.ID] || d.Time <= until
		}
		for _, batch := range s.batches {
			if batch.Time > until {
				break
			}
			if err := r.Add(batch.Seq, batch.Payload); err != nil {
				return p, err
			}
		}
		if s.time >= until {
			break
		}
	}
	return p, nil
}

// restore returns a store as of a time, opened.
func (a *shelf) restore(t testing.TB, b *base, until int64) *DB {
	t.Helper()
	fs := vfs.NewMem()
	b.copyTo(t, fs, "restored")
	if err := a.extend(fs, "restored", b, until); err != nil {
		t.Fatalf("restore to %d: %v", until, err)
	}
	if _, err := Check(fs, "restored", func(e *CorruptError) { t.Errorf("check of a restored store: %v", e) }); err != nil {
		t.Fatal(err)
	}
	db, err := Open("restored", crashOptions(fs.Crash(vfs.DropAll, 1))) // what was written is durable
	if err != nil {
		t.Fatalf("open of a store restored to %d: %v", until, err)
	}
	return db
}

func archivedOptions(fs vfs.FS) Options {
	opt := crashOptions(fs)
	opt.ArchiveLog = true
	return opt
}

// TestRestoreToAnyTime: batches are written, partitions created and dropped, the store is flushed, closed, killed and
// opened again, all at random, while its log is archived. A checkpoint and the archive give back what was there at any
// time, with the partitions of that time.
func TestRestoreToAnyTime(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testRestoreToAnyTime(t, seed) })
	}
}

// life is when a partition was created and dropped: no commit is at the same time.
type life struct {
	name     string
	from, to int64
	first    int64 // the commit that wrote its row
}

func testRestoreToAnyTime(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	fs := vfs.NewMem()
	db, err := Open("store", archivedOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	w, archive := &workload{}, new(shelf)
	w.ids = mustCreate(t, db, "a", "b", "c")
	var times []int64 // of the commits
	lives := make(map[PartitionID]*life)
	bases := []*base{mustBase(t, db, "first")}
	for len(times) < 300 {
		switch at := rnd.IntN(100); {
		case at < 75:
			c, err := db.Commit(ctx, w.batch(int64(len(times))))
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, c.Time)
		case at < 80:
			if err := db.FinishLogSegment(); err != nil {
				t.Fatal(err)
			}
		case at < 85:
			if err := archive.take(db); err != nil {
				t.Fatal(err)
			}
		case at < 88:
			name := fmt.Sprint("extra", len(lives))
			id := mustCreate(t, db, name)[0]
			l := &life{name: name, from: db.LastTime(), to: forever}
			lives[id] = l
			var b Batch
			r, c := set("row", "q", name)
			b.Add(id, r, c)
			if rnd.IntN(3) > 0 {
				done, err := db.Commit(ctx, &b)
				if err != nil {
					t.Fatal(err)
				}
				l.first = done.Time
			}
		case at < 91:
			for id, l := range lives {
				if l.to == forever {
					before := db.LastTime()
					if err := db.DropPartitions(id); err != nil {
						t.Fatal(err)
					}
					if l.to = db.LastTime(); l.to <= before {
						t.Fatalf("a drop has the time %d, a commit before it %d", l.to, before)
					}
					break
				}
			}
		case at < 93:
			if err := db.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		case at < 95:
			bases = append(bases, mustBase(t, db, fmt.Sprint("later", len(bases))))
		default:
			switch image := fs.Crash(vfs.DropAll, rnd.Uint64()); rnd.IntN(3) {
			case 0:
				mustClose(t, db)
			case 1:
				closeWithLog(t, db)
			default:
				mustClose(t, db)
				fs = image
			}
			if db, err = Open("store", archivedOptions(fs)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(db.FinishLogSegment(), archive.take(db)); err != nil {
		t.Fatal(err)
	}
	check := func(b *base, until int64) {
		t.Helper()
		n := int64(len(times))
		if until < forever {
			i, _ := slices.BinarySearch(times, until+1)
			n = int64(i)
		}
		got := archive.restore(t, b, until)
		defer mustClose(t, got)
		if _, err := w.holds(t, got, n, n); err != nil {
			t.Errorf("restored behind batch %d to %d: %v", b.seq, until, err)
		}
		there := make(map[PartitionID]string)
		for _, p := range got.Partitions() {
			there[p.ID] = p.Name
		}
		for id, l := range lives {
			gone := l.to <= until && l.to < forever
			if there[id] != l.name && l.from <= until && !gone || there[id] != "" && gone {
				t.Errorf("restored behind batch %d to %d: partition %d is %q, %+v", b.seq, until, id, there[id], *l)
			}
			if there[id] != "" {
				if got := contents(t, got, id); len(got) > 0 != (l.first != 0 && l.first <= until) {
					t.Errorf("restored behind batch %d to %d: partition %d has %q, %+v", b.seq, until, id, got, *l)
				}
			}
		}
		if got.Timeline() == db.Timeline() {
			t.Error("a restored store has the timeline of the old one")
		}
		if id := mustCreate(t, got, "next")[0]; lives[id] != nil && until == forever {
			t.Errorf("the id %d of a partition is given out again", id)
		}
	}
	for range 8 {
		b := bases[rnd.IntN(len(bases))]
		check(b, forever)
		snapped := archive.timeOf(b.seq) // it cannot be restored to an earlier time
		later, _ := slices.BinarySearch(times, snapped)
		if later < len(times) {
			at := times[later+rnd.IntN(len(times)-later)]
			check(b, at)
			check(b, max(at-1, snapped))
		}
		for _, l := range lives {
			if l.to < forever && l.to > snapped {
				check(b, l.to)
				check(b, l.to-1)
				break
			}
		}
	}
	mustClose(t, db)
}

// timeOf returns the time of a batch, or of the first one after it.
func (a *shelf) timeOf(seq uint64) int64 {
	for _, s := range a.list {
		for _, b := range s.batches {
			if b.Seq >= seq {
				return b.Time
			}
		}
	}
	return forever
}

// TestCrashWhileTheLogIsArchived: after a crash at any operation, what was shelved before and what is shelved after
// are together what the store has.
func TestCrashWhileTheLogIsArchived(t *testing.T) {
	type crashed struct {
		image
		shelved int
	}
	fs := vfs.NewMem()
	db, err := Open("store", archivedOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w, archive := &workload{ids: mustCreate(t, db, "a", "b", "c")}, new(shelf)
	b := mustBase(t, db, "base")
	var mu sync.Mutex
	var images []crashed
	rnd := rand.New(rand.NewPCG(7, 0))
	fs.SetHook(func(op vfs.Op, done bool) {
		mu.Lock()
		defer mu.Unlock()
		n, acked, attempted := archive.size(), w.acked.Load(), w.attempted.Load()
		model := []vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.SizeNoData, vfs.Garbage}[rnd.IntN(5)]
		im := image{fs.Crash(model, rnd.Uint64()), fmt.Sprint(model), fmt.Sprintf("%v done=%v", op, done), acked, attempted}
		if archive.size() == n { // else it may have come before, or after
			images = append(images, crashed{im, n})
		}
	})
	for n := int64(0); n < 60; n += 4 {
		if err := w.run(db, n, n+4); err != nil {
			t.Fatal(err)
		}
		if n%3 == 0 {
			if err := db.FinishLogSegment(); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.take(db); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, db)
	if db, err = Open("store", archivedOptions(fs)); err != nil {
		t.Fatal(err)
	}
	if err := archive.take(db); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	fs.SetHook(nil)
	for i := int64(0); i < int64(len(images)); i += 2 * stride(4) {
		im := images[i]
		if err := surviveArchived(t, w, im.image, archive.first(im.shelved), b, uint64(i)); err != nil {
			t.Errorf("image %d of %d: %s after %s: %v", i, len(images), im.model, im.op, err)
		}
	}
}

// surviveArchived opens an image, perhaps crashes again, archives what is left, and compares what is restored.
func surviveArchived(t *testing.T, w *workload, im image, archive *shelf, b *base, seed uint64) error {
	fs := im.fs
	open := func() (*DB, error) {
		opt := archivedOptions(fs)
		if seed%2 == 1 {
			opt.MemtableBytes = 12 << 10
		}
		return Open("store", opt)
	}
	db, err := open()
	if err != nil {
		return err
	}
	if seed%3 > 0 { // power fails right after the open
		fs = fs.Crash([]vfs.Model{vfs.DropAll, vfs.Garbage, vfs.Subset}[seed%3], seed)
		mustClose(t, db)
		if db, err = open(); err != nil {
			return err
		}
	}
	defer db.Close()
	have, err := w.holds(t, db, im.acked, im.attempted)
	if err != nil {
		return err
	}
	if err := (&workload{ids: w.ids}).run(db, have, have+3); err != nil {
		return err
	}
	if err := errors.Join(db.FinishLogSegment(), archive.take(db)); err != nil {
		return err
	}
	got := archive.restore(t, b, forever)
	defer got.Close()
	_, err = w.holds(t, got, have+3, have+3)
	return err
}

// TestUnsyncedBatchIsArchived: the sync of a batch fails, but the next process reads it, and keeps it. Power fails before
// its segment is archived, and takes it from there. The archive gets it nevertheless.
func TestUnsyncedBatchIsArchived(t *testing.T) {
	mem := vfs.NewMem()
	var broken bool
	fs := vfs.Inject(mem, func(op vfs.Op) (f vfs.Fault) {
		if broken && op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.SegmentSuffix) {
			f.Err = syscall.EIO
		}
		return f
	})
	opt := archivedOptions(fs)
	opt.MemtableBytes, opt.LogBytes = 1<<20, 1<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	w, archive := &workload{ids: mustCreate(t, db, "a", "b", "c")}, new(shelf)
	b := mustBase(t, db, "base")
	if err := errors.Join(w.run(db, 0, 50), db.FinishLogSegment(), archive.take(db), w.run(db, 50, 60)); err != nil {
		t.Fatal(err)
	}
	broken = true
	var unknown *UnknownError
	if err := w.run(db, 60, 61); !errors.As(err, &unknown) {
		t.Fatalf("a batch that is not synced: %v", err)
	}
	db.Close()
	opt.FS, opt.MemtableBytes = mem, 12<<10 // less than the log: without an archive all would be flushed
	if db, err = Open("store", opt); err != nil {
		t.Fatal(err)
	}
	have, err := w.holds(t, db, 60, 61)
	if err != nil || have != 61 {
		t.Fatalf("the next process has %d batches, %v, want the one that was not synced, too", have, err)
	}
	opt.FS = mem.Crash(vfs.DropAll, 1)
	mustClose(t, db)
	if db, err = Open("store", opt); err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	if err := errors.Join(db.FinishLogSegment(), archive.take(db)); err != nil {
		t.Fatal(err)
	}
	got := archive.restore(t, b, forever)
	defer mustClose(t, got)
	if _, err := w.holds(t, got, 61, 61); err != nil {
		t.Error(err)
	}
}

// TestRestorationOverAnyError: any one operation of a restoration fails. Then there is an error.
func TestRestorationOverAnyError(t *testing.T) {
	db, err := Open("store", archivedOptions(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	w, archive := &workload{ids: mustCreate(t, db, "a", "b", "c")}, new(shelf)
	b := mustBase(t, db, "base")
	if err := errors.Join(w.run(db, 0, 100), db.FinishLogSegment(), archive.take(db)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	for at := int64(0); ; at++ {
		mem := vfs.NewMem()
		b.copyTo(t, mem, "restored")
		failure := &vfs.Failure{At: at, Fault: vfs.Fault{Err: syscall.EIO}}
		err := archive.extend(vfs.Inject(mem, failure.Rule), "restored", b, forever)
		if failure.Hits() == 0 {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if err == nil {
			opened, err := Open("restored", crashOptions(mem)) // the failure was that of an attempt to clean up
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.holds(t, opened, 100, 100); err != nil {
				t.Errorf("operation %d: no error, but %v", at, err)
			}
			mustClose(t, opened)
		} else if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v, want the error of the device", at, err)
		}
	}
}

// TestRestorationRefuses what is no store, no batch, and a source of randomness that has none.
func TestRestorationRefuses(t *testing.T) {
	fs := vfs.NewMem()
	fs.MkdirAll("empty")
	if _, err := NewRestoration(fs, "empty"); err == nil || !strings.Contains(err.Error(), "no manifest") {
		t.Errorf("an empty directory: %v", err)
	}
	db := mustOpen(t, fs)
	b := mustBase(t, db, "base")
	mustClose(t, db)
	b.copyTo(t, fs, "restored")
	r, err := NewRestoration(fs, "restored")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(r.LastSeq()+1, []byte("no batch at all")); err == nil {
		t.Error("it takes what is no batch")
	}
	if err := r.Finish(Restored{}, bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("without randomness: %v", err)
	}
	if _, err := BatchTime([]byte{1}); err == nil {
		t.Error("a batch of a byte has a time")
	}
	if r, err = NewRestoration(fs, "restored"); err != nil {
		t.Fatal(err)
	}
	bad := Restored{Created: []PartitionInfo{{ID: math.MaxUint64}}} // the next one would be 0
	if err := r.Finish(bad, zeros{}); err == nil {
		t.Error("it makes a manifest that contradicts itself")
	}
}

// TestKeptPartitions: a restoration can leave out partitions.
func TestKeptPartitions(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	mustPut(t, db, ids[0], "row", "q", "v")
	b := mustBase(t, db, "base")
	mustClose(t, db)
	b.copyTo(t, fs, "restored")
	r, err := NewRestoration(fs, "restored")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Finish(Restored{Keep: func(id PartitionID) bool { return id == ids[0] }}, zeros{}); err != nil {
		t.Fatal(err)
	}
	got, err := Open("restored", testOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, got)
	if list := got.Partitions(); len(list) != 1 || list[0].ID != ids[0] || got.Timeline() == 0 {
		t.Errorf("partitions %v, timeline %d", list, got.Timeline())
	}
	if got := contents(t, got, ids[0]); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// segmentFiles returns the numbers of the segments in the directory of the log.
func segmentFiles(t testing.TB, fs vfs.FS) (list []uint64) {
	t.Helper()
	names, err := fs.List("store/wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if n, ok := manifest.ParseName(name, "", manifest.SegmentSuffix); ok {
			list = append(list, n)
		}
	}
	return list
}

// TestSegmentsAreHeld until they are released, over a close and an open; without the option they go.
func TestSegmentsAreHeld(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.ArchiveLog = true
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	for range 5 {
		mustPut(t, db, id, "row", "q", strings.Repeat("v", 40<<10))
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if m := db.Metrics(); m.LogHeldBytes == 0 {
		t.Error("no bytes are held")
	}
	mustClose(t, db)
	if got := segmentFiles(t, fs); len(got) < 6 || got[0] != 1 {
		t.Fatalf("after a close the segments are %d", got)
	}
	if db, err = Open("store", opt); err != nil {
		t.Fatal(err)
	}
	l, err := db.NextLogSegment(context.Background(), 0)
	if err != nil || l.Number != 1 {
		t.Fatalf("the first segment: %+v, %v", l, err)
	}
	if b, err := l.Next(); err != nil || b.Time != l.Begun() || !l.Complete || l.After != b.Seq-1 {
		t.Errorf("batch %d at %d, %v; begun at %d, after %d", b.Seq, b.Time, err, l.Begun(), l.After)
	}
	l.Close()
	db.ReleaseLog(3)
	db.removeObsolete()
	if got := segmentFiles(t, fs); got[0] != 4 {
		t.Errorf("after a release of 3 the segments are %d", got)
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	mustClose(t, db)
	if got := segmentFiles(t, fs); len(got) != 1 {
		t.Errorf("without an archive the segments are %d", got)
	}
}

// TestFinishLogSegment: a segment with batches is finished, by a log that is idle and by one that is not; one without
// is not. Segments that are finished early become small.
func TestFinishLogSegment(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.ArchiveLog, opt.SegmentBytes, opt.LogBytes = true, 16<<20, 128<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	number := func() uint64 {
		db.mu.Lock()
		defer db.mu.Unlock()
		return db.log.current.number
	}
	finish := func(want uint64) {
		t.Helper()
		before := number()
		if err := db.FinishLogSegment(); err != nil {
			t.Fatal(err)
		}
		if got := number() - before; got != want {
			t.Errorf("%d segments were finished, want %d", got, want)
		}
	}
	finish(0)
	for range 10 {
		mustPut(t, db, id, "row", "q", "v")
		if at := db.Unarchived(number() - 1); at == 0 || at > db.opt.Clock.Elapsed() {
			t.Errorf("the first commit that is not archived came at %v", at)
		}
		finish(1)
		finish(0)
		if at := db.Unarchived(number() - 1); at != 0 {
			t.Errorf("all is finished, but a commit at %v is not archived", at)
		}
	}
	other := mustCreate(t, db, "b")[0]
	finish(0)
	if err := db.DropPartitions(other); err != nil {
		t.Fatal(err)
	}
	finish(1) // it tells of the drop
	db.mu.Lock()
	for _, s := range db.log.segments {
		if s.size > 2*firstSegment {
			t.Errorf("segment %d has %d bytes", s.number, s.size)
		}
	}
	db.mu.Unlock()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					mustPut(t, db, id, "row", "q", "v")
				}
			}
		})
	}
	for range 20 {
		for db.Unarchived(number()-1) == 0 {
			runtime.Gosched()
		}
		if err := db.FinishLogSegment(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	writers.Wait()
}

// TestFinishLogSegmentOfAStoreThatTakesNoWrites says why.
func TestFinishLogSegmentOfAStoreThatTakesNoWrites(t *testing.T) {
	mem := vfs.NewMem()
	failure := &vfs.Failure{At: 0, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
		return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.SegmentSuffix)
	}}
	var broken bool
	fs := vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if !broken {
			return vfs.Fault{}
		}
		return failure.Rule(op)
	})
	opt := testOptions(fs)
	opt.ArchiveLog, opt.Clock = true, clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	eventually(db, func() bool { return len(db.log.spares) > 0 && !db.leading })
	broken = true
	var readOnly *ReadOnlyError
	if err := db.FinishLogSegment(); !errors.As(err, &readOnly) {
		t.Errorf("the sync of the final seal fails: %v", err)
	}
	if err := db.FinishLogSegment(); !errors.As(err, &readOnly) {
		t.Errorf("the store is read-only: %v", err)
	}
	db.Close()
	if err := db.FinishLogSegment(); !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed: %v", err)
	}
	if _, err := db.NextLogSegment(context.Background(), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("the store is closed: %v", err)
	}
}

// TestFinishLogSegmentWithoutRoom for the next segment says why, and so does it when the store has failed.
func TestFinishLogSegmentWithoutRoom(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.ArchiveLog, opt.ReserveBytes, opt.Clock = true, 1<<20, clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	eventually(db, func() bool { return len(db.log.spares) > 0 && !db.leading && !db.diskReserve.checking })
	free, _ := fs.FreeSpace("store")
	fs.SetCapacity(1<<40 - int64(free) + 1<<20 + 100)
	db.mu.Lock()
	spare := db.log.spares[0]
	db.log.spares, db.background.logBackoff.waiting = nil, true
	db.mu.Unlock()
	if err := db.FinishLogSegment(); !errors.Is(err, ErrDiskFull) {
		t.Errorf("without room: %v", err)
	}
	db.mu.Lock()
	db.failLocked(errors.New("broken"))
	db.mu.Unlock()
	var readOnly *ReadOnlyError
	if err := db.FinishLogSegment(); !errors.As(err, &readOnly) {
		t.Errorf("after a failure: %v", err)
	}
	spare.w.Close()
	db.Close()
}

// TestShortBatchIsDamage: a record that cannot be a batch is reported as one.
func TestShortBatchIsDamage(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.ArchiveLog = true
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	if err := db.FinishLogSegment(); err != nil {
		t.Fatal(err)
	}
	name := db.segmentPath(1)
	size, _ := fs.Stat(name)
	fs.Remove(name)
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := wal.NewSingleSyncWriter(f, wal.Header{Store: db.store, Number: 1, Size: size})
	w.Append(1, []byte("short"))
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	l, err := db.NextLogSegment(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var corrupt *CorruptError
	if _, err := l.Next(); !errors.As(err, &corrupt) {
		t.Errorf("got %v, want damage", err)
	}
}

// TestNextLogSegmentWaits for a segment, and ends with the DB.
func TestNextLogSegmentWaits(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.ArchiveLog = true
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	next := make(chan *LogSegment)
	var last error
	go func() {
		defer close(next)
		for after := uint64(0); ; {
			var l *LogSegment
			if l, last = db.NextLogSegment(context.Background(), after); last != nil {
				return
			}
			after = l.Number
			next <- l
		}
	}()
	mustPut(t, db, id, "row", "q", "v")
	if err := db.FinishLogSegment(); err != nil {
		t.Fatal(err)
	}
	l := <-next
	if b, err := l.Next(); err != nil || b.Seq != 1 {
		t.Errorf("got batch %d, %v", b.Seq, err)
	}
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	l.Close()
	mustClose(t, db)
	for l := range next {
		l.Close()
	}
	if !errors.Is(last, ErrClosed) {
		t.Errorf("at the end: %v", last)
	}
}

// TestDamagedSegmentIsReported with its number, so that an archive can go on behind it.
func TestDamagedSegmentIsReported(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.ArchiveLog, opt.SegmentBytes = true, 4<<10
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	for i := range 20 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 1000))
	}
	damage := func(n uint64, at int) {
		name := db.segmentPath(n)
		data := bytes.Clone(readAll(t, fs, name))
		data[at] ^= 1
		fs.Remove(name)
		f, err := fs.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(data)
		f.Close()
	}
	damage(1, 20)   // in the header
	damage(2, 200)  // in the first batch
	damage(3, 1500) // in the second
	var corrupt *CorruptError
	for n := uint64(1); n <= 3; n++ {
		l, err := db.NextLogSegment(context.Background(), n-1)
		if l == nil || l.Number != n {
			t.Fatalf("segment %d: got %+v, %v", n, l, err)
		}
		for err == nil {
			_, err = l.Next()
		}
		if !errors.As(err, &corrupt) || corrupt.File != db.segmentPath(n) {
			t.Errorf("segment %d: got %v, want damage", n, err)
		}
		if l.file != nil {
			l.Close()
		}
	}
	fs.Remove(db.segmentPath(4))
	if _, err := db.NextLogSegment(context.Background(), 3); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("a segment is missing: %v", err)
	}
	db.ReleaseLog(100)
	db.Close()
}

// TestHeldSegmentsAreGivenUp before a commit is refused for want of room, whether a check finds that there is little, or a
// new segment has none. The archive has a gap.
func TestHeldSegmentsAreGivenUp(t *testing.T) {
	const reserve = 1 << 20
	for _, c := range []struct {
		name string
		room int64 // beside the reserve
		meet func(db *DB) error
	}{
		{"check", -1, func(db *DB) error { db.checkFreeSpace(); return nil }},
		{"segment", 100, func(db *DB) error { return db.prepareSegment(int(db.opt.SegmentBytes)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			opt := archivedOptions(fs)
			opt.ReserveBytes, opt.LogBytes = reserve, 1<<20
			db, err := Open("store", opt)
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, db)
			w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
			if err := errors.Join(w.run(db, 0, 100), db.Flush(context.Background()), db.trimLog()); err != nil {
				t.Fatal(err)
			}
			eventually(db, func() bool { return !db.diskReserve.checking })
			held := func() int {
				db.mu.Lock()
				defer db.mu.Unlock()
				return len(db.archive.held)
			}
			before := held()
			if before == 0 {
				t.Fatal("nothing is held")
			}
			free, _ := fs.FreeSpace("store")
			fs.SetCapacity(1<<40 - int64(free) + reserve + c.room)
			if err := c.meet(db); err != nil {
				t.Errorf("with %d bytes beside the reserve: %v", c.room, err)
			}
			for n := int64(100); held() > 0; n++ {
				if err := w.run(db, n, n+1); err != nil {
					t.Fatalf("%d segments are held, and a commit fails: %v", held(), err)
				}
			}
			if err := db.Health(); err != nil {
				t.Errorf("with room again: %v", err)
			}
			fs.SetCapacity(1 << 40)
			if err := errors.Join(w.run(db, 1000, 1001), db.FinishLogSegment()); err != nil {
				t.Fatal(err)
			}
			l, err := db.NextLogSegment(context.Background(), 0)
			if err != nil || l.Number < uint64(before) {
				t.Errorf("the first segment is %+v, %v; %d were held", l, err, before)
			}
			l.Close()
		})
	}
}

// TestFinishLogSegmentTogether: who finishes a segment beside others can read it, also if the context has ended.
func TestFinishLogSegmentTogether(t *testing.T) {
	db, err := Open("store", archivedOptions(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	previous := uint64(0)
	for range 200 {
		mustPut(t, db, id, "row", "q", "v")
		seq := db.LastSeq()
		errs := make([]error, 2)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() {
				if errs[i] = db.FinishLogSegment(); errs[i] == nil && !archivable(db, ended, previous, seq) {
					errs[i] = errors.New("the batch is in no finished segment")
				}
			})
		}
		calls.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		previous = finishedUpTo(db)
	}
}

// TestFinishLogSegmentThatIsBegun: a call that finds the next segment begun returns when the one before it is finished.
func TestFinishLogSegmentThatIsBegun(t *testing.T) {
	db, err := Open("store", archivedOptions(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	mustPut(t, db, mustCreate(t, db, "a")[0], "row", "q", "v")
	db.mu.Lock()
	for len(db.log.spares) == 0 {
		p, _ := db.startPreparingLocked(0)
		db.mu.Unlock()
		<-p.done
		if p.err != nil {
			t.Fatal(p.err)
		}
		db.mu.Lock()
	}
	db.log.takeSpareLocked() // as a call does that has not come to finishSegment yet
	db.mu.Unlock()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.FinishLogSegment(); err != nil || !archivable(db, ended, 0, db.LastSeq()) {
		t.Errorf("got %v; the batch has to be in a finished segment", err)
	}
}

// archivable reports whether a batch is in a finished segment above after.
func archivable(db *DB, ctx context.Context, after, seq uint64) bool {
	for {
		s, err := db.NextLogSegment(ctx, after)
		if s == nil || err != nil {
			return false
		}
		after = s.Number
		for b, err := s.Next(); err == nil; b, err = s.Next() {
			if b.Seq == seq {
				s.Close()
				return true
			}
		}
		s.Close()
	}
}

// finishedUpTo returns the number of the last finished segment, and releases those up to it.
func finishedUpTo(db *DB) uint64 {
	db.mu.Lock()
	n := db.log.current.number - 1
	db.mu.Unlock()
	db.ReleaseLog(n)
	return n
}
