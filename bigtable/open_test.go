package bigtable

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

// TestOpenStreams: streams that need no token are bounded in number, and a call beside them is answered.
func TestOpenStreams(t *testing.T) {
	h := newHarness(t, Options{})
	client := healthpb.NewHealthClient(h.conn)
	watch := func(ctx context.Context) error {
		stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		h.ok(err)
		_, err = stream.Recv()
		return err
	}
	ctx, cancel := context.WithCancel(h.ctx)
	for range maxOpenStreams {
		h.ok(watch(ctx))
	}
	h.fails("one more", watch(h.ctx), codes.ResourceExhausted, "need no token")
	stream, err := reflectionpb.NewServerReflectionClient(h.conn).ServerReflectionInfo(h.ctx)
	h.ok(err)
	_, err = stream.Recv()
	h.fails("reflection", err, codes.ResourceExhausted, "need no token")
	_, err = client.Check(h.ctx, &healthpb.HealthCheckRequest{})
	h.ok(err)
	cancel()
	eventually(t, "there is room again", func() bool { return watch(h.ctx) == nil })
}

// TestOpenCalls: calls that need no token end if their message does not come, and are bounded in number.
func TestOpenCalls(t *testing.T) {
	h := newHarness(t, Options{})
	conns := []*grpc.ClientConn{h.conn, h.dial(func(c net.Conn) net.Conn { return c })}
	var silent []grpc.ClientStream
	for i := range maxOpenCalls {
		s, err := conns[i%2].NewStream(h.ctx, &grpc.StreamDesc{ClientStreams: true}, healthpb.Health_Check_FullMethodName)
		h.ok(err)
		silent = append(silent, s)
	}
	h.pending(t, maxOpenCalls)
	check := func() error {
		_, err := healthpb.NewHealthClient(h.conn).Check(h.ctx, &healthpb.HealthCheckRequest{})
		return err
	}
	h.fails("one more", check(), codes.ResourceExhausted, "need no token")
	h.clock.Advance(30 * time.Second)
	for _, s := range silent {
		h.fails("without a message", s.RecvMsg(new(healthpb.HealthCheckResponse)), codes.DeadlineExceeded, "did not arrive in time")
	}
	eventually(t, "there is room again", func() bool { return check() == nil })
	h.pending(t, 0)
}
