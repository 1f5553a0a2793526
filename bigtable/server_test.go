package bigtable

import (
	"bytes"
	"context"
	"net"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"colonnade/clock"
	"colonnade/widecol"
	"colonnade/widecol/memstore"
)

// harness is a server over a store in memory, and its clients.
type harness struct {
	*testing.T
	ctx   context.Context
	store widecol.Store
	clock *clock.Manual
	data  btpb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	inst  adminpb.BigtableInstanceAdminClient
}

const (
	testInstance = "projects/p/instances/i"
	testTable    = testInstance + "/tables/t"
)

// newHarness returns a harness with table t, which has the families a, b and c, and sum, min and max, which merge.
func newHarness(t *testing.T, opt Options) *harness {
	t.Helper()
	h := &harness{T: t, ctx: t.Context(), clock: clock.NewManual(5_000_123)}
	h.store = memstore.New(memstore.Options{Now: h.clock.Now})
	if opt.Clock == nil {
		opt.Clock = h.clock
	}
	s, err := New(h.store, opt)
	if err != nil {
		t.Fatal(err)
	}
	g := s.GRPC()
	l := bufconn.Listen(1 << 20)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	h.data, h.admin, h.inst = btpb.NewBigtableClient(conn), adminpb.NewBigtableTableAdminClient(conn), adminpb.NewBigtableInstanceAdminClient(conn)
	return h
}

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

// TestLargeValue: a value is split among chunks and whole again.
func TestLargeValue(t *testing.T) {
	h := newHarness(t, Options{})
	h.createTable()
	for _, size := range []int{0, 1, maxChunkValue - 1, maxChunkValue, maxChunkValue + 1, 5 * maxChunkValue} {
		value := bytes.Repeat([]byte("x"), size)
		h.ok(h.mutate("r", setCell("a", "q", 1000, string(value))))
		stream, err := h.data.ReadRows(h.ctx, &btpb.ReadRowsRequest{TableName: testTable})
		h.ok(err)
		var got []byte
		for {
			m, err := stream.Recv()
			if err != nil {
				t.Log(err)
				break
			}
			for _, c := range m.Chunks {
				t.Log(size, len(c.Value), c.ValueSize, c.RowKey, c.FamilyName, c.GetCommitRow())
				got = append(got, c.Value...)
			}
		}
		if len(got) != size {
			t.Errorf("%d bytes of %d", len(got), size)
		}
	}
}
