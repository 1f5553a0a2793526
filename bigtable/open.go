package bigtable

import (
	"context"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Health and reflection need no token, so anybody may call them: their calls are bounded in number and, but for streams,
// which may wait for a change of health, in time.
const (
	maxOpenCalls   = 1000
	maxOpenStreams = 100
)

// openServices registers services that need no token.
type openServices struct {
	*grpc.Server
	server         *Server
	calls, streams atomic.Int64 // under way
}

// RegisterService implements grpc.ServiceRegistrar.
func (o *openServices) RegisterService(d *grpc.ServiceDesc, with any) {
	service := *d
	service.Methods, service.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i := range service.Methods {
		m := &service.Methods[i]
		m.Handler = o.unary(m.Handler)
	}
	for i := range service.Streams {
		m := &service.Streams[i]
		m.Handler = o.streaming(m.Handler)
	}
	o.Server.RegisterService(&service, with)
}

// unary returns a handler like handle that is bounded.
func (o *openServices) unary(handle grpc.MethodHandler) grpc.MethodHandler {
	return func(service any, ctx context.Context, receive func(any) error, guard grpc.UnaryServerInterceptor) (any, error) {
		defer o.calls.Add(-1)
		if o.calls.Add(1) > maxOpenCalls {
			return nil, tooManyOpen(maxOpenCalls)
		}
		c := o.server.newCaller(ctx)
		if c.stream != nil {
			defer c.endAfter(o.server.opt.Timeouts.Read, codes.DeadlineExceeded, "the request did not arrive in time")()
		}
		return handle(service, ctx, receive, guard)
	}
}

// streaming returns a handler like handle that is bounded.
func (o *openServices) streaming(handle grpc.StreamHandler) grpc.StreamHandler {
	return func(service any, stream grpc.ServerStream) error {
		defer o.streams.Add(-1)
		if o.streams.Add(1) > maxOpenStreams {
			return tooManyOpen(maxOpenStreams)
		}
		return handle(service, stream)
	}
}

func tooManyOpen(n int) error {
	return status.Errorf(codes.ResourceExhausted, "%d calls of services that need no token are under way: try again later", n)
}
