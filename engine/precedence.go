package engine

import (
	"sync/atomic"

	"colonnade/clock"
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
type precedence struct {
	turns atomic.Int64              // that flushes and compactions have offered
	woken atomic.Pointer[awakening] // of the last group of many batches that was settled; nil for none
}

// yielder gives way for one goroutine of a flush or compaction, without DB.mu.
type yielder struct {
	to    *precedence
	clock clock.Clock
	until int64 // it need not before that, by the clock
}

func (db *DB) newYielder() *yielder { return &yielder{to: &db.precedence, clock: db.opt.Clock} }

// longTurn is longer than writers and requests have a processor as a rule, in microseconds. Who has it
// longer computes for as long as he is let: a flush that waited for that after each tenth of a
// millisecond of work would take a hundred times as long, and what waits for the flush as well. So it
// works for that long before it gives way again.
const longTurn = 2000

// giveWay offers the caller's processor: to the writers whose outcome is known, and to what else
// waits for it.
func (y *yielder) giveWay() {
	begun := y.clock.Now()
	if left := y.until - begun; 0 < left && left <= longTurn { // more, if the clock has stepped back
		return
	}
	if w := y.to.woken.Load(); w != nil {
		<-w.over
	}
	y.to.turns.Add(1) // not before: the leader takes it for one that writers had first
	cores.Yield()
	if now := y.clock.Now(); now-begun > longTurn {
		y.until = now + longTurn
	}
}

// awakening counts the writers of a group, and its leader, until each has gone on: a writer that was
// woken runs at once or has given up before, so it is over soon after the outcome is known.
type awakening struct {
	waiting atomic.Int32
	over    chan struct{} // closed when all have gone on
}

// newAwakening returns one with the leader in it.
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
