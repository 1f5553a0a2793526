package engine

import (
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

// TestCommitsAreGivenWay: flushes know the writers of a group that is settled, and wait for them no
// longer than until they have gone on.
func TestCommitsAreGivenWay(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	for range 2 {
		before := db.precedence.woken.Load()
		if err := tryPut(db, id); err != nil {
			t.Fatal(err)
		}
		w := db.precedence.woken.Load()
		if w == nil || w == before {
			t.Fatal("a group was settled, and flushes do not know it")
		}
		select {
		case <-w.over: // the leader may be a little later than the writer
		case <-time.After(10 * time.Second):
			t.Fatalf("%d have not gone on yet", w.waiting.Load())
		}
	}
}
