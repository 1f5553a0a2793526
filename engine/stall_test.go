package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestStuckFlush: while memtables are full and no flush ends, writers are refused within their time
// and reads go on. After the flush, writes go on.
func TestStuckFlush(t *testing.T) {
	d := newSlowDisk(t, func(op vfs.Op) bool { return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix) })
	defer mustClose(t, d.db)
	d.db.mu.Lock()
	d.db.opt.SyncTimeout = 1000 * time.Hour // the log is not slow
	d.db.mu.Unlock()
	d.armed.Store(true)
	n := 0
	put := func() error {
		var b Batch
		r, c := set(fmt.Sprintf("row%03d", n), "q", strings.Repeat("v", 30<<10))
		b.Add(d.id, r, c)
		done := make(chan error, 1)
		go func() {
			_, err := d.db.Commit(context.Background(), &b)
			done <- err
		}()
		for {
			select {
			case err := <-done:
				return err
			default:
				d.pass(d.db.opt.StallTimeout / 4)
			}
		}
	}
	for d.db.memTableBytes.Load() < d.db.opt.MemtableBytes {
		if err := put(); err != nil && !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		} else if err == nil {
			n++
		}
	}
	for range 3 {
		if err := put(); !errors.Is(err, ErrOverloaded) {
			t.Errorf("with full memtables: got %v, want ErrOverloaded", err)
		}
	}
	if over := d.db.memTableBytes.Load() - d.db.opt.MemtableBytes; over > 64<<10 {
		t.Errorf("memtables hold %d bytes more than they may", over)
	}
	if got := contents(t, d.db, d.id); len(got) != n {
		t.Errorf("got %d rows, want the %d that were written", len(got), n)
	}
	d.armed.Store(false)
	close(d.release)
	if err := d.db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := put(); err != nil {
		t.Errorf("after the flush: %v", err)
	}
}

// TestMemtableBoundaries: a batch that fills a memtable exactly, exceeds it, or exceeds the bound
// of all memtables is stored like any other.
func TestMemtableBoundaries(t *testing.T) {
	const budget = 64 << 10
	for _, size := range []int{budget / 2, budget, 3 * budget} {
		for delta := -200; delta <= 200; delta += 25 {
			fs := vfs.NewMem()
			opt := testOptions(fs)
			opt.MemtableBytes = budget
			db, err := Open("store", opt)
			if err != nil {
				t.Fatal(err)
			}
			id := mustCreate(t, db, "a")[0]
			for i := range 3 {
				mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", size+delta))
			}
			opt.FS = fs.Crash(vfs.DropAll, 1)
			mustClose(t, db)
			if db, err = Open("store", opt); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, db, id); len(got) != 3 || len(got[2]) < size+delta {
				t.Errorf("values of %d bytes: %d rows of 3 are there", size+delta, len(got))
			}
			mustClose(t, db)
		}
	}
}

// TestIdlePartitionDoesNotKeepTheLog: a partition with one old write is flushed before its segment
// makes the log exceed its bound.
func TestIdlePartitionDoesNotKeepTheLog(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.MemtableBytes, opt.SegmentBytes, opt.LogBytes = 64<<20, 64<<10, 512<<10
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, "idle", "busy")
	mustPut(t, db, ids[0], "row", "q", "v")
	for i := range 100 {
		mustPut(t, db, ids[1], fmt.Sprint("row", i%7), "q", strings.Repeat("v", 40<<10))
		db.mu.Lock()
		size := db.logBytesLocked()
		db.mu.Unlock()
		if size > opt.LogBytes+opt.SegmentBytes {
			t.Fatalf("after batch %d the log has %d bytes, allowed are %d", i, size, opt.LogBytes)
		}
	}
	if db.partitions[ids[0]].oldestSeq(nil) != 0 {
		t.Error("the idle partition has not been flushed")
	}
}

// signalled is a clock that reports timers shorter than those of seals: those of a delayed Commit.
type signalled struct {
	clock.Clock
	slowed func(time.Duration)
}

func (s signalled) AfterFunc(d time.Duration, f func()) func() bool {
	stop := s.Clock.AfterFunc(d, f)
	if d < sealDelay {
		s.slowed(d)
	}
	return stop
}

// TestContextEndsTheDelay: a cancelled context ends the delay of a Commit to a partition with many
// files. The Commit writes nothing.
func TestContextEndsTheDelay(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opt := testOptions(vfs.NewMem())
	opt.Clock = signalled{clock.NewManual(1), func(time.Duration) { cancel() }}
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	db.mu.Lock()
	db.partitions[id].compactionStopped = true // no compaction
	db.mu.Unlock()
	flushed(t, db, id, slowdownFiles)
	before, last := contents(t, db, id), db.LastSeq()
	var b Batch
	r, c := set("late", "q", strings.Repeat("v", 100<<10)) // a small batch would not wait yet
	b.Add(id, r, c)
	if _, err := db.Commit(ctx, &b); !errors.Is(err, context.Canceled) || errors.As(err, new(*UnknownError)) {
		t.Errorf("got %v, want the error of the context alone", err)
	}
	if got := contents(t, db, id); db.LastSeq() != last || len(got) != len(before) {
		t.Errorf("got %d cells after batch %d, want the %d after batch %d", len(got), db.LastSeq(), len(before), last)
	}
}

// TestAboveMuch: a large partition may have more files in level 0 before its writers are slowed
// down, its compactions use more CPUs, and its writers stop.
func TestAboveMuch(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	value := make([]byte, 100<<10)
	for i := range 30 { // 3 MB, with a memtable budget of 1 MiB
		rand.NewChaCha8([32]byte{byte(i)}).Read(value)
		mustPut(t, db, id, fmt.Sprint("row", i), "q", string(value))
	}
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	var large Batch
	r, c := set("row", "q", string(value))
	large.Add(id, r, c)
	db.mu.Lock()
	p := db.partitions[id]
	p.compactionStopped = true
	db.mu.Unlock()
	const more = (compaction.LargeFactor - 1) * compaction.Level0Files
	for files := 1; files <= stopFiles+more; files++ {
		flushed(t, db, id, 1)
		db.mu.Lock()
		slow := files >= slowdownFiles+more
		if got := db.writeDelayLocked(&large) > 0; got != slow {
			t.Errorf("at %d files writers are slowed down: %v", files, got)
		}
		p.rateLimit = writeRateLimit{}
		if got := db.cpusFor(p, false) > db.opt.Workers; got != slow {
			t.Errorf("at %d files compactions take more CPUs: %v", files, got)
		}
		if got := db.stallReasonLocked(&large, &stallTimer{delayed: true}) != nil; got != (files >= stopFiles+more) {
			t.Errorf("at %d files writers stop: %v", files, got)
		}
		db.mu.Unlock()
	}
}

// TestStallHasAnEnd: a Commit waits for memory only if a memtable is frozen, whose flush ends the
// wait, although other Commits fill memtables at the same time.
func TestStallHasAnEnd(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	var stop atomic.Bool
	var filling sync.WaitGroup
	filling.Go(func() {
		for n := int64(0); !stop.Load(); n++ {
			db.memTableBytes.Store(n % 2 * 2 * db.opt.MemtableBytes)
		}
	})
	var b Batch
	r, c := set("row", "q", "v")
	b.Add(id, r, c)
	for range 20_000 {
		db.mu.Lock()
		p := db.partitions[id]
		p.active.minSeq = 1 // of a batch that is being inserted
		stalls := db.stallReasonLocked(&b, &stallTimer{}) != nil
		frozen := len(p.frozen) > 0
		delete(db.frozen, p)
		p.frozen, p.active = nil, newMemTable()
		db.frozenBytes = 0
		db.publishLocked(p)
		db.mu.Unlock()
		if stalls && !frozen {
			t.Error("a Commit would wait for a flush, and nothing is frozen")
			break
		}
	}
	stop.Store(true)
	filling.Wait()
	db.memTableBytes.Store(0)
}

// lateClock fires its timer only when the test says so, stopped or not.
type lateClock struct {
	clock.Clock
	set []func()
}

func (c *lateClock) AfterFunc(_ time.Duration, f func()) func() bool {
	c.set = append(c.set, f)
	return func() bool { return false }
}

// TestLateTimeout: a timeout that fires after its Commit has entered does not affect the next
// Commit of the same batch.
func TestLateTimeout(t *testing.T) {
	c := new(lateClock)
	db := &DB{opt: Options{Clock: c}}
	progress := make(chan struct{})
	close(progress)
	var a stallTimer
	for range 2 {
		a.stop()
		if err := db.awaitSignal(t.Context(), &a, progress); err != nil {
			t.Fatal(err)
		}
	}
	c.set[0]()
	select {
	case <-a.timeout:
		t.Error("the time of the second is over")
	default:
	}
	c.set[1]()
	<-a.timeout
}
