package engine

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"colonnade/vfs"
)

// TestPrecedence: a flush stops until the writers of the group that was settled last have gone on,
// and the leader with them.
func TestPrecedence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p precedence
		p.giveWay() // no group yet
		w := newAwakening()
		w.waiting.Add(1)
		p.woken.Store(w)
		went := false
		go func() {
			p.giveWay()
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
	db := mustOpen(t, fs)
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
}
