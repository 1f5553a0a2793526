package bigtable

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/widecol"
)

// wire is gRPC's transport of a call that sends one message, in frames.
type wire struct {
	rest []byte
	sent bool // the header of the message
}

func overWire(ctx context.Context, message []byte) context.Context {
	return grpc.NewContextWithServerTransportStream(ctx, &wire{rest: message})
}

func (w *wire) ReadMessageHeader(header []byte) error {
	if w.sent {
		return io.EOF
	}
	w.sent = true
	binary.BigEndian.PutUint32(header[1:], uint32(len(w.rest)))
	return nil
}

func (w *wire) Read(n int) (list mem.BufferSlice, err error) {
	const frame = 16 << 10
	for part := range slices.Chunk(w.rest[:n], frame) {
		list = append(list, mem.Copy(part, mem.DefaultBufferPool()))
	}
	w.rest = w.rest[n:]
	return list, nil
}

func (w *wire) WriteStatus(*status.Status) error { return nil }
func (w *wire) Method() string                   { return "" }
func (w *wire) SetHeader(metadata.MD) error      { return nil }
func (w *wire) SendHeader(metadata.MD) error     { return nil }
func (w *wire) SetTrailer(metadata.MD) error     { return nil }

// taker is a Store that takes each write and keeps nothing.
type taker struct{ widecol.Store }

func (taker) Write(context.Context, string, []widecol.Mutation, string) (int64, error) { return 0, nil }
func (taker) WriteRows(_ context.Context, _ string, rows [][]widecol.Mutation, _ string) (int64, []error, error) {
	return 0, make([]error, len(rows)), nil
}

// writeCalls returns functions that make the two calls that write, of a row and of 100 rows with ten cells each, from gRPC's
// transport to the Store and back.
func writeCalls(t testing.TB) (one, many func()) {
	s, err := New(taker{}, Options{Instance: testInstance})
	if err != nil {
		t.Fatal(err)
	}
	w, service := watcher{server: s, meters: s.opt.Metrics.FrontEnd("bigtable")}, dataService()
	unary := service.Methods[slices.IndexFunc(service.Methods, func(m grpc.MethodDesc) bool { return m.MethodName == "MutateRow" })]
	stream := service.Streams[slices.IndexFunc(service.Streams, func(m grpc.StreamDesc) bool { return m.StreamName == "MutateRows" })]
	call, calls := w.unary("", unary.MethodName, unary.Handler), w.streaming("", stream.StreamName, stream.Handler)

	row := func(n int) *btpb.MutateRowsRequest_Entry {
		e := &btpb.MutateRowsRequest_Entry{RowKey: fmt.Appendf(nil, "row%09d", n)}
		for column := range 10 {
			e.Mutations = append(e.Mutations, setCell("a", fmt.Sprintf("column%d", column), 1000, strings.Repeat("v", 100)))
		}
		return e
	}
	bulk := &btpb.MutateRowsRequest{TableName: testTable}
	for n := range 100 {
		bulk.Entries = append(bulk.Entries, row(n))
	}
	oneRow, manyRows := encode(&btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: row(0).Mutations}), encode(bulk)
	one = func() {
		if _, err := call(s, overWire(t.Context(), oneRow), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	many = func() {
		if err := calls(s, sent{ctx: overWire(t.Context(), manyRows)}); err != nil {
			t.Fatal(err)
		}
	}
	return one, many
}

// TestAllocationsOfWrites: a write allocates nothing for a cell between gRPC's transport and the Store.
func TestAllocationsOfWrites(t *testing.T) {
	_, many := writeCalls(t)
	if n := testing.AllocsPerRun(3, many); n > 500 { // pools lose some under the race detector
		t.Errorf("a thousand cells made %v allocations", n)
	}
}

// BenchmarkWrites measures writes between gRPC's transport and the Store.
func BenchmarkWrites(b *testing.B) {
	one, many := writeCalls(b)
	for name, call := range map[string]func(){"MutateRow": one, "MutateRows": many} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
