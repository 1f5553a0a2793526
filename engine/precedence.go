package engine

import (
	"sync/atomic"

	"colonnade/clock"
	"colonnade/engine/compaction"
	"colonnade/internal/cores"
)

// precedence lets commits go before flushes and compactions, which have work for both of two
// processors for seconds.
//
// To yield is not enough for that. A goroutine that yields goes to the end of the line of all
// processors, and a processor takes from there before it takes what stands in line at another.
// So while flushes and compactions yield in turns, none would look after the writers in line at the
// processor that the leader's sync keeps: they would wait until the runtime takes it away, up to
// 10 ms. Therefore flushes and compactions stop until the writers that were woken have run.
//
// And where a flush and a compaction together would leave many writers no processor, the
// compaction stops until the flush is over: both at once cost commits more than the one and then
// the other. It goes on once writers are slowed down, of its partition or another that may wait
// for its processor. Few writers, who load, wait for neither.
type precedence struct {
	turns atomic.Int64                  // that flushes and compactions have offered
	woken atomic.Pointer[awakening]     // of the group that was settled last, if it was one of many batches
	flush atomic.Pointer[chan struct{}] // closed when the flush under way is over; nil for none
}

// mostPatience is for how long, in microseconds, a compaction waits for flushes: they may come one
// after the other for as long as there are writers.
const mostPatience = 10_000_000

// flushing returns what is closed when the flush under way is over; nil if there is none, or if
// there are not many writers.
func (p *precedence) flushing() <-chan struct{} {
	if flush := p.flush.Load(); flush != nil && p.woken.Load() != nil {
		return *flush
	}
	return nil
}

// beginFlush has compactions wait until over is called.
func (p *precedence) beginFlush() (over func()) {
	done := make(chan struct{})
	p.flush.Store(&done)
	return func() {
		p.flush.Store(nil)
		close(done)
	}
}

// yielder gives way for one goroutine of a flush or compaction. The zero value is ready.
type yielder struct {
	until int64 // it need not before that, by the clock
}

// A turn that takes longer than longTurn, in microseconds, is not that of writers and requests, which
// need some hundred, but of somebody who computes for as long as he is let. To wait for that after
// each tenth of a millisecond of work would take a flush a hundred times as long, and what waits for
// the flush as well: so it works for workOn before it gives way again. That is so much less that
// the other parts of a compaction, which may work on at the same processor meanwhile, are not
// themselves taken for such a one. Those who write small files beside each other may be more, but
// are at the disk most of the time, and begin anew with each file.
const (
	longTurn = 2000
	workOn   = longTurn / compaction.MaxSubcompactions
)

// giveWay offers the caller's processor: to the writers whose outcome is known, and to what else
// waits for it. The caller has no locks.
func (y *yielder) giveWay(p *precedence, c clock.Clock) {
	if left := y.until - c.Now(); 0 < left && left <= workOn { // more, if the clock has stepped back
		return
	}
	if w := p.woken.Load(); w != nil {
		<-w.over
	}
	p.turns.Add(1) // not before: the leader takes it for one that writers had first
	begun := c.Now()
	cores.Yield()
	if now := c.Now(); now-begun > longTurn {
		y.until = now + workOn
	}
}

// awakening counts the writers of a group, and the group itself, until each has gone on: a writer that was
// woken runs at once or has given up before, so it is over soon after the outcome is known.
type awakening struct {
	waiting atomic.Int32
	over    chan struct{} // closed when all have gone on
}

// newAwakening returns one with the group itself in it.
func newAwakening() *awakening {
	a := &awakening{over: make(chan struct{})}
	a.waiting.Store(1)
	return a
}

// gone takes note that one of them has gone on.
func (a *awakening) gone() {
	if a.waiting.Add(-1) == 0 {
		close(a.over)
	}
}
