package bigtable

import (
	"slices"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec is that of protocol buffers, for messages and for what is encoded already.
type codec struct{ encoding.CodecV2 }

var protobuf = codec{encoding.GetCodecV2(proto.Name)}

// encoded is a message in its encoded form. Who sends it gives it away.
type encoded struct {
	data *[]byte
	held *held // nil for a short one, which nobody waits for
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(encoded); ok {
		pool := messages
		if e.held != nil {
			pool = announced{BufferPool: messages, held: e.held}
		}
		return mem.BufferSlice{mem.NewBuffer(e.data, pool)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// messages are the buffers of encoded messages, which gRPC gives back once they are sent.
var messages mem.BufferPool = &buffers{most: 2 * responseSize} // a longer row is rare

// buffers is a pool of buffers that are not cleared: what takes one writes all that it uses. gRPC's own pools clear theirs, of
// which a read of one row, and a write of a hundred, would notice.
type buffers struct {
	pool sync.Pool
	most int // capacity of a buffer that is kept
}

// Get implements mem.BufferPool. What the buffer has is not defined.
func (b *buffers) Get(length int) *[]byte {
	buffer, ok := b.pool.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	*buffer = slices.Grow((*buffer)[:0], length)[:length]
	return buffer
}

// Put implements mem.BufferPool.
func (b *buffers) Put(buffer *[]byte) {
	if cap(*buffer) <= b.most {
		b.pool.Put(buffer)
	}
}

// announced is the pool of one buffer. It says when the buffer comes back.
type announced struct {
	mem.BufferPool
	held *held
}

// Put implements mem.BufferPool.
func (p announced) Put(b *[]byte) {
	p.BufferPool.Put(b)
	p.held.sent()
}
