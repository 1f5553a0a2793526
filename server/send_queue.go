package server

import (
	"github.com/colonnade-db/colonnade/internal/cores"
)

// sendQueue is a goroutine that sends, and compresses, the chunks of a long response while the
// handler collects the next ones. While it runs, it owns the ResponseWriter and the encoder.
type sendQueue struct {
	queue chan *[]byte  // nil while there is no goroutine
	ended chan struct{} // closed once it has
	err   error         // why a chunk could not be sent; to be read after that
}

const (
	// queued is how many chunks may wait. Waking the goroutine takes about as long as collecting a
	// chunk: with one, scans were slower; sixteen were no better than eight.
	queued = 8
	// sendersPerCore bounds the responses with such a goroutine. Those of slow clients have a full
	// queue most of the time.
	sendersPerCore = 8
)

// startSender reports whether a goroutine may send the response, and starts it. A handler without
// a slot would have nothing to do meanwhile.
func (x *requestContext) startSender() bool {
	switch {
	case x.queue != nil:
		return true
	case !x.Limited() || cores.Count() == 1 || !x.server.senders.Take(1):
		return false
	}
	x.sendQueue = sendQueue{queue: make(chan *[]byte, queued), ended: make(chan struct{})}
	go x.sendQueued(x.queue)
	return true
}

// sendError returns why an earlier chunk could not be sent, nil as far as is known.
func (x *requestContext) sendError() error {
	select {
	case <-x.ended:
		return x.err
	default:
		return nil
	}
}

// sendQueued sends chunks until one cannot be sent or the queue is closed.
func (x *requestContext) sendQueued(queue <-chan *[]byte) {
	x.err = errGone // unless all are sent
	defer func() {
		if p := recover(); p != nil {
			x.err = panicked(p)
		}
		close(x.ended)
	}()
	for chunk := range queue {
		if x.write(x.server.opt.Now(), *chunk, false) != nil {
			return
		}
		releaseChunk(chunk)
	}
	x.err = nil
}

// finishSender waits until all chunks are sent, or one could not be, and ends the goroutine.
func (x *requestContext) finishSender() error {
	if x.queue == nil {
		return nil
	}
	close(x.queue)
	x.queue = nil
	defer x.server.senders.Give(1)
	<-x.ended
	return x.err
}

// abandonSender ends the goroutine early. It may finish the chunk that it is sending.
func (x *requestContext) abandonSender() {
	for x.queue != nil {
		select {
		case <-x.queue:
		default:
			_ = x.finishSender()
		}
	}
}
