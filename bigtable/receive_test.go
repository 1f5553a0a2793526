package bigtable

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"

	"github.com/colonnade-db/colonnade/access"
)

// sender is a client whose connection counts what it sends, and stops after most bytes until goOn is closed.
type sender struct {
	data btpb.BigtableClient
	conn *grpc.ClientConn
	sent atomic.Int64
	most int64
	goOn chan struct{}
}

func (h *harness) sender(most int64) *sender {
	s := &sender{most: most, goOn: make(chan struct{})}
	s.conn = h.dial(func(c net.Conn) net.Conn { return counted{c, s} })
	s.data = btpb.NewBigtableClient(s.conn)
	return s
}

type counted struct {
	net.Conn
	sender *sender
}

func (c counted) Write(p []byte) (int, error) {
	if c.sender.sent.Load()+int64(len(p)) > c.sender.most {
		<-c.sender.goOn
	}
	c.sender.sent.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// write writes a row with a value of size bytes.
func (s *sender) write(ctx context.Context, size int) error {
	_, err := s.data.MutateRow(ctx, &btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: []*btpb.Mutation{setCell("a", "q", 0, strings.Repeat("x", size))}})
	return err
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited for this in vain: %s", what)
		}
	}
}

// atMost is what a sender may have sent of a message that the server does not take: a window, and the frames of a
// connection and a call.
const atMost = streamWindow + 4<<10

// TestUnknownSender: who has no token may not send a message that is longer than the window of a stream.
func TestUnknownSender(t *testing.T) {
	g := newGuarded(t, 0)
	for call, stream := range map[string]bool{"MutateRow": false, "MutateRows": true} {
		s := g.sender(1 << 30)
		for n := range 3 {
			var err error
			if stream {
				var answers btpb.Bigtable_MutateRowsClient
				answers, err = s.data.MutateRows(g.ctx, &btpb.MutateRowsRequest{TableName: testTable, Entries: []*btpb.MutateRowsRequest_Entry{
					entry("r", setCell("a", "q", 0, strings.Repeat("x", 16<<20)))}})
				if err == nil {
					_, err = answers.Recv()
				}
			} else {
				err = s.write(g.ctx, 16<<20)
			}
			g.fails(call, err, codes.Unauthenticated, "needs a token")
			if sent := s.sent.Load(); sent > int64(n+1)*atMost {
				t.Errorf("%s: %d bytes were taken of %d messages", call, sent, n+1)
			}
		}
	}
	g.ok(g.sender(1<<30).write(g.token(access.Write, time.Time{}, "*"), 8<<20))
}

// TestMemoryBeforeMessage: a message is refused before it is sent if there is no memory for it, and takes its memory
// before it has come.
func TestMemoryBeforeMessage(t *testing.T) {
	h, control := withMemory(t, 10<<20)
	s := h.sender(1 << 30)
	h.fails("larger than all memory", s.write(h.ctx, 16<<20), codes.ResourceExhausted, "more than the memory of all requests")
	if sent := s.sent.Load(); sent > atMost {
		t.Errorf("%d bytes were taken of it", sent)
	}

	slow, done := h.sender(1<<20), make(chan error)
	go func() { done <- slow.write(h.ctx, 8<<20) }()
	m := control.Memory()
	eventually(t, "the message has its memory", func() bool { return m.Free() <= 2<<20 })
	s = h.sender(1 << 30)
	err := s.write(h.ctx, 4<<20)
	h.fails("beside another request", err, codes.Unavailable, "too many bytes together")
	if sent := s.sent.Load(); sent > atMost || retryDelay(err) <= 0 {
		t.Errorf("%d bytes were taken of it, try again in %v", sent, retryDelay(err))
	}
	close(slow.goOn)
	h.ok(<-done)
	h.ok(s.write(h.ctx, 4<<20))
	h.allFree(control)
}

// TestMemoryOfMutations: a short message of many mutations takes the memory that they need.
func TestMemoryOfMutations(t *testing.T) {
	h, control := withMemory(t, 10<<20)
	many := make([]*btpb.Mutation, maxMutations)
	for i := range many {
		many[i] = &btpb.Mutation{Mutation: &btpb.Mutation_SetCell_{SetCell: new(btpb.Mutation_SetCell)}}
	}
	h.fails("100,000 mutations", h.mutate("r", many...), codes.ResourceExhausted, "more than the memory of all requests")
	h.fails("100 mutations", h.mutate("r", many[:100]...), codes.NotFound, "family")
	h.allFree(control)
}

// TestLateMessage: who announces a message and does not send it loses its memory.
func TestLateMessage(t *testing.T) {
	h, control := withMemory(t, 10<<20)
	slow, done := h.sender(1<<20), make(chan error)
	go func() { done <- slow.write(h.ctx, 8<<20) }()
	m := control.Memory()
	eventually(t, "the message has its memory", func() bool { return m.Free() <= 2<<20 })
	h.clock.Advance(30*time.Second - time.Microsecond)
	if m.Free() > 2<<20 {
		t.Error("it has less time than 30 s")
	}
	h.clock.Advance(time.Microsecond)
	h.fails("after 30 s", <-done, codes.DeadlineExceeded, "did not arrive in time")
	h.allFree(control)
	close(slow.goOn)
}

// raw is a codec of messages that are bytes.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }
func (raw) Name() string                         { return "proto" }

// TestOddMessages: messages that are damaged, or none.
func TestOddMessages(t *testing.T) {
	h, control := withMemory(t, 10<<20)
	call := func(messages ...[]byte) error {
		stream, err := h.conn.NewStream(h.ctx, &grpc.StreamDesc{ClientStreams: true}, btpb.Bigtable_MutateRow_FullMethodName, grpc.ForceCodecV2(raw{}))
		h.ok(err)
		for _, m := range messages {
			h.ok(stream.SendMsg(m))
		}
		h.ok(stream.CloseSend())
		return stream.RecvMsg(nil)
	}
	h.fails("damaged", call([]byte("\xff\xff")), codes.InvalidArgument, "the message is damaged")
	h.fails("none", call(), codes.InvalidArgument, "no whole message")
	h.fails("two", call(nil, nil), codes.InvalidArgument, "more than one message")
	h.fails("empty", call(nil), codes.InvalidArgument, "no name of a table")
	err := h.conn.Invoke(h.ctx, healthpb.Health_Check_FullMethodName, &healthpb.HealthCheckRequest{Service: strings.Repeat("x", 2*maxSmallMessage)}, new(healthpb.HealthCheckResponse))
	h.fails("health", err, codes.ResourceExhausted, "larger than max")
	h.allFree(control)
}
