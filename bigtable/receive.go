package bigtable

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// incoming is a stream of gRPC's transport, below a grpc.ServerStream. A grpc.ServerStream receives whole messages and
// bounds each alone, so a sender of a thousand messages could fill the memory. Here the length of a message is known
// before its sender may send it: HTTP/2 lets it send no more than streamWindow, and what a Read asks for.
type incoming interface {
	ReadMessageHeader(header []byte) error
	// Read returns the next n bytes.
	Read(n int) (mem.BufferSlice, error)
	// WriteStatus ends the stream. Another goroutine may call it, which also ends a Read. Further calls do nothing.
	WriteStatus(*status.Status) error
}

const (
	// streamWindow is how much a sender may send before the server looks at it, in bytes. It is the least of gRPC.
	streamWindow = 64 << 10
	// connectionWindow is how much of all streams may be on its way. What has arrived counts no more.
	connectionWindow = 16 << 20
	// pieceSize is how much of a long message may be on its way, in bytes.
	pieceSize = 1 << 20
	// maxSmallMessage bounds the messages of services that need no token, in bytes: health and reflection.
	maxSmallMessage = 64 << 10
	// maxHeader bounds the metadata of a call, in bytes.
	maxHeader = 16 << 10
)

// streamOf returns the stream of a call, nil if it has none.
func streamOf(ctx context.Context) incoming {
	s, _ := grpc.ServerTransportStreamFromContext(ctx).(incoming)
	return s
}

// receive receives the message of the call. Its sender is identified before, and its memory is taken from that of all
// requests before it is read.
func (c *caller) receive(m any) error {
	if err := c.enter(); err != nil {
		return err
	}
	if c.stream == nil {
		return status.Error(codes.Internal, "the stream has no reader: this version of gRPC has changed")
	}
	const late = "the request did not arrive in time"
	stop := c.endAfter(c.server.opt.Timeouts.Read, codes.DeadlineExceeded, late)
	data, err := c.read()
	if !stop() {
		data.Free()
		return status.Error(codes.DeadlineExceeded, late)
	}
	if err != nil {
		return err
	}
	if err := c.decode(data, m); err != nil {
		return status.Error(codes.InvalidArgument, "the message is damaged: "+err.Error())
	}
	c.request = m
	if b, ok := m.(borrower); ok {
		return c.takeMemory(b.size())
	}
	return nil
}

// borrower is a request that decodes itself.
type borrower interface {
	// decode decodes a message that came at the time now. What it decodes are parts of the message.
	decode(message []byte, now int64) error
	// size is how many bytes of memory it takes besides the message.
	size() int64
	// release ends the use of the request.
	release()
}

// decode decodes the message. Its memory is given back at once, or, if the request borrows it, when the call ends.
func (c *caller) decode(data mem.BufferSlice, m any) error {
	defer data.Free()
	b, ok := m.(borrower)
	if !ok {
		return protobuf.Unmarshal(data, m)
	}
	c.borrowed = data.MaterializeToBuffer(received)
	return b.decode(c.borrowed.ReadOnlyData(), c.server.now())
}

// giveBack gives back a message that was borrowed, and the request that did.
func (c *caller) giveBack() {
	if b, ok := c.request.(borrower); ok {
		b.release()
	}
	if c.borrowed != nil {
		poison.Bytes(slices.Clip(c.borrowed.ReadOnlyData())) // of which nobody else has parts
		c.borrowed.Free()
	}
}

// received are the buffers of messages that have come in several frames.
var received = &buffers{most: pieceSize}

// enter identifies the sender, and counts the call as under way.
func (c *caller) enter() error {
	if c.server.opt.Access != nil {
		if err := c.identify(); err != nil {
			return err
		}
	}
	if !c.server.opt.Admission.Enter() {
		return retryLater("the server is shutting down", time.Second)
	}
	c.entered = true
	return nil
}

// endAfter ends the call with a status once d has passed, unless stop comes in time.
func (c *caller) endAfter(d time.Duration, code codes.Code, message string) (stop func() bool) {
	return c.server.opt.Clock.AfterFunc(d, func() { c.endWith(code, message) })
}

func (c *caller) endWith(code codes.Code, message string) {
	_ = c.stream.WriteStatus(status.New(code, message))
}

// read reads the one message of the call: a byte that says whether it is compressed, its length in 4 bytes, and its bytes.
func (c *caller) read() (mem.BufferSlice, error) {
	if err := c.stream.ReadMessageHeader(c.header[:]); err != nil {
		return nil, notRead(err)
	}
	if c.header[0] != 0 {
		return nil, status.Error(codes.Unimplemented, "the message is compressed, which this server does not take")
	}
	c.received = int64(binary.BigEndian.Uint32(c.header[1:]))
	if c.received > MaxMessage {
		return nil, status.Errorf(codes.ResourceExhausted, "the request has %d bytes, allowed are %d", c.received, MaxMessage)
	}
	if err := c.takeMemory(c.received); err != nil {
		return nil, err
	}
	data, err := c.readAll(int(c.received))
	if err != nil {
		return nil, notRead(err)
	}
	if err := c.stream.ReadMessageHeader(c.header[:]); err != io.EOF {
		data.Free()
		return nil, notRead(err)
	}
	return data, nil
}

// takeMemory takes memory for the message, or what it is decoded to.
func (c *caller) takeMemory(n int64) error {
	switch {
	case c.memory.Charge(n):
		return nil
	case c.memory.TooLarge(n):
		return status.Errorf(codes.ResourceExhausted, "the request takes %d bytes, more than the memory of all requests", n)
	}
	return retryLater("the requests under way have too many bytes together", time.Second)
}

// readAll reads n bytes.
func (c *caller) readAll(n int) (mem.BufferSlice, error) {
	if n <= pieceSize {
		return c.stream.Read(n)
	}
	// The pieces are copied, since they are of frames, which may be small, and need a memory of their own for each.
	whole := make([]byte, 0, n)
	for len(whole) < n {
		piece, err := c.stream.Read(min(n-len(whole), pieceSize))
		if err != nil {
			return nil, err
		}
		for _, b := range piece {
			whole = append(whole, b.ReadOnlyData()...)
		}
		piece.Free()
	}
	return mem.BufferSlice{mem.SliceBuffer(whole)}, nil
}

// notRead says why there is not one whole message. nil is for a second one.
func notRead(err error) error {
	switch err {
	case nil:
		return status.Error(codes.InvalidArgument, "the request has more than one message")
	case io.EOF, io.ErrUnexpectedEOF:
		return status.Error(codes.InvalidArgument, "the request has no whole message")
	}
	return statusOf(err)
}
