package server

import (
	"context"
	"time"

	"colonnade/clock"
	"colonnade/internal/cores"
)

// Requests work in turns, so that more of them than the machine can work on do
// not make all of them late. A request takes its first turn when its body is
// there, before a byte of it is parsed, and is refused when none comes free in
// a moment. It gives the turn up whenever it waits for its client, so that a slow
// reader keeps nobody from working, and a long answer now and then, so that short
// ones get in between.

// gates are where the turns of each kind of request are given out. A scan can work
// for minutes: it must not be in the way of those that take microseconds.
type gates struct {
	write, read, scan *gate
	scans             budget // scans that are open, whether they work or wait for their clients
	outgoing          budget // answers that are sent by a goroutine
	divisions         budget // answers that are collected by several
}

const (
	// writesPerCore is large, because most of a write is waiting for a sync that it
	// shares with all others that wait.
	writesPerCore = 32
	readsPerCore  = 8
	scansPerCore  = 2
	// maxScans is how many scans may be open. Each holds a snapshot, which holds
	// memory and files.
	maxScans = 256
)

func newGates(c clock.Clock) gates {
	n := cores.Count()
	return gates{
		write: newGate(writesPerCore*n, c),
		read:  newGate(readsPerCore*n, c),
		scan:  newGate(scansPerCore*n, c),
		scans: budget{free: maxScans}, outgoing: budget{free: int64(outgoingPerCore * n)}, divisions: budget{free: maxDivisions},
	}
}

// How long a request waits for its first turn. That of a scan comes when another
// scan has collected flushSize bytes, so it is worth waiting for; but not without
// end, since one that finds nothing collects nothing.
const (
	shortWait = 3 * time.Millisecond
	longWait  = time.Second
)

// kind says which turns the requests of a route take.
type kind uint8

const (
	quick kind = iota // none: it tells what is in memory
	writes
	reads
	scans
)

// turns are those of one goroutine that works on a request.
type turns struct {
	until   context.Context // ends its waiting
	gate    *gate           // nil for a request that needs none, and before the first
	working bool            // it has a turn
}

// beginTurn takes the first turn of the exchange.
func (x *exchange) beginTurn() error {
	g, wait := &x.server.gates, shortWait
	switch x.kind {
	case quick:
		return nil
	case writes:
		x.gate = g.write
	case reads:
		x.gate = g.read
	case scans:
		x.gate, wait = g.scan, longWait
		if !g.scans.take(1) {
			return later("overloaded", "too many scans are open")
		}
		x.scanning = true
	}
	x.working = x.gate.enter(x.ctx(), wait)
	if !x.working {
		return later("overloaded", "too many requests are under way")
	}
	return nil
}

// another returns the turns of one more goroutine that works on the request, with
// its first one, if one is free that nobody waits for.
func (t *turns) another(ctx context.Context) (more turns, ok bool) {
	if t.gate == nil {
		return turns{}, false
	}
	if _, ok = t.gate.take(0); !ok {
		return turns{}, false
	}
	return turns{until: ctx, gate: t.gate, working: true}, true
}

// endTurn gives the turn up, if there is one.
func (t *turns) endTurn() {
	if t.working {
		t.working = false
		t.gate.leave()
	}
}

// nextTurn waits for the next turn after one that was given up.
func (t *turns) nextTurn() error {
	if t.gate == nil || t.working {
		return nil
	}
	t.working = t.gate.enterAgain(t.until)
	if !t.working {
		return errGone
	}
	return nil
}

// turnSteps is how many steps of a long loop a request takes in one turn, if
// others wait.
const turnSteps = 256

// step lets others have a turn now and then. Loops of any length call it with the
// number of times that they went round.
func (t *turns) step(n int) error {
	if n%turnSteps != 0 || !t.working || !t.gate.crowded() {
		return nil
	}
	t.endTurn()
	return t.nextTurn()
}
