package bigtable

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec is that of protocol buffers, for messages and for what is encoded already.
type codec struct{ encoding.CodecV2 }

var protobuf = codec{encoding.GetCodecV2(proto.Name)}

// encoded is a message in its encoded form. Who sends it gives it away.
type encoded struct {
	data    *[]byte
	written chan struct{} // closed once gRPC does not hold the message any more; nil if nobody waits for that
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(encoded); ok {
		pool := messages
		if e.written != nil {
			pool = announced{BufferPool: messages, back: e.written}
		}
		return mem.BufferSlice{mem.NewBuffer(e.data, pool)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// messages are the buffers of encoded messages, which gRPC gives back once they are sent.
var messages = mem.DefaultBufferPool()

// announced is the pool of one buffer. It says when the buffer comes back.
type announced struct {
	mem.BufferPool
	back chan struct{}
}

// Put implements mem.BufferPool.
func (p announced) Put(b *[]byte) {
	p.BufferPool.Put(b)
	close(p.back)
}
