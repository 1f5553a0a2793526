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

	"colonnade/clock"
	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/vfs"
)

// TestPrecedence: a flush stops until the writers of the group that was settled last have gone on,
// and the leader with them.
func TestPrecedence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p precedence
		var y yielder
		y.giveWay(&p, clock.System) // no group yet
		w := newAwakening()
		w.waiting.Add(1)
		p.woken.Store(w)
		went := false
		go func() {
			y.giveWay(&p, clock.System)
			went = true
		}()
		w.gone()
		synctest.Wait()
		if went {
			t.Fatal("gave way to one of two only")
		}
		w.gone()
		synctest.Wait()
		if !went {
			t.Error("still waits, and nobody is left to go on")
		}
		if got := p.turns.Load(); got != 2 {
			t.Errorf("%d turns, want 2", got)
		}
	})
}

// readings is a clock that shows one after the other.
type readings struct {
	clock.Clock
	next []int64
}

func (r *readings) Now() int64 {
	now := r.next[0]
	r.next = r.next[1:]
	return now
}

// TestYielderWorksOn for a while when others have kept the processor for long, whatever the clock says
// then.
func TestYielderWorksOn(t *testing.T) {
	const late = 1002 + longTurn // the end of a long turn
	for _, test := range []struct {
		name  string
		now   []int64 // at each reading: three for a turn, one for none
		turns int64
	}{
		{"short turns", []int64{1000, 1001, 1001 + longTurn, 5000, 5001, 5002}, 2},
		{"after a long one", []int64{1000, 1001, late, late, late + workOn - 1}, 1},
		{"until it has worked", []int64{1000, 1001, late, late + workOn, 9000, 9001}, 2},
		{"writers before it took long", []int64{1000, 9000, 9001, 9002, 9003, 9004}, 2},
		{"the clock has stepped back", []int64{1000, 1001, late, 10, 11, 12}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p precedence
			r := &readings{next: test.now}
			for y := (yielder{}); len(r.next) > 0; {
				y.giveWay(&p, r)
			}
			if got := p.turns.Load(); got != test.turns {
				t.Errorf("%d turns, want %d", got, test.turns)
			}
		})
	}
}

// TestFlushGivesWay: a flush has turns while it writes and while it reads again what it has written, and
// waits in the first for the writers that were woken.
func TestFlushGivesWay(t *testing.T) {
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
		w := newAwakening()
		db.precedence.woken.Store(w)
		flushed := false
		go func() {
			if err := db.Flush(context.Background()); err != nil {
				t.Error(err)
			}
			flushed = true
		}()
		synctest.Wait()
		if written.Load() {
			t.Error("a flush went on before those who were woken")
		}
		w.gone()
		synctest.Wait()
		if got := db.precedence.turns.Load(); !flushed || !written.Load() || got < 4 { // two while it writes
			t.Errorf("done: %v, after %d turns, want at least 4", flushed, got)
		}
	})
}

// TestCommitsAreGivenWay: flushes know the writers of a group of many that is settled, and wait
// for them no longer than until all have gone on.
func TestCommitsAreGivenWay(t *testing.T) {
	var holding atomic.Bool
	held := make(chan struct{})
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "store/wal/") && holding.Load() {
			<-held
		}
		return vfs.Fault{}
	})
	db := mustOpenIdle(t, fs) // the sync of a seal would be held like a group's
	id := mustCreate(t, db, "a")[0]
	if err := tryPut(db, id); err != nil {
		t.Fatal(err)
	}
	if db.precedence.woken.Load() != nil {
		t.Error("flushes wait for a group of one")
	}
	holding.Store(true)
	var all sync.WaitGroup
	commit := func(waiting int) { // and waits until so many wait for a group
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
	for n := range manyBatches + 1 { // the first is being synced
		commit(n)
	}
	holding.Store(false)
	close(held)
	all.Wait()
	w := db.precedence.woken.Load()
	if w == nil {
		t.Fatal("flushes do not know a group of many")
	}
	select {
	case <-w.over: // the leader may be a little later than the writers
	case <-time.After(10 * time.Second):
		t.Fatal("some have not gone on yet")
	}
	if n := w.waiting.Load(); n != 0 {
		t.Errorf("%d have not gone on, and it is over", n)
	}
	if err := tryPut(db, id); err != nil {
		t.Fatal(err)
	}
	if db.precedence.woken.Load() != nil {
		t.Error("a group of one has come, and flushes still know one of many")
	}
}

// TestCompactionWaitsForFlush: where both together would leave many writers no processor, a
// compaction stops while there is a flush, unless writers wait for it.
func TestCompactionWaitsForFlush(t *testing.T) {
	for _, test := range []struct {
		name       string
		processors int
		many       bool // writers
		files      int  // in level 0
		other      int  // in that of another partition
		waits      bool
	}{
		{"two processors", 2, true, compaction.Level0Files, 1, true},
		{"few writers", 2, false, compaction.Level0Files, 1, false},
		{"writers are slowed down", 2, true, slowdownFiles, 1, false},
		{"writers of another partition are", 2, true, compaction.Level0Files, slowdownFiles, false},
		{"three processors", 3, true, compaction.Level0Files, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.GOMAXPROCS(test.processors)
			t.Cleanup(func() { runtime.GOMAXPROCS(before) })
			synctest.Test(t, func(t *testing.T) {
				db := mustOpen(t, vfs.NewMem())
				defer mustClose(t, db)
				p := fillLevel0(t, db, test.files, "a")[0]
				fillLevel0(t, db, test.other, "b")
				if test.many {
					w := newAwakening()
					w.gone()
					db.precedence.woken.Store(w)
				}
				over := db.precedence.beginFlush()
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
				over()
				if n := left(); n > 0 {
					t.Errorf("after the flush: %d files are left in level 0", n)
				}
			})
		})
	}
}

// TestPatienceEnds: flushes that follow one another keep a compaction for so long, and no longer.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &DB{opt: Options{Clock: clock.System}}
		w := newAwakening()
		w.gone()
		db.precedence.woken.Store(w)
		o := &output{db: db, patience: mostPatience}
		const each = mostPatience * time.Microsecond / 4
		for i := range 6 {
			over := db.precedence.beginFlush()
			went := false
			go func() {
				o.giveWay()
				went = true
			}()
			synctest.Wait()
			if want := i >= 4; went != want {
				t.Errorf("flush %d: the compaction goes on: %v, want %v", i, went, want)
			}
			time.Sleep(each)
			over()
			synctest.Wait()
		}
	})
}
