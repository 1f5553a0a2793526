package server

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"

	"colonnade/clock"
)

// gate lets so many requests work at a time. The others stand in a queue, which
// has an end: more work at a time would take longer for everybody, and a longer
// queue would only make those wait who are refused later.
type gate struct {
	clock clock.Clock

	mu    sync.Mutex
	free  int       // turns that nobody has, 0 while somebody waits
	queue list.List // of chan struct{}; closing one hands over a turn
}

// maxQueue is how many requests may wait for their first turn at a gate.
const maxQueue = 1024

func newGate(turns int, c clock.Clock) *gate { return &gate{clock: c, free: turns} }

// enter takes a turn, for which it waits so long at most. It reports whether it got
// one.
func (g *gate) enter(ctx context.Context, most time.Duration) bool {
	e, ok := g.take(maxQueue)
	if e == nil {
		return ok
	}
	late := make(chan struct{})
	stop := g.clock.AfterFunc(most, func() { close(late) })
	defer stop()
	return g.wait(e, ctx.Done(), late)
}

// enterAgain takes a turn for a request that had one before. It waits until the
// context is done.
func (g *gate) enterAgain(ctx context.Context) bool {
	e, _ := g.take(math.MaxInt)
	return e == nil || g.wait(e, ctx.Done(), nil)
}

// take takes a turn if one is free. Otherwise it takes a place in the queue and
// returns that, or false if limit places are taken.
func (g *gate) take(limit int) (place *list.Element, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.free > 0:
		g.free--
		return nil, true
	case g.queue.Len() >= limit:
		return nil, false
	}
	return g.queue.PushBack(make(chan struct{})), true
}

// wait waits for the turn of a place in the queue.
func (g *gate) wait(e *list.Element, done, late <-chan struct{}) bool {
	turn := e.Value.(chan struct{})
	select {
	case <-turn:
		return true
	case <-done:
	case <-late:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-turn: // it came all the same
		return true
	default:
		g.queue.Remove(e)
		return false
	}
}

// leave gives a turn to who waits longest, or back.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.queue.Front(); e != nil {
		close(g.queue.Remove(e).(chan struct{}))
		return
	}
	g.free++
}

// crowded reports whether somebody waits.
func (g *gate) crowded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.Len() > 0
}
