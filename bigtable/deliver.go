package bigtable

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An answer of many messages is sent as its client takes it: gRPC keeps 64 KiB of a call that are not sent, or one
// message if that is longer, and SendMsg waits for more room. A client that takes nothing for Timeouts.Progress loses
// its call, and what the call holds in the server. gRPC keeps what it has not sent even then, so a client that does not
// take that either loses its connection.

// leastPace is how many bytes of a long message a client must take in a second, after Timeouts.Progress.
const leastPace = 64 << 10

// longMessage is from how many bytes on it matters whether a message is sent.
const longMessage = 32 << 10

const tookNothing = "the client did not take the answer for too long"

// deliver sends a message. It returns once gRPC has room for it, which it has for the first one.
func (c *caller) deliver(m any, send func(any) error) error {
	stop := func() bool { return true }
	if before := c.unsent; c.answered {
		stop = c.server.opt.Clock.AfterFunc(c.server.opt.Timeouts.Progress, func() { c.endStalled(before) })
	}
	c.answered = true
	err := send(m)
	if !stop() {
		return status.Error(codes.Unavailable, tookNothing)
	}
	if e, ok := m.(encoded); ok && err == nil && e.written != nil {
		c.unsent = e.written
	}
	return err
}

// endStalled ends the call, and later its connection if a message, nil for a short one, is not sent by then.
func (c *caller) endStalled(message <-chan struct{}) {
	c.endWith(codes.Unavailable, tookNothing)
	if message == nil {
		return
	}
	c.server.opt.Clock.AfterFunc(c.server.opt.Timeouts.Progress, func() {
		select {
		case <-message:
		default:
			c.disconnect()
		}
	})
}

// disconnect closes the connection of the call.
func (c *caller) disconnect() {
	if conn := connOf(c.ctx); conn != nil {
		_ = conn.Close()
	}
}

// awaitSent waits until a long message is sent. It holds much memory, so its client loses the connection at once if it
// does not take it.
func (c *caller) awaitSent(message <-chan struct{}, size int64) error {
	late := make(chan struct{})
	limit := c.server.opt.Timeouts.Progress + time.Duration(size/leastPace)*time.Second
	defer c.server.opt.Clock.AfterFunc(limit, func() { close(late) })()
	select {
	case <-message:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-late:
		c.endWith(codes.Unavailable, tookNothing)
		c.disconnect()
		return status.Error(codes.Unavailable, tookNothing)
	}
}
