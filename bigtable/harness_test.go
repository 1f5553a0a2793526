package bigtable

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// harness is a server over a store in memory, and its clients.
type harness struct {
	testing.TB
	ctx   context.Context
	store widecol.Store
	clock *clock.Manual
	conn  *grpc.ClientConn
	wire  *bufconn.Listener
	conns *admission.Connections
	data  btpb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	inst  adminpb.BigtableInstanceAdminClient

	server *Server
}

const (
	testInstance = "projects/p/instances/i"
	testTable    = testInstance + "/tables/t"
)

// newHarness returns a harness without tables, at the time 5000123.
func newHarness(t testing.TB, opt Options) *harness {
	t.Helper()
	h := &harness{TB: t, ctx: t.Context(), clock: clock.NewManual(5_000_123)}
	h.store = memstore.New(memstore.Options{Now: h.clock.Now})
	return h.serve(opt)
}

// withTable returns a harness with table t.
func withTable(t testing.TB) *harness {
	t.Helper()
	h := newHarness(t, Options{})
	h.createTable()
	return h
}

// serve serves the store.
func (h *harness) serve(opt Options) *harness {
	h.Helper()
	if opt.Clock == nil {
		opt.Clock = h.clock
	}
	s, err := New(h.store, opt)
	h.ok(err)
	h.server = s
	g := s.GRPC()
	h.wire = bufconn.Listen(1 << 20)
	h.conns = admission.NewConnections(100)
	go g.Serve(h.conns.Listen(h.wire))
	h.Cleanup(func() { g.Stop(); s.Close() })
	h.conn = h.dial(func(c net.Conn) net.Conn { return c })
	h.data, h.admin, h.inst = btpb.NewBigtableClient(h.conn), adminpb.NewBigtableTableAdminClient(h.conn), adminpb.NewBigtableInstanceAdminClient(h.conn)
	return h
}

// dial connects to the server. through wraps each connection.
func (h *harness) dial(through func(net.Conn) net.Conn) *grpc.ClientConn {
	h.Helper()
	l := h.wire
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := l.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			return through(c), nil
		}),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow), // not more, as fast as the connection is
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)))
	h.ok(err)
	h.Cleanup(func() { conn.Close() })
	return conn
}

// createTable creates table t, which has the families a, b and c, and sum, min and max, which merge.
func (h *harness) createTable() {
	h.Helper()
	families := map[string]*adminpb.ColumnFamily{"a": {}, "b": {}, "c": {}}
	for name, of := range aggregators {
		families[name] = &adminpb.ColumnFamily{ValueType: &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: of}}}
	}
	_, err := h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: testInstance, TableId: "t", Table: &adminpb.Table{ColumnFamilies: families}})
	h.ok(err)
}

var int64Type = &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{}}}

var aggregators = map[string]*adminpb.Type_Aggregate{
	"sum": {InputType: int64Type, Aggregator: &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}},
	"min": {InputType: int64Type, Aggregator: &adminpb.Type_Aggregate_Min_{Min: &adminpb.Type_Aggregate_Min{}}},
	"max": {InputType: int64Type, Aggregator: &adminpb.Type_Aggregate_Max_{Max: &adminpb.Type_Aggregate_Max{}}},
}

func (h *harness) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func setCell(family, qualifier string, time int64, value string) *btpb.Mutation {
	return &btpb.Mutation{Mutation: &btpb.Mutation_SetCell_{SetCell: &btpb.Mutation_SetCell{
		FamilyName: family, ColumnQualifier: []byte(qualifier), TimestampMicros: time, Value: []byte(value),
	}}}
}

func (h *harness) mutate(row string, list ...*btpb.Mutation) error {
	_, err := h.data.MutateRow(h.ctx, &btpb.MutateRowRequest{TableName: testTable, RowKey: []byte(row), Mutations: list})
	return err
}

// fails checks the code of an error, and that its message has a text.
func (h *harness) fails(what string, err error, code codes.Code, text string) {
	h.Helper()
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), text) {
		h.Errorf("%s: got %v, want %v with %q", what, err, code, text)
	}
}

// same compares texts line by line.
func (h *harness) same(what, got, want string) {
	h.Helper()
	if got != want {
		h.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// rows reads rows and returns their cells, a line for each: row family:qualifier@time value label.
func (h *harness) rows(r *btpb.ReadRowsRequest) string {
	h.Helper()
	text, err := h.readRows(r)
	h.ok(err)
	return text
}

func (h *harness) readRows(r *btpb.ReadRowsRequest) (string, error) {
	messages, err := h.messages(r)
	var d decoder
	for _, m := range messages {
		d.message(h, m)
	}
	return strings.TrimSuffix(d.text.String(), "\n"), err
}

// messages returns the answers to a request.
func (h *harness) messages(r *btpb.ReadRowsRequest) (list []*btpb.ReadRowsResponse, err error) {
	h.Helper()
	if r.TableName == "" {
		r.TableName = testTable
	}
	stream, err := h.data.ReadRows(h.ctx, r)
	h.ok(err)
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, m)
	}
}

// decoder reads chunks as a client does, and checks what the protocol says of them.
type decoder struct {
	text              strings.Builder
	in                bool // a row
	row               []byte
	family, qualifier string
	split             int32 // length of the value that goes on
	value             []byte
	cell              *btpb.ReadRowsResponse_CellChunk // first of the value that goes on
}

func (d *decoder) message(h *harness, m *btpb.ReadRowsResponse) {
	for _, c := range m.Chunks {
		d.chunk(h, c)
	}
	if d.in {
		h.Errorf("a message ends inside of row %q", d.row)
	}
}

func (d *decoder) chunk(h *harness, c *btpb.ReadRowsResponse_CellChunk) {
	switch goesOn := len(d.value) > 0; {
	case goesOn && (len(c.RowKey) > 0 || c.FamilyName != nil || c.Qualifier != nil || c.TimestampMicros != 0 || len(c.Labels) > 0):
		h.Errorf("a value goes on with %v", c)
	case !goesOn:
		d.begin(h, c)
	}
	d.value = append(d.value, c.Value...)
	if c.ValueSize != 0 {
		if d.split != 0 && d.split != c.ValueSize || c.GetCommitRow() {
			h.Errorf("in a value of %d bytes: size %d, commit %t", d.split, c.ValueSize, c.GetCommitRow())
		}
		d.split = c.ValueSize
		return
	}
	if d.split != 0 && int(d.split) != len(d.value) {
		h.Errorf("a value of %d bytes has %d", d.split, len(d.value))
	}
	fmt.Fprintf(&d.text, "%s %s:%s@%d %s", d.row, d.family, d.qualifier, d.cell.TimestampMicros, d.value)
	for _, label := range d.cell.Labels {
		fmt.Fprintf(&d.text, " %s", label)
	}
	d.text.WriteByte('\n')
	d.value, d.split = nil, 0
	if c.GetCommitRow() {
		d.in = false
	}
}

// begin takes the row, the family and the qualifier of a cell. They stand only where they change.
func (d *decoder) begin(h *harness, c *btpb.ReadRowsResponse_CellChunk) {
	if d.in != (len(c.RowKey) == 0) {
		h.Errorf("row key %q in row %q, inside %t", c.RowKey, d.row, d.in)
	}
	first := !d.in
	if first {
		d.row, d.in = c.RowKey, true
	}
	if c.FamilyName != nil {
		if !first && c.FamilyName.Value == d.family || c.Qualifier == nil {
			h.Errorf("family %v again, or without qualifier %v", c.FamilyName, c.Qualifier)
		}
		d.family = c.FamilyName.Value
	} else if first {
		h.Errorf("row %q begins without a family", d.row)
	}
	if c.Qualifier != nil {
		if c.FamilyName == nil && string(c.Qualifier.Value) == d.qualifier {
			h.Errorf("qualifier %v again", c.Qualifier)
		}
		d.qualifier = string(c.Qualifier.Value)
	}
	d.cell = c
}

func lines(list ...string) string { return strings.Join(list, "\n") }
