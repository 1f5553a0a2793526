package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestForegroundPriority: a flush waits until the writers of the group settled last have run, and
// the leader too.
func TestForegroundPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p foregroundPriority
		var y yielder
		y.yield(&p, clock.System) // no group yet
		w := newWakeup()
		w.waiting.Add(1)
		p.wakeup.Store(w)
		went := false
		go func() {
			y.yield(&p, clock.System)
			went = true
		}()
		w.leave()
		synctest.Wait()
		if went {
			t.Fatal("waited for one of two only")
		}
		w.leave()
		synctest.Wait()
		if !went {
			t.Error("still waits, though both have run")
		}
		if got := p.yields.Load(); got != 2 {
			t.Errorf("%d yields, want 2", got)
		}
	})
}

// readings is a clock that returns the given times in turn.
type readings struct {
	clock.Clock
	next []int64
}

func (r *readings) Now() int64 {
	now := r.next[0]
	r.next = r.next[1:]
	return now
}

// TestYielderWorksOn: after a long yield, a yielder works for a while before the next yield,
// whatever the clock then returns.
func TestYielderWorksOn(t *testing.T) {
	const late = 1002 + longYield // the end of a long yield
	for _, test := range []struct {
		name   string
		now    []int64 // the readings: three for a yield, one for none
		yields int64
	}{
		{"short yields", []int64{1000, 1001, 1001 + longYield, 5000, 5001, 5002}, 2},
		{"after a long one", []int64{1000, 1001, late, late, late + workBetweenYields - 1}, 1},
		{"until it has worked", []int64{1000, 1001, late, late + workBetweenYields, 9000, 9001}, 2},
		{"writers before it took long", []int64{1000, 9000, 9001, 9002, 9003, 9004}, 2},
		{"the clock has stepped back", []int64{1000, 1001, late, 10, 11, 12}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p foregroundPriority
			r := &readings{next: test.now}
			for y := (yielder{}); len(r.next) > 0; {
				y.yield(&p, r)
			}
			if got := p.yields.Load(); got != test.yields {
				t.Errorf("%d yields, want %d", got, test.yields)
			}
		})
	}
}

// TestFlushYields: a flush yields while it writes and while it verifies the file. The first time it
// waits for the writers that were woken.
func TestFlushYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written atomic.Bool
		db := mustOpen(t, vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
			if op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix) {
				written.Store(true)
			}
			return vfs.Fault{}
		}))
		defer mustClose(t, db)
		id := mustCreate(t, db, "a")[0]
		var b Batch
		for i := range 3 * yieldCells {
			r, c := set(fmt.Sprintf("%06d", i), "q", "v")
			b.Add(id, r, c)
		}
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		w := newWakeup()
		db.foreground.wakeup.Store(w)
		flushed := false
		go func() {
			if err := db.Flush(context.Background()); err != nil {
				t.Error(err)
			}
			flushed = true
		}()
		synctest.Wait()
		if written.Load() {
			t.Error("a flush went on before the writers that were woken")
		}
		w.leave()
		synctest.Wait()
		if got := db.foreground.yields.Load(); !flushed || !written.Load() || got < 4 { // two while it writes
			t.Errorf("done: %v, after %d yields, want at least 4", flushed, got)
		}
	})
}

// TestLargeGroupsAreWaitedFor: flushes wait until all writers of a settled large group have run,
// and no longer.
func TestLargeGroupsAreWaitedFor(t *testing.T) {
	var holding atomic.Bool
	held := make(chan struct{})
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "store/wal/") && holding.Load() {
			<-held
		}
		return vfs.Fault{}
	})
	db := mustOpenIdle(t, fs) // a seal's sync would be held like a group's
	id := mustCreate(t, db, "a")[0]
	if err := tryPut(db, id); err != nil {
		t.Fatal(err)
	}
	if db.foreground.wakeup.Load() != nil {
		t.Error("flushes wait for a group of one")
	}
	holding.Store(true)
	var all sync.WaitGroup
	commit := func(waiting int) { // and waits until this many wait for a group
		all.Go(func() {
			if err := tryPut(db, id); err != nil {
				t.Error(err)
			}
		})
		for size := -1; size != waiting; runtime.Gosched() {
			db.mu.Lock()
			if size = db.group.size(); !db.leading {
				size = -1
			}
			db.mu.Unlock()
		}
	}
	for n := range largeGroup + 1 { // the first one is being synced
		commit(n)
	}
	holding.Store(false)
	close(held)
	all.Wait()
	w := db.foreground.wakeup.Load()
	if w == nil {
		t.Fatal("flushes do not wait for a large group")
	}
	select {
	case <-w.done: // the leader may run a little after the writers
	case <-time.After(10 * time.Second):
		t.Fatal("some have not run yet")
	}
	if n := w.waiting.Load(); n != 0 {
		t.Errorf("%d have not run, but the wait is over", n)
	}
	if err := tryPut(db, id); err != nil {
		t.Fatal(err)
	}
	if db.foreground.wakeup.Load() != nil {
		t.Error("after a group of one, flushes still wait for the large one")
	}
}

// TestCompactionWaitsForFlush: if both together would leave no CPU to many writers, a compaction
// waits for the end of a flush, unless writers wait for the compaction.
func TestCompactionWaitsForFlush(t *testing.T) {
	for _, test := range []struct {
		name  string
		cpus  int
		many  bool // writers
		files int  // in level 0
		other int  // in level 0 of another partition
		waits bool
	}{
		{"two CPUs", 2, true, compaction.Level0Files, 1, true},
		{"few writers", 2, false, compaction.Level0Files, 1, false},
		{"writers are slowed down", 2, true, slowdownFiles, 1, false},
		{"writers of another partition are", 2, true, compaction.Level0Files, slowdownFiles, false},
		{"three CPUs", 3, true, compaction.Level0Files, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.GOMAXPROCS(test.cpus)
			t.Cleanup(func() { runtime.GOMAXPROCS(before) })
			synctest.Test(t, func(t *testing.T) {
				db := mustOpen(t, vfs.NewMem())
				defer mustClose(t, db)
				p := fillLevel0(t, db, test.files, "a")[0]
				fillLevel0(t, db, test.other, "b")
				if test.many {
					w := newWakeup()
					w.leave()
					db.foreground.wakeup.Store(w)
				}
				end := db.foreground.beginFlush()
				db.mu.Lock()
				p.compactionStopped = false
				db.background.compactable[p] = true
				db.background.signalLocked()
				db.mu.Unlock()
				left := func() int {
					synctest.Wait()
					db.mu.Lock()
					defer db.mu.Unlock()
					return len(p.version.Levels[0])
				}
				if got := left() > 0; got != test.waits {
					t.Errorf("during the flush: waiting is %v", got)
				}
				end()
				if n := left(); n > 0 {
					t.Errorf("after the flush: %d files are left in level 0", n)
				}
			})
		})
	}
}

// TestFlushWaitIsBounded: a series of flushes delays a compaction for longestFlushWait at most.
func TestFlushWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &DB{opt: Options{Clock: clock.System}}
		w := newWakeup()
		w.leave()
		db.foreground.wakeup.Store(w)
		o := &output{db: db, flushWait: longestFlushWait}
		const each = longestFlushWait * time.Microsecond / 4
		for i := range 6 {
			end := db.foreground.beginFlush()
			went := false
			go func() {
				o.yield()
				went = true
			}()
			synctest.Wait()
			if want := i >= 4; went != want {
				t.Errorf("flush %d: the compaction goes on: %v, want %v", i, went, want)
			}
			time.Sleep(each)
			end()
			synctest.Wait()
		}
	})
}
