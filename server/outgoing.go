package server

import (
	"fmt"
	"runtime/debug"
	"sync"

	"colonnade/internal/cores"
	"colonnade/internal/poison"
)

// outgoing is a goroutine that sends the pieces of a long answer, so that the handler can
// collect the next ones on another core while the kernel copies these, and while they are compressed.
// While it is there, the ResponseWriter and the encoder belong to it.
type outgoing struct {
	queue   chan *[]byte // nil while there is no goroutine
	outcome chan error   // why a piece could not be sent, if so; closed once the goroutine has ended
}

const (
	// queued is how many pieces may wait. One would be too few: to wake the goroutine
	// takes about as long as to collect a piece.
	queued = 8
	// mostQueued is from how many bytes on the handler sends a piece itself, and twice that
	// the most memory that one may keep.
	mostQueued = flushSize + flushSize/4
	// outgoingPerCore is how many answers may have such a goroutine. Those of slow clients
	// have a full queue most of the time.
	outgoingPerCore = 8
)

// pieces are what has been queued. Each is memory that a handler collects a piece in later.
var pieces = sync.Pool{New: func() any { return new([]byte) }}

// beside reports whether what has been collected may be sent by a goroutine, which it starts.
func (x *exchange) beside() bool {
	switch {
	case len(x.out) > mostQueued || cores.Count() == 1:
		return false
	case x.queue != nil:
		return true
	case !x.server.gates.outgoing.take(1):
		return false
	}
	x.queue, x.outcome = make(chan *[]byte, queued), make(chan error, 1)
	go x.sendQueued(x.queue, x.outcome)
	return true
}

// enqueue has the goroutine send what has been collected. Where queued pieces wait, so does it.
func (x *exchange) enqueue() error {
	if err := x.unsent(); err != nil {
		return err
	}
	piece := pieces.Get().(*[]byte)
	if cap(x.out) <= 2*mostQueued {
		*piece, x.out = x.out, (*piece)[:0]
	} else { // a large value has been there
		*piece, x.out = append((*piece)[:0], x.out...), x.out[:0]
	}
	select {
	case x.queue <- piece:
		return nil
	case err := <-x.outcome:
		return err
	}
}

// unsent returns why a piece could not be sent, if that is known by now.
func (x *exchange) unsent() error {
	select {
	case err := <-x.outcome:
		return err
	default:
		return nil
	}
}

// sendQueued sends pieces until one cannot be sent or no more will come.
func (x *exchange) sendQueued(queue <-chan *[]byte, outcome chan<- error) {
	err := errGone // unless all are sent
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			outcome <- err
		}
		close(outcome)
	}()
	for piece := range queue {
		if x.write(*piece, false) != nil {
			return
		}
		poison.Bytes(*piece)
		pieces.Put(piece)
	}
	err = nil
}

// settle waits until all pieces are sent, or one could not be, and ends the goroutine.
func (x *exchange) settle() error {
	if x.queue == nil {
		return nil
	}
	close(x.queue)
	x.queue = nil
	defer x.server.gates.outgoing.give(1)
	return <-x.outcome
}

// abandon ends the goroutine before that: it may finish the piece that it is sending.
func (x *exchange) abandon() {
	for x.queue != nil {
		select {
		case <-x.queue:
		default:
			_ = x.settle()
		}
	}
}
