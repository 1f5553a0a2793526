package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// unsyncedStore is a store killed between the write and the sync of a record over two partitions,
// so only the page cache has the record. Its recovery flushes both.
type unsyncedStore struct {
	opt Options
	fs  *vfs.Mem
	ids []PartitionID
}

// newUnsyncedStore returns a store with a number of other, empty partitions.
func newUnsyncedStore(t *testing.T, others int) *unsyncedStore {
	fs := vfs.NewMem()
	s := &unsyncedStore{opt: testOptions(fs)}
	s.opt.MemtableBytes, s.opt.SegmentBytes, s.opt.LogBytes = 256<<10, 512<<10, 8<<20
	s.opt.Clock = clock.NewManual(1) // the seal of an idle log would sync the record
	db, err := s.open(fs)
	if err != nil {
		t.Fatal(err)
	}
	s.ids = mustCreate(t, db, append([]string{"a", "b"}, make([]string, others)...)...)
	mustPut(t, db, s.ids[0], "old", "q", "1")
	var once sync.Once
	var b Batch
	r, c := set("row", "q", strings.Repeat("v", 200<<10))
	b.Add(s.ids[0], r, c)
	r, c = set("row", "q", strings.Repeat("v", 20<<10))
	b.Add(s.ids[1], r, c)
	fs.SetHook(func(op vfs.Op, done bool) {
		if !done && op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.SegmentFile(1)) && db.visible.Load() < db.LastSeq() {
			once.Do(func() { s.fs = fs.Clone() })
		}
	})
	if _, err := db.Commit(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	fs.SetHook(nil)
	mustClose(t, db)
	if s.fs == nil {
		t.Fatal("the record was not caught before its sync")
	}
	s.opt.MemtableBytes = 192 << 10 // less than the first segment
	return s
}

func (s *unsyncedStore) open(fs vfs.FS) (*DB, error) {
	o := s.opt
	o.FS = fs
	return Open("store", o)
}

// judge checks that both partitions have the record or neither.
func (s *unsyncedStore) judge(t *testing.T, fs vfs.FS, when string) {
	t.Helper()
	db, err := s.open(fs)
	if err != nil {
		t.Errorf("power loss %s: %v", when, err)
		return
	}
	inA, inB := len(contents(t, db, s.ids[0])) == 2, len(contents(t, db, s.ids[1])) == 1
	if inA != inB {
		t.Errorf("power loss %s: in the one partition %v, in the other %v", when, inA, inB)
	}
	mustClose(t, db)
}

// recoveries are the two ways in which recovery keeps a record whole after a flush: it flushes all
// memtables, or it copies the rest of the log. The number is that of other partitions.
var recoveries = map[string]int{"all is flushed": 0, "the largest are flushed": flushAllPartitions}

// TestSecondFaultInRecovery cuts the power at every operation of a recovery of an unsynced batch.
func TestSecondFaultInRecovery(t *testing.T) {
	for name, others := range recoveries {
		t.Run(name, func(t *testing.T) {
			s := newUnsyncedStore(t, others)
			last := lastSegment(t, s.fs)
			var images []*vfs.Mem
			var ops []string
			s.fs.SetHook(func(op vfs.Op, done bool) {
				if done {
					images, ops = append(images, s.fs.Crash(vfs.DropAll, 1)), append(ops, op.String())
				}
			})
			db, err := s.open(s.fs)
			if err != nil {
				t.Fatal(err)
			}
			s.fs.SetHook(nil)
			db.mu.Lock() // flushes go on, and remove copies
			flushed := len(db.partitions[s.ids[0]].version.Levels[0])
			current := db.log.segments[len(db.log.segments)-1].number
			db.mu.Unlock()
			if flushed == 0 {
				t.Error("recovery flushed nothing, so the test tests nothing")
			}
			if copies := current - last - 1; copies > 0 != (others > 0) {
				t.Errorf("recovery made %d copies: the log goes on with segment %d, and had %d before", copies, current, last)
			}
			mustClose(t, db)
			for i, image := range images {
				s.judge(t, image, "after "+ops[i])
			}
		})
	}
}

// lastSegment returns the highest segment number of the log.
func lastSegment(t *testing.T, fs vfs.FS) (last uint64) {
	t.Helper()
	names, err := fs.List("store/" + manifest.LogDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if number, ok := manifest.ParseName(name, "", manifest.SegmentSuffix); ok {
			last = max(last, number)
		}
	}
	return last
}

// TestFaultAndSecondFaultInRecovery fails an operation of such a recovery, then cuts the power.
func TestFaultAndSecondFaultInRecovery(t *testing.T) {
	for name, others := range recoveries {
		t.Run(name, func(t *testing.T) {
			s := newUnsyncedStore(t, others)
			for n := int64(0); ; n += stride(4) {
				fs := s.fs.Clone()
				failure := &vfs.Failure{At: n, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool { return op.Kind != vfs.OpRead }}
				db, err := s.open(vfs.Inject(fs, failure.Rule))
				if err == nil {
					db.Close()
				}
				if failure.Hits() == 0 {
					if n < 20 {
						t.Errorf("only %d operations", n)
					}
					return
				}
				s.judge(t, fs.Crash(vfs.DropAll, 1), fmt.Sprintf("after operation %d failed", n))
			}
		})
	}
}

// TestRefusedOpensLeaveNothing: repeated opens of a damaged store do not fill the disk.
func TestRefusedOpensLeaveNothing(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	for i := range 12 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 20<<10))
	}
	closeWithLog(t, db)
	d := &damagedStore{fs: fs}
	name := "store/wal/" + manifest.SegmentFile(4)
	data := readAll(t, fs, name)
	data[1000] ^= 5
	data[2000] ^= 9
	fs = d.with(t, name, data)
	before, _ := fs.List("store/wal")
	for range 3 {
		if _, err := Open("store", testOptions(fs)); err == nil {
			t.Fatal("a damaged log was opened")
		}
	}
	if after, _ := fs.List("store/wal"); len(after) > len(before) {
		t.Errorf("refused opens left files: before %v, after %v", before, after)
	}
}

// TestOpensThatFailLeaveNoFiles: opens that fail on a full disk leave no sorted files.
func TestOpensThatFailLeaveNoFiles(t *testing.T) {
	s := newUnsyncedStore(t, 0)
	for range 3 {
		failure := &vfs.Failure{At: 1, Fault: vfs.Fault{Err: syscall.ENOSPC}, Match: func(op vfs.Op) bool {
			return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix)
		}}
		if _, err := s.open(vfs.Inject(s.fs, failure.Rule)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v, want ENOSPC", err)
		}
		for _, id := range s.ids {
			if names, _ := s.fs.List("store/partitions/" + manifest.PartitionDir(uint64(id))); len(names) > 0 {
				t.Errorf("%v are left of partition %d", names, id)
			}
		}
	}
}

// TestLogStaysBounded: segments that no memtable needs are removed, although no other edit of the
// manifest is due.
func TestLogStaysBounded(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.SegmentBytes, opt.LogBytes = 64<<20, 64<<10, 512<<10
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "x", "q", strings.Repeat("v", 30<<10))
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 40<<10))
		db.mu.Lock()
		size := db.logBytesLocked()
		db.mu.Unlock()
		if size > opt.LogBytes+opt.SegmentBytes {
			t.Fatalf("after batch %d the log has %d bytes, allowed are %d", i, size, opt.LogBytes)
		}
	}
}

// TestFlushEndsWhenTheLogFails: Flush returns an error, since there are no more flushes.
func TestFlushEndsWhenTheLogFails(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "1")
	waiting := make(chan error, 1)
	db.mu.Lock()
	db.partitions[id].active.maxSeq++ // as if a batch were still being inserted
	db.mu.Unlock()
	go func() { waiting <- db.Flush(context.Background()) }()
	for {
		db.mu.Lock()
		frozen := len(db.frozen)
		if frozen > 0 {
			db.failLocked(fmt.Errorf("the log failed"))
			db.mu.Unlock()
			break
		}
		db.mu.Unlock()
	}
	if err := <-waiting; err == nil {
		t.Error("Flush says that all is flushed, though the log has failed")
	}
	db.Close()
}

// TestDroppedPartitionsLeaveNoDirectories: the directory is removed by the running store or by the
// next open.
func TestDroppedPartitionsLeaveNoDirectories(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	for range 3 {
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "1")
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := db.DropPartitions(id); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, db)
	if names, _ := fs.List("store/partitions"); len(names) > 0 {
		t.Errorf("after Close there are the directories %v", names)
	}
	if err := fs.MkdirAll("store/partitions/" + manifest.PartitionDir(2)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, fs))
	if names, _ := fs.List("store/partitions"); len(names) > 0 {
		t.Errorf("after an open there are the directories %v", names)
	}
}

// TestReadErrorInRecovery: a read error is never the end of the log. The open fails and removes
// nothing, and the next open finds everything.
func TestReadErrorInRecovery(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	for i := range 12 {
		mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 20<<10))
	}
	closeWithLog(t, db)
	for _, effect := range []vfs.Effect{vfs.None, vfs.Half} {
		for n := int64(0); ; n++ {
			image := fs.Clone()
			failure := &vfs.Failure{At: n, Fault: vfs.Fault{Err: syscall.EIO, Effect: effect}, Match: func(op vfs.Op) bool {
				return op.Kind == vfs.OpRead && strings.HasPrefix(op.Name, "store/wal/")
			}}
			db, err := Open("store", testOptions(vfs.Inject(image, failure.Rule)))
			if failure.Hits() == 0 {
				mustClose(t, db)
				if n < 5 {
					t.Errorf("only %d reads", n)
				}
				break
			}
			if !errors.Is(err, syscall.EIO) || errors.As(err, new(*CorruptError)) {
				t.Fatalf("read %d, effect %d: got %v, want the error of the device", n, effect, err)
			}
			db = mustOpen(t, image)
			if got := contents(t, db, id); len(got) != 12 {
				t.Errorf("read %d, effect %d: then %d rows of 12 are there", n, effect, len(got))
			}
			mustClose(t, db)
		}
	}
}

// TestWriteErrorInRecovery: writing a copy of the log or a flushed file fails. The open returns the
// error, not damage, and the next open finds everything.
func TestWriteErrorInRecovery(t *testing.T) {
	mem := vfs.NewMem()
	opt := testOptions(mem)
	opt.MemtableBytes, opt.SegmentBytes, opt.LogBytes = 64<<20, 8<<20, 64<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	const rows = 20
	value := strings.Repeat("v", copyBytes/rows*5/4)
	for i := range rows {
		mustPut(t, db, id, fmt.Sprintf("row%02d", i), "q", value)
	}
	few := mem.Crash(vfs.DropAll, 1)
	mustCreate(t, db, make([]string, flushAllPartitions)...)
	many := mem.Crash(vfs.DropAll, 1) // with these, recovery does not flush all memtables at once
	mustClose(t, db)
	for _, c := range []struct {
		name      string
		image     *vfs.Mem
		memtables int64 // a small limit causes flushes during recovery
		files     string
		segments  int64
		least     int64 // syncs
	}{
		{"copies", few, 64 << 20, "/wal/", 8 << 20, 4},
		{"copies in several segments", few, 64 << 20, "/wal/", 1 << 20, 6},
		{"copies before a flush", many, 1 << 20, "/wal/", 8 << 20, 6},
		{"files of some", many, 1 << 20, manifest.TableSuffix, 8 << 20, 2},
		{"files of all", few, 1 << 20, manifest.TableSuffix, 8 << 20, 2},
	} {
		opt.SegmentBytes = c.segments
		for n := int64(0); ; n += stride(5) {
			fs := c.image.Clone()
			failure := &vfs.Failure{At: n, Fault: vfs.Fault{Err: syscall.EIO}, Match: func(op vfs.Op) bool {
				return op.Kind == vfs.OpSync && strings.Contains(op.Name, c.files)
			}}
			opt.FS, opt.MemtableBytes = vfs.Inject(fs, failure.Rule), c.memtables
			db, err := Open("store", opt)
			if err == nil { // the failure comes after the open, if at all
				db.Close()
				if n < c.least {
					t.Errorf("%s: only %d syncs", c.name, n)
				}
				break
			}
			if !errors.Is(err, syscall.EIO) || errors.As(err, new(*CorruptError)) {
				t.Fatalf("%s: sync %d: got %v, want the error of the device", c.name, n, err)
			}
			db = mustOpen(t, fs.Crash(vfs.DropAll, 1))
			if got := contents(t, db, id); len(got) != rows || got[rows-1] != fmt.Sprintf("row%02d q=%s", rows-1, value) {
				t.Errorf("%s: sync %d: then %d rows of %d are there", c.name, n, len(got), rows)
			}
			mustClose(t, db)
		}
	}
}

// TestSettledLog: files have the whole log, so it starts with its last segment. Power fails before
// that segment has a batch.
func TestSettledLog(t *testing.T) {
	for _, c := range []struct {
		name string
		size int    // of the batch in that segment
		last uint64 // number of that segment
	}{
		{"the next segment", 40 << 10, 2},
		{"one after a segment that is too small", 100 << 10, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := vfs.NewMem()
			var db *DB
			var image *vfs.Mem
			name := "store/wal/" + manifest.SegmentFile(c.last)
			db, err := Open("store", testOptions(vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
				if op.Kind == vfs.OpWrite && op.Name == name && op.Offset > 0 && image == nil {
					if err := db.trimLog(); err != nil {
						t.Error(err)
					}
					image = mem.Crash(vfs.DropAll, 1)
				}
				return vfs.Fault{}
			})))
			if err != nil {
				t.Fatal(err)
			}
			id := mustCreate(t, db, "a")[0]
			mustPut(t, db, id, "early", "q", strings.Repeat("v", 40<<10)) // fills the first segment
			if err := db.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
			eventually(db, func() bool { return len(db.log.spares) > 0 })
			mustPut(t, db, id, "late", "q", strings.Repeat("v", c.size))
			mustClose(t, db)
			if image == nil {
				t.Fatalf("no batch went to %s", name)
			}
			if m, _, err := readManifest(image, "store"); err != nil || m.LogStart != c.last {
				t.Fatalf("the log begins with segment %d, %v", m.LogStart, err)
			}
			db = mustOpen(t, image)
			defer mustClose(t, db)
			if got := contents(t, db, id); len(got) != 1 {
				t.Errorf("%d rows after the loss of power, want 1", len(got))
			}
		})
	}
}

// putBoth commits a batch with a row for each partition.
func putBoth(t *testing.T, db *DB, ids []PartitionID, row string, size int) {
	t.Helper()
	var b Batch
	for _, id := range ids {
		r, c := set(row, "q", strings.Repeat("v", size))
		b.Add(id, r, c)
	}
	if _, err := db.Commit(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
}

// flushOnly flushes one partition only. Its memtable may be flushed already: range tombstones do not wait.
func flushOnly(db *DB, id PartitionID) {
	db.mu.Lock()
	defer db.mu.Unlock()
	p := db.partitions[id]
	if p.active.minSeq != 0 {
		db.freezeLocked(p)
	}
	for len(p.frozen) > 0 {
		db.background.work.Wait()
	}
}

// TestRefusedAgain: an open is refused because the log ends before a file. It has flushed what it
// read, and the next open must still be refused.
func TestRefusedAgain(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	log := db.segmentPath(db.log.current.number)
	putBoth(t, db, ids, "early", 10<<10)
	early := readAll(t, fs, log)
	putBoth(t, db, ids, "late", 1)
	flushOnly(db, ids[0])
	d := &damagedStore{fs: fs.Clone()}
	mustClose(t, db)
	opt := testOptions(d.with(t, log, early))
	opt.MemtableBytes = 16 << 10 // flushes everything
	for i := range 3 {
		if again, err := Open("store", opt); err == nil {
			t.Errorf("open %d succeeds: a has %d rows, b has %d", i, len(contents(t, again, ids[0])), len(contents(t, again, ids[1])))
			mustClose(t, again)
		}
	}
}

// TestLogLosesItsEnd: damage removes the end of the log with acknowledged batches. The files show
// that there was more.
func TestLogLosesItsEnd(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	log := db.segmentPath(db.log.current.number)
	putBoth(t, db, ids, "early", 1)
	early := readAll(t, fs, log)
	putBoth(t, db, ids, "late", 1)
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	putBoth(t, db, ids, "acknowledged", 1)
	d := &damagedStore{fs: fs.Clone()}
	mustClose(t, db)
	if err := openAndClose(d.with(t, log, early)); !errors.As(err, new(*CorruptError)) {
		t.Errorf("got %v, want that the log is damaged", err)
	}
}

// TestLogOfAnEarlierMoment: files newer than the log, as in a copy of a directory under writing,
// are refused. They would show batches in one partition only.
func TestLogOfAnEarlierMoment(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	log := db.segmentPath(db.log.current.number)
	unwritten := readAll(t, fs, log)
	putBoth(t, db, ids, "early", 1)
	early := readAll(t, fs, log)
	putBoth(t, db, ids, "late", 1)
	d := &damagedStore{fs: fs.Clone()}
	if err := openAndClose(d.with(t, log, early)); err != nil {
		t.Errorf("an earlier log, and no files: %v", err)
	}
	flushOnly(db, ids[0])
	d = &damagedStore{fs: fs.Clone()}
	mustClose(t, db)
	if err := openAndClose(d.fs.Clone()); err != nil {
		t.Errorf("log and files of one moment: %v", err)
	}
	var damage *CorruptError
	if err := openAndClose(d.with(t, log, early)); !errors.As(err, &damage) || damage.File != log || !strings.Contains(damage.Reason, "partition a has entries of batch 2") {
		t.Errorf("an earlier log: %v, want that %s is wrong", err, log)
	}
	if err := openAndClose(d.with(t, log, unwritten)); !errors.As(err, &damage) || damage.File != log || !strings.Contains(damage.Reason, "the log ends with batch 0") {
		t.Errorf("a log from before its first batch: %v, want that %s is wrong", err, log)
	}
	found := 0
	if _, err := Check(d.with(t, log, early), "store", func(*CorruptError) { found++ }); err != nil || found != 1 {
		t.Errorf("Check found %d places, %v, want 1", found, err)
	}
}

func openAndClose(fs vfs.FS) error {
	db, err := Open("store", testOptions(fs))
	if err != nil {
		return err
	}
	return db.Close()
}
