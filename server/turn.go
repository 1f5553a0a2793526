package server

import (
	"runtime"
	"time"

	"colonnade/clock"
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
	cores := runtime.GOMAXPROCS(0)
	return gates{
		write: newGate(writesPerCore*cores, c),
		read:  newGate(readsPerCore*cores, c),
		scan:  newGate(scansPerCore*cores, c),
		scans: budget{free: maxScans},
	}
}

// How long a request waits for its first turn. That of a scan comes when another
// scan has collected flushSize bytes, so it is worth waiting for; but not without
// end, since one that finds nothing collects nothing.
const (
	shortWait = 5 * time.Millisecond
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

// endTurn gives the turn up, if the exchange has one.
func (x *exchange) endTurn() {
	if x.working {
		x.working = false
		x.gate.leave()
	}
}

// nextTurn waits for the next turn of an exchange that has given up one.
func (x *exchange) nextTurn() error {
	if x.gate == nil || x.working {
		return nil
	}
	x.working = x.gate.enterAgain(x.ctx())
	if !x.working {
		return errGone
	}
	return nil
}

// turnSteps is how many steps of a long loop a request takes in one turn, if
// others wait.
const turnSteps = 256

// step lets others have a turn now and then. Loops of any length call it with the
// number of times that they went round.
func (x *exchange) step(n int) error {
	if n%turnSteps != 0 || !x.working || !x.gate.crowded() {
		return nil
	}
	x.endTurn()
	return x.nextTurn()
}
