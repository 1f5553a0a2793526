package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
)

// scrubbed is a store whose clock is set by the test.
type scrubbed struct {
	fs    *vfs.Mem
	clock *clock.Manual
	db    *DB
	ids   []PartitionID
}

func newScrubbed(t *testing.T, rule func(vfs.Op) vfs.Fault) *scrubbed {
	s := &scrubbed{fs: vfs.NewMem(), clock: clock.NewManual(1)}
	opt := testOptions(vfs.Inject(s.fs, rule))
	opt.Clock = s.clock
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	s.db, s.ids = db, mustCreate(t, db, "a", "b")
	return s
}

func noFault(vfs.Op) vfs.Fault { return vfs.Fault{} }

// newBreakable returns a store whose first sorted file cannot be read while broken is set.
func newBreakable(t *testing.T) (s *scrubbed, broken *atomic.Bool) {
	broken = new(atomic.Bool)
	return newScrubbed(t, func(op vfs.Op) vfs.Fault {
		if broken.Load() && op.Kind == vfs.OpRead && path.Base(op.Name) == manifest.TableFile(1) {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	}), broken
}

// pass lets the scrubber check everything once. The clock moves in steps shorter than the time
// between two passes, so no other pass begins before it returns.
func (s *scrubbed) pass() ScrubStats {
	for before := s.db.Scrub().Passes; ; runtime.Gosched() {
		if now := s.db.Scrub(); now.Passes > before {
			return now
		}
		s.clock.Advance(firstScrub / 2)
	}
}

func TestScrubOfASoundStore(t *testing.T) {
	s := newScrubbed(t, noFault)
	defer mustClose(t, s.db)
	flushed(t, s.db, s.ids[0], 3)
	flushed(t, s.db, s.ids[1], 2)
	blocks, _ := s.db.CacheStats()
	got := s.pass()
	if got.Files < 6 || got.Bytes == 0 || got.Ended == 0 || got.Unreadable != nil {
		t.Errorf("a pass over 5 files and the manifest: %+v", got)
	}
	if damage := s.db.Damage(); damage != nil {
		t.Errorf("damage: %v", damage)
	}
	if now, _ := s.db.CacheStats(); now != blocks {
		t.Errorf("the cache had %d blocks, now %d", blocks, now)
	}
}

// TestScrubFindsDamage: damage of a sorted file is reported with its partition. Damage of manifest
// and log is repaired from memory.
func TestScrubFindsDamage(t *testing.T) {
	for _, kind := range []string{"sorted file", "manifest", "log"} {
		s := newScrubbed(t, noFault)
		flushed(t, s.db, s.ids[0], 2)
		flushed(t, s.db, s.ids[1], 2)
		for i := range 20 { // more than a segment
			mustPut(t, s.db, s.ids[1], fmt.Sprint("more", i), "q", strings.Repeat("v", 8000))
		}
		want := contents(t, s.db, s.ids[1])
		s.db.mu.Lock()
		name, partition := tableOf(s.db.partitions[s.ids[0]].version.Levels[0][0]).path, "a"
		switch kind {
		case "manifest":
			name, partition = s.db.path(manifest.FileName(s.db.manifest.Edit)), ""
		case "log":
			name, partition = s.db.segmentPath(s.db.log.segments[0].number), ""
		}
		s.db.mu.Unlock()
		flip(t, s.fs, name, 30)
		s.pass()
		damage := s.db.Damage()
		var c *CorruptError
		if len(damage) != 1 || !errors.As(damage[0], &c) || c.File != name || c.Partition != partition || c.Offset < 0 {
			t.Errorf("%s: got %v, want damage in %s", kind, damage, name)
		}
		if err := s.db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		mustClose(t, s.db)
		db := mustOpen(t, s.fs)
		if got := contents(t, db, s.ids[1]); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: after a restart partition b has %d cells, want %d", kind, len(got), len(want))
		}
		if _, err := read(db, s.ids[0], nil); (err != nil) != (kind == "sorted file") {
			t.Errorf("%s: a read of partition a: %v", kind, err)
		}
		mustClose(t, db)
	}
}

// TestScrubCannotReplaceTheManifest: on a full disk a damaged manifest stays, and the log does not
// say that it was replaced. A later pass replaces it.
func TestScrubCannotReplaceTheManifest(t *testing.T) {
	var full atomic.Bool
	var log bytes.Buffer
	fs := vfs.NewMem()
	opt := testOptions(vfs.Inject(fs, func(op vfs.Op) (f vfs.Fault) {
		if full.Load() && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Name, manifest.TempSuffix) {
			f.Err = syscall.ENOSPC
		}
		return f
	}))
	opt.Log = slog.New(slog.NewTextHandler(&log, nil))
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	mustCreate(t, db, "a")
	db.mu.Lock()
	edit := db.manifest.Edit
	db.mu.Unlock()
	flip(t, fs, db.path(manifest.FileName(edit)), 30)
	full.Store(true)
	db.scrubManifest()
	full.Store(false)
	db.scrubManifest()
	mustClose(t, db) // nothing logs any more
	const failure, success = "damaged manifest not replaced", "damaged manifest was replaced"
	text := log.String()
	if strings.Count(text, failure) != 1 || strings.Count(text, success) != 1 || strings.Index(text, failure) > strings.Index(text, success) {
		t.Errorf("the log says\n%s\nwant %q, then %q", text, failure, success)
	}
}

// TestScrubOverErrorsOfTheDevice: an unreadable file is reported until a pass can read it.
func TestScrubOverErrorsOfTheDevice(t *testing.T) {
	s, broken := newBreakable(t)
	defer mustClose(t, s.db)
	flushed(t, s.db, s.ids[0], 3)
	broken.Store(true)
	if got := s.pass(); len(got.Unreadable) != 1 || !errors.Is(got.Unreadable[0], syscall.EIO) || len(s.db.Damage()) != 1 {
		t.Errorf("got %+v and damage %v, want one file that cannot be read", got, s.db.Damage())
	}
	if _, err := read(s.db, s.ids[0], nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read got %v, want EIO", err)
	}
	broken.Store(false)
	if got := s.pass(); len(got.Unreadable) != 0 || len(s.db.Damage()) != 0 {
		t.Errorf("after that got %+v and damage %v", got, s.db.Damage())
	}
	if got := contents(t, s.db, s.ids[0]); len(got) != 6 {
		t.Errorf("after that a read got %d cells, want 6", len(got))
	}
}

// TestScrubEndsWithClose: Close wakes a scrubber that would sleep for days.
func TestScrubEndsWithClose(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	c := &sleeper{Manual: clock.NewManual(1), first: make(chan struct{}, 1), within: make(chan struct{}, 1)}
	opt.Clock, opt.ScrubBytesPerSecond = c, 1
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	<-c.first
	c.Advance(firstScrub)
	<-c.within
	mustClose(t, db)
	if _, err := (paced{strings.NewReader("not read"), db}).ReadAt(make([]byte, 3), 0); err != ErrClosed {
		t.Errorf("amid a file: got %v, want ErrClosed", err)
	}
}

// sleeper is a clock that signals when the scrubber sleeps, before its first pass and within a
// pass.
type sleeper struct {
	*clock.Manual
	first, within chan struct{}
}

func (s *sleeper) AfterFunc(d time.Duration, f func()) func() bool {
	stop := s.Manual.AfterFunc(d, f)
	asleep := s.within
	switch {
	case d == firstScrub:
		asleep = s.first
	case d < firstScrub:
		return stop // not the scrubber
	}
	select {
	case asleep <- struct{}{}:
	default:
	}
	return stop
}

// instant is a clock whose timers fire at once. It sums the pauses of the scrubber within a pass.
type instant struct {
	clock.Clock
	paused atomic.Int64
}

func (c *instant) AfterFunc(d time.Duration, f func()) func() bool {
	if d > 100*time.Millisecond && d < firstScrub {
		c.paused.Add(int64(d))
	}
	return c.Clock.AfterFunc(0, f)
}

func TestScrubIsPaced(t *testing.T) {
	const rate = 1000
	c := &instant{Clock: clock.System}
	db := &DB{opt: Options{Clock: c, ScrubBytesPerSecond: rate}}
	db.background.init(&db.mu)
	read := 0
	for i := range 1000 {
		n := i%300 + 1
		read += n
		if !db.pace(n) {
			t.Fatal("stopped")
		}
	}
	want := float64(read) / rate
	if got := time.Duration(c.paused.Load()).Seconds(); got > want || got < want-1.0/scrubSteps-1 {
		t.Errorf("%d bytes at %d a second took %v s, want %v", read, rate, got, want)
	}
	close(db.background.stop)
	if db.pace(1) || db.pace(rate) {
		t.Error("goes on after the end")
	}
}

// TestExpiredCellsGiveTheirSpaceBack: the space of expired cells and of a dropped family is
// reclaimed without a write to the partition.
func TestExpiredCellsGiveTheirSpaceBack(t *testing.T) {
	s := newScrubbed(t, noFault)
	defer mustClose(t, s.db)
	s.clock.Advance(time.Hour)
	for i := range 100 {
		for _, id := range s.ids {
			mustPut(t, s.db, id, fmt.Sprintf("row%02d", i), "q", strings.Repeat("v", 100))
		}
	}
	setPolicies := func(i int, families map[string]Policy) {
		if err := s.db.SetPolicies(s.ids[i], NewPolicies(s.db.LastSeq(), families)); err != nil {
			t.Fatal(err)
		}
	}
	setPolicies(0, map[string]Policy{"f": {GC: cell.GC{TTLSecs: 1e6 * 3600}}})
	setPolicies(1, map[string]Policy{"f": {}})
	for _, id := range s.ids {
		if err := s.db.Compact(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	size := func(i int) int64 {
		stats, err := s.db.Stats(s.ids[i])
		if err != nil {
			t.Fatal(err)
		}
		return stats.DiskBytes
	}
	s.pass()
	if size(0) == 0 || size(1) == 0 {
		t.Fatal("cells are gone before their time")
	}
	s.clock.Advance(1e6 * time.Hour)
	s.pass()
	eventually(s.db, func() bool { return s.db.partitions[s.ids[0]].version.Size(manifest.NumLevels-1) == 0 })
	if size(0) != 0 || size(1) == 0 {
		t.Errorf("the partitions take %d and %d bytes, want none for the first only", size(0), size(1))
	}
	setPolicies(1, map[string]Policy{"g": {}})
	s.pass()
	eventually(s.db, func() bool { return s.db.partitions[s.ids[1]].version.Size(manifest.NumLevels-1) == 0 })
}

func TestGarbage(t *testing.T) {
	const second = 1_000_000
	ttl := cell.GC{TTLSecs: 100}
	info := func(from, to int64, families ...string) *sstable.Info {
		return &sstable.Info{MinTime: from * second, MaxTime: to * second, MaxSeq: 5, Families: families}
	}
	p := NewPolicies(5, map[string]Policy{"ttl": {GC: ttl}, "all": {}, "both": {GC: cell.GC{TTLSecs: 100, VersionLimit: 1, Intersection: true}}})
	for _, test := range []struct {
		name string
		info *sstable.Info
		now  int64 // in seconds
		want float64
	}{
		{"fresh", info(1000, 1100, "ttl"), 1050, 0},
		{"half", info(1000, 1100, "ttl"), 1150, 0.5},
		{"all expired", info(1000, 1100, "ttl"), 1200, 1},
		{"of the future", info(1000, 9000, "ttl"), 1050, 0},
		{"kept for ever", info(1000, 1100, "all"), 9000, 0},
		{"one of two kept", info(1000, 1100, "all", "ttl"), 9000, 0},
		{"intersection", info(1000, 1100, "both"), 9000, 0},
		{"dropped family", info(1000, 1100, "old"), 1050, 1},
		{"dropped and expired", info(1000, 1100, "old", "ttl"), 9000, 1},
		{"dropped and half", info(1000, 1100, "old", "ttl"), 1150, 0.5},
		{"no age", info(0, 1100, "ttl"), 9000, 0},
		{"tombstones of rows", info(0, 0), 9000, 0},
	} {
		got := max(p.Garbage(gcContents(test.info), test.now*second), 0)
		if got < test.want-0.01 || got > test.want+0.01 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	later := info(1000, 1100, "new")
	later.MaxSeq = 6
	if got := p.Garbage(gcContents(later), 1050*second); got != 0 {
		t.Errorf("family newer than the list: %v, want 0", got)
	}
	if got := rowmerge.NoPolicies.Garbage(gcContents(info(1000, 1100, "ttl")), 9000*second); got != 0 {
		t.Errorf("no list: %v, want 0", got)
	}
}

// TestScrubLeavesOutWhatHasGone: the scrubber takes a reference to a file only while the partition
// has the file, however long ago the pass began.
func TestScrubLeavesOutWhatHasGone(t *testing.T) {
	s := newScrubbed(t, noFault)
	defer mustClose(t, s.db)
	flushed(t, s.db, s.ids[0], 2)
	flushed(t, s.db, s.ids[1], 1)
	list := s.db.filesByNumber()
	if len(list) != 3 || list[0].Number != 1 || list[2].Number != 3 {
		t.Fatalf("files %v", list)
	}
	if err := s.db.Compact(context.Background(), s.ids[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, true} {
		if got := s.db.hold(list[i]); got != want {
			t.Errorf("file %d is held: %v, want %v", list[i].Number, got, want)
		} else if got {
			tableOf(list[i]).unref(&s.db.obsolete)
		}
	}
}

// TestScrubOfAMissingFile: the scrubber opens files by name. A missing name is damage, although the
// store has the file open and could read it.
func TestScrubOfAMissingFile(t *testing.T) {
	s := newScrubbed(t, noFault)
	defer mustClose(t, s.db)
	flushed(t, s.db, s.ids[0], 2)
	name := tableOf(s.db.partitions[s.ids[0]].version.Levels[0][0]).path
	if err := s.fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	s.pass()
	var c *CorruptError
	if damage := s.db.Damage(); len(damage) != 1 || !errors.As(damage[0], &c) || c.File != name || c.Partition != "a" || !strings.Contains(c.Reason, "missing") {
		t.Errorf("got %v, want that %s is missing", damage, name)
	}
}

// TestScrubOfAStaleSegment: a finished segment of the log has an earlier content, so acknowledged
// batches are lost. The scrubber reports it, and the batches are flushed from memory.
func TestScrubOfAStaleSegment(t *testing.T) {
	s := newScrubbed(t, noFault)
	mustPut(t, s.db, s.ids[0], "row", "q", "v")
	segment := s.db.log.current
	name := s.db.segmentPath(segment.number)
	stale := readAll(t, s.fs, name)
	for i := 0; s.db.log.current == segment; i++ {
		mustPut(t, s.db, s.ids[1], fmt.Sprint("row", i), "q", strings.Repeat("v", 8000))
	}
	want := contents(t, s.db, s.ids[1])
	if err := s.fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	write(t, s.fs, name, stale)
	s.pass()
	var c *CorruptError
	if damage := s.db.Damage(); len(damage) != 1 || !errors.As(damage[0], &c) || c.File != name || c.Offset <= 0 || !strings.Contains(c.Reason, "finished") {
		t.Errorf("got %v, want that %s is not finished", damage, name)
	}
	if err := s.db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.db)
	db := mustOpen(t, s.fs)
	defer mustClose(t, db)
	if got := contents(t, db, s.ids[1]); !slices.Equal(got, want) {
		t.Errorf("after a restart got %d cells, want %d", len(got), len(want))
	}
}

// TestScrubOfWhatIsObsolete: a read error of a file that was compacted away meanwhile is not
// reported.
func TestScrubOfWhatIsObsolete(t *testing.T) {
	s, broken := newBreakable(t)
	defer mustClose(t, s.db)
	flushed(t, s.db, s.ids[0], 2)
	f := s.db.filesByNumber()[0]
	if !s.db.hold(f) {
		t.Fatal("the file is gone before its time")
	}
	if err := s.db.Compact(context.Background(), s.ids[0]); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if err := s.db.scrubFile(f); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want EIO", err)
	}
	tableOf(f).unref(&s.db.obsolete)
	if got := s.pass(); got.Unreadable != nil || s.db.Damage() != nil {
		t.Errorf("got %+v and damage %v, want none", got, s.db.Damage())
	}
}

// TestScrubOfAMissingSegment: a missing segment of the log is damage, with its name.
func TestScrubOfAMissingSegment(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	gone := &segment{number: 1000, size: 64 << 10}
	var damage *CorruptError
	if err := db.scrubSegment(gone); !errors.As(err, &damage) || damage.File != db.segmentPath(gone.number) {
		t.Errorf("got %v, want damage of %s", err, db.segmentPath(gone.number))
	}
}
