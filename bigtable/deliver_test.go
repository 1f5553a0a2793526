package bigtable

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// withRows returns a harness whose table t has rows of 64 KiB, with room for many scans.
func withRows(t *testing.T, rows int) (*harness, *admission.Control) {
	h := newHarness(t, Options{})
	store, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	h.ok(err)
	t.Cleanup(func() { store.Close() })
	h.store = store // memstore would collect an answer before it returns its first row
	limits := admission.Limits{Scans: 2000}
	control := admission.New(limits, admission.NewLimiters(limits, h.clock))
	h.serve(Options{Admission: control})
	h.createTable()
	for i := range rows {
		h.writeLarge(fmt.Sprintf("%03d", i), 64<<10)
	}
	return h, control
}

// read begins to read table t over a connection, and takes nothing.
func (h *harness) read(conn *grpc.ClientConn) btpb.Bigtable_ReadRowsClient {
	h.Helper()
	stream, err := btpb.NewBigtableClient(conn).ReadRows(h.ctx, &btpb.ReadRowsRequest{TableName: testTable})
	h.ok(err)
	_, err = stream.Header() // there is an answer
	h.ok(err)
	return stream
}

// pending waits until n calls of the clock are to come, and stay: those that end what a client does not take.
func (h *harness) pending(t *testing.T, n int) {
	t.Helper()
	calm := 0
	eventually(t, "the limits of clients have begun", func() bool {
		if calm++; h.clock.Pending() != n {
			calm = 0
		}
		return calm == 1000
	})
}

// TestStalledReader: a client that takes nothing of its answer for a minute loses its call, and its connection only if it
// still takes nothing.
func TestStalledReader(t *testing.T) {
	for _, takes := range []bool{true, false} {
		h, control := withRows(t, 64)
		conn := h.dial(func(c net.Conn) net.Conn { return c })
		stream := h.read(conn)
		h.pending(t, 1)
		open := h.conns.Open()
		if free := control.Scans().Free(); free != 1999 {
			t.Fatalf("%d scans are free while one is under way", free)
		}
		h.clock.Advance(60 * time.Second)
		eventually(t, "the call ends", func() bool { return control.Scans().Free() == 2000 })
		if h.conns.Open() != open {
			t.Error("the connection is closed")
		}
		if takes {
			h.fails("what the client gets", last(stream.Recv), codes.Unavailable, "did not take the answer")
			h.clock.Advance(10 * time.Minute)
			_, err := btpb.NewBigtableClient(conn).MutateRow(h.ctx, &btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: []*btpb.Mutation{setCell("a", "q", 0, "v")}})
			h.ok(err)
			if h.conns.Open() != open {
				t.Error("the connection of who has taken it after all is closed")
			}
		} else {
			h.pending(t, 1)
			h.clock.Advance(60 * time.Second)
			eventually(t, "the connection is closed", func() bool { return h.conns.Open() == open-1 })
		}
		<-control.Drain()
	}
}

// TestStalledLongRow: a client that does not take a long row loses its connection, and the memory of the row is free. It
// has a minute, and a second for each 64 KiB.
func TestStalledLongRow(t *testing.T) {
	h, control := withMemory(t, 8<<20)
	h.writeLarge("large", 6<<20)
	conn := h.dial(func(c net.Conn) net.Conn { return c })
	h.read(conn)
	open, m := h.conns.Open(), control.Memory()
	h.pending(t, 1)
	h.clock.Advance(60*time.Second + 6<<20/leastPace*time.Second - time.Second)
	if m.Free() > 3<<20 || h.conns.Open() != open {
		t.Error("it has less time")
	}
	h.clock.Advance(time.Second)
	eventually(t, "the connection is closed", func() bool { return h.conns.Open() == open-1 })
	h.allFree(control)
}

// TestManySlowReaders: a thousand clients that do not take their answers hold some messages each, and keep nobody out.
// After a minute they hold nothing.
func TestManySlowReaders(t *testing.T) {
	const readers, connections = 1000, 10
	h, control := withRows(t, 64)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var conns []*grpc.ClientConn
	for range connections {
		conns = append(conns, h.dial(func(c net.Conn) net.Conn { return c }))
	}
	for i := range readers {
		h.read(conns[i%connections])
	}
	h.pending(t, readers)
	if free := control.Scans().Free(); free != 2000-readers {
		t.Fatalf("%d scans are free while all are under way", free)
	}
	if n := strings.Count(h.rows(&btpb.ReadRowsRequest{}), "\n") + 1; n != 64 {
		t.Errorf("another scan gets %d rows", n)
	}
	h.ok(h.mutate("000", setCell("a", "r", 0, "v")))
	if got := h.rows(&btpb.ReadRowsRequest{Rows: rowSet("000"), Filter: filter(`column_qualifier_regex_filter: "r"`)}); got != "000 a:r@0 v" {
		t.Errorf("another read gets %s", got)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// Three buffers of messages in the server, and a window in the client: far less than the table.
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / readers; each > 500<<10 {
		t.Errorf("each takes %d bytes of memory", each)
	}
	h.clock.Advance(60 * time.Second)
	eventually(t, "all calls have ended", func() bool { return control.Scans().Free() == 2000 })
	h.pending(t, readers)
	h.clock.Advance(60 * time.Second)
	eventually(t, "their connections are closed", func() bool { return h.conns.Open() <= 2 })
	<-control.Drain()
}

// TestStalledLastMessage: a client that does not take the last message of an answer loses its connection, although its
// call has ended. The one message of an answer has memory meanwhile.
func TestStalledLastMessage(t *testing.T) {
	const size = 3 << 20
	append1 := &btpb.ReadModifyWriteRowRequest{TableName: testTable, RowKey: []byte("large"), Rules: []*btpb.ReadModifyWriteRule{{
		FamilyName: "a", ColumnQualifier: []byte("q"), Rule: &btpb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("x")},
	}}}
	readOne := &btpb.ReadRowsRequest{TableName: testTable, Rows: rowSet("small")}
	for _, c := range []struct {
		method  string
		request proto.Message
		memory  int64
		limit   time.Duration
	}{
		{btpb.Bigtable_ReadModifyWriteRow_FullMethodName, append1, size, 60*time.Second + size/leastPace*time.Second},
		{btpb.Bigtable_ReadRows_FullMethodName, readOne, 0, 60 * time.Second},
	} {
		for _, takes := range []bool{true, false} {
			h, control := withMemory(t, 8<<20)
			h.writeLarge("large", size)
			h.writeLarge("small", 200<<10)
			conn := h.dial(func(c net.Conn) net.Conn { return c })
			stream, err := conn.NewStream(h.ctx, &grpc.StreamDesc{ServerStreams: true}, c.method, grpc.ForceCodecV2(raw{}))
			h.ok(err)
			request, err := proto.Marshal(c.request)
			h.ok(err)
			h.ok(stream.SendMsg(request))
			h.ok(stream.CloseSend())
			_, err = stream.Header()
			h.ok(err)
			h.pending(t, 1)
			open, m := h.conns.Open(), control.Memory()
			eventually(t, "the memory of the answer alone is taken", func() bool { return m.Size()-m.Free() <= c.memory+1<<10 })
			if taken := m.Size() - m.Free(); taken < c.memory {
				t.Errorf("%s: %d bytes are taken for an answer that is not sent", c.method, taken)
			}
			h.clock.Advance(c.limit - time.Microsecond)
			if takes {
				h.ok(stream.RecvMsg(nil))
				h.pending(t, 0)
			}
			h.clock.Advance(time.Microsecond)
			if takes && h.conns.Open() != open {
				t.Errorf("%s: the connection of who has taken it is closed", c.method)
			}
			if !takes {
				eventually(t, "the connection is closed", func() bool { return h.conns.Open() == open-1 })
			}
			eventually(t, "all memory is free", func() bool { return m.Free() == m.Size() })
		}
	}
}

// TestNoMemoryForAnswer: a row is changed, and the call says so, when its answer finds no memory.
func TestNoMemoryForAnswer(t *testing.T) {
	h, control := withMemory(t, 2<<20)
	h.writeLarge("large", 3<<20)
	_, err := h.data.ReadModifyWriteRow(h.ctx, &btpb.ReadModifyWriteRowRequest{TableName: testTable, RowKey: []byte("large"), Rules: []*btpb.ReadModifyWriteRule{{
		FamilyName: "a", ColumnQualifier: []byte("q"), Rule: &btpb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("x")},
	}}})
	h.fails("append", err, codes.ResourceExhausted, "this was done, but there is no memory for the answer")
	h.allFree(control)
}
