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
	short int // places in the queue while it is too slow for those who wait

	mu    sync.Mutex
	free  int       // turns that nobody has, 0 while somebody waits
	queue list.List // of chan struct{}; closing one hands over a turn
	late  int64     // when somebody has waited in vain last, in microseconds
}

const (
	// maxQueue is how many requests may wait for their first turn at a gate.
	maxQueue = 1024
	// slowFor is how long a gate is taken to be slow after somebody has waited in vain.
	// As long as nobody does, a queue of any length moves fast enough.
	slowFor = 100 * time.Millisecond
)

func newGate(turns int, c clock.Clock) *gate {
	return &gate{clock: c, free: turns, short: (turns + 1) / 2, late: -slowFor.Microseconds()}
}

// enter takes a turn, for which it waits so long at most. It reports whether it got
// one.
func (g *gate) enter(ctx context.Context, most time.Duration) bool {
	g.mu.Lock()
	limit := maxQueue
	if g.queue.Len() >= g.short && g.slowLocked() {
		limit = g.short
	}
	e, ok := g.takeLocked(limit)
	g.mu.Unlock()
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
	return g.takeLocked(limit)
}

func (g *gate) takeLocked(limit int) (place *list.Element, ok bool) {
	switch {
	case g.free > 0:
		g.free--
		return nil, true
	case g.queue.Len() >= limit:
		return nil, false
	}
	return g.queue.PushBack(make(chan struct{})), true
}

// slowLocked reports whether somebody has waited in vain a moment ago.
func (g *gate) slowLocked() bool { return g.clock.Now()-g.late < slowFor.Microseconds() }

// wait waits for the turn of a place in the queue.
func (g *gate) wait(e *list.Element, done, late <-chan struct{}) bool {
	turn := e.Value.(chan struct{})
	inVain := false
	select {
	case <-turn:
		return true
	case <-done:
	case <-late:
		inVain = true
	}
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if inVain {
		g.late = now
	}
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
