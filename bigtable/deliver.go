package bigtable

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/admission"
)

// An answer of many messages is sent as its client takes it: gRPC keeps 64 KiB of a call that are not sent, or one
// message if that is longer, and SendMsg waits for more room. A client that takes nothing for Timeouts.Progress loses
// its call, and what the call holds in the server. gRPC keeps what it has not sent even when the call has ended, so a
// client that does not take that either loses its connection.

// leastPace is how many bytes of a long message a client must take in a second, after Timeouts.Progress.
const leastPace = 64 << 10

// longMessage is from how many bytes on it matters whether a message is sent.
const longMessage = 32 << 10

const tookNothing = "the client did not take the answer for too long"

// held is a long message that gRPC holds. It is safe for concurrent use.
type held struct {
	size   int64              // 0 for rows, of which only those that awaitSent has waited for are long
	memory *admission.Request // of the message, nil for none; given back by who ends the wait for it

	mu   sync.Mutex
	gone bool   // gRPC does not hold it any more
	then func() // called then; nil for none
}

// charge takes the memory of the message, and reports whether it was there.
func (h *held) charge(from *admission.Control) bool {
	h.memory = &admission.Request{Control: from}
	return h.memory.Charge(h.size)
}

// refund gives the memory back.
func (h *held) refund() {
	if h.memory != nil {
		h.memory.Close()
	}
}

// sent says that gRPC does not hold the message any more.
func (h *held) sent() {
	h.mu.Lock()
	h.gone = true
	then := h.then
	h.mu.Unlock()
	if then != nil {
		then()
	}
}

// whenSent has f called once gRPC does not hold the message any more, in place of an f before.
func (h *held) whenSent(f func()) {
	h.mu.Lock()
	h.then = f
	gone := h.gone
	h.mu.Unlock()
	if gone {
		f()
	}
}

// deliver sends a message. It returns once gRPC has room for it, which it has for the first one.
func (c *caller) deliver(m any, send func(any) error) error {
	stop := func() bool { return true }
	if c.answered {
		stop = c.endAfter(c.server.opt.Timeouts.Progress, codes.Unavailable, tookNothing)
	}
	c.answered = true
	err := send(m)
	if !stop() {
		return status.Error(codes.Unavailable, tookNothing)
	}
	if e, ok := m.(encoded); ok && err == nil && e.held != nil {
		c.last = e.held
	}
	return err
}

// hold takes the memory of the one message of an answer. gRPC gets a long one once the call has ended.
func (c *caller) hold(m any) (any, error) {
	p := m.(proto.Message)
	n := proto.Size(p)
	if n < longMessage || n > MaxMessage {
		return m, nil
	}
	h := &held{size: int64(n)}
	if n > chargeSize && !h.charge(c.server.opt.Admission) {
		return nil, status.Errorf(codes.ResourceExhausted, "this was done, but there is no memory for the answer, which has %d bytes", n)
	}
	buffer := messages.Get(n)
	data, err := proto.MarshalOptions{}.MarshalAppend((*buffer)[:0], p)
	if err != nil {
		h.refund()
		return nil, err
	}
	*buffer = data
	c.last = h
	return encoded{buffer, h}, nil
}

// limitLast bounds how long the last long message of a call that ends is held.
func (c *caller) limitLast() {
	h, conn := c.last, connOf(c.ctx)
	if h == nil {
		return
	}
	stop := c.server.opt.Clock.AfterFunc(c.server.patience(h.size), func() {
		if conn != nil {
			_ = conn.Close()
		}
		h.refund()
	})
	h.whenSent(func() {
		if stop() {
			h.refund()
		}
	})
}

// patience is how long a client may take for a long message.
func (s *Server) patience(size int64) time.Duration {
	return s.opt.Timeouts.Progress + time.Duration(size/leastPace)*time.Second
}

// disconnect closes the connection of the call.
func (c *caller) disconnect() {
	if conn := connOf(c.ctx); conn != nil {
		_ = conn.Close()
	}
}

// awaitSent waits until a long message is sent. It holds much memory, so its client loses the connection at once if it
// does not take it.
func (c *caller) awaitSent(h *held, size int64) error {
	sent, late := make(chan struct{}), make(chan struct{})
	h.whenSent(func() { close(sent) })
	defer c.server.opt.Clock.AfterFunc(c.server.patience(size), func() { close(late) })()
	select {
	case <-sent:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-late:
		c.endWith(codes.Unavailable, tookNothing)
		c.disconnect()
		return status.Error(codes.Unavailable, tookNothing)
	}
}
