package server

import (
	"colonnade/internal/cores"
)

// outgoing is a goroutine that sends the pieces of a long answer, so that the handler can
// collect the next ones on another core while the kernel copies these, and while they are compressed.
// While it is there, the ResponseWriter and the encoder belong to it.
type outgoing struct {
	queue chan *[]byte  // nil while there is no goroutine
	ended chan struct{} // closed once it has
	err   error         // why a piece could not be sent; to be read after that
}

const (
	// queued is how many pieces may wait. One would be too few: to wake the goroutine
	// takes about as long as to collect a piece.
	queued = 8
	// outgoingPerCore is how many answers may have such a goroutine. Those of slow clients
	// have a full queue most of the time.
	outgoingPerCore = 8
)

// beside reports whether what has been collected may be sent by a goroutine, which it starts.
// A handler without a slot has nothing to do meanwhile.
func (x *exchange) beside() bool {
	switch {
	case x.queue != nil:
		return true
	case !x.Limited() || cores.Count() == 1 || !x.server.senders.Take(1):
		return false
	}
	x.outgoing = outgoing{queue: make(chan *[]byte, queued), ended: make(chan struct{})}
	go x.sendQueued(x.queue)
	return true
}

// unsent returns why a piece could not be sent, if that is known by now.
func (x *exchange) unsent() error {
	select {
	case <-x.ended:
		return x.err
	default:
		return nil
	}
}

// sendQueued sends pieces until one cannot be sent or no more will come.
func (x *exchange) sendQueued(queue <-chan *[]byte) {
	x.err = errGone // unless all are sent
	defer func() {
		if p := recover(); p != nil {
			x.err = panicked(p)
		}
		close(x.ended)
	}()
	for piece := range queue {
		if x.write(*piece, false) != nil {
			return
		}
		release(piece)
	}
	x.err = nil
}

// settle waits until all pieces are sent, or one could not be, and ends the goroutine.
func (x *exchange) settle() error {
	if x.queue == nil {
		return nil
	}
	close(x.queue)
	x.queue = nil
	defer x.server.senders.Give(1)
	<-x.ended
	return x.err
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
