package engine

import (
	"testing"
)

// TestPrecedence: a flush stops until the writers of the group that was settled last have gone on, and
// the leader with them.
func TestPrecedence(t *testing.T) {
	var p precedence
	p.giveWay() // no group yet
	w := newAwakening()
	w.waiting.Add(1)
	p.woken.Store(w)
	went := make(chan struct{})
	go func() {
		p.giveWay()
		close(went)
	}()
	w.gone()
	select {
	case <-went:
		t.Fatal("gave way to one of two")
	case <-w.over:
		t.Fatal("over with one of two to go")
	default:
	}
	w.gone()
	<-went
	if got := p.turns.Load(); got != 2 {
		t.Errorf("%d turns, want 2", got)
	}
}
