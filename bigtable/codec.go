package bigtable

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// codec is that of protocol buffers, for messages and for what is encoded already.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// encoded is a message in its encoded form. Who sends it gives it away.
type encoded struct{ data *[]byte }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if e, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.NewBuffer(e.data, messages)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// messages are the buffers of encoded messages, which gRPC gives back once they are sent.
var messages = mem.DefaultBufferPool()
