package bigtable

import (
	"bytes"
	"context"
	"slices"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

func encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// FuzzRowSet takes over any set of rows. What it takes has the keys that the message has.
func FuzzRowSet(f *testing.F) {
	for _, text := range []string{"", "a b", "[a,b) (b,c]", "(a,", ",b]", "(a,a\x00)", "[b,a)", "d b [a,c) (x,y)"} {
		f.Add(encode(rowSet(text)), []byte("b"))
	}
	f.Fuzz(func(t *testing.T, data, key []byte) {
		m := new(btpb.RowSet)
		if proto.Unmarshal(data, m) != nil || widecol.CheckRowKey(key) != nil {
			return
		}
		rows, err := rowsOf(m)
		if err != nil {
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%v: %v", m, err)
			}
			return
		}
		want := len(m.RowKeys)+len(m.RowRanges) == 0
		for _, k := range m.RowKeys {
			want = want || bytes.Equal(k, key)
		}
		for _, r := range m.RowRanges {
			want = want || inRange(r, key)
		}
		if got := rows.Contains(key); got != want {
			t.Errorf("%v: %q is in it: %t, want %t", m, key, got, want)
		}
	})
}

// inRange reports whether a range has a key, as the protocol says it.
func inRange(m *btpb.RowRange, key []byte) bool {
	above, below := true, true
	switch b := m.StartKey.(type) {
	case *btpb.RowRange_StartKeyClosed:
		above = bytes.Compare(key, b.StartKeyClosed) >= 0
	case *btpb.RowRange_StartKeyOpen:
		above = bytes.Compare(key, b.StartKeyOpen) > 0
	}
	switch b := m.EndKey.(type) {
	case *btpb.RowRange_EndKeyClosed:
		below = len(b.EndKeyClosed) == 0 || bytes.Compare(key, b.EndKeyClosed) <= 0
	case *btpb.RowRange_EndKeyOpen:
		below = len(b.EndKeyOpen) == 0 || bytes.Compare(key, b.EndKeyOpen) < 0
	}
	return above && below
}

// FuzzFilter takes over any filter tree. What it takes is a filter of the size that the message has, or less.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		`pass_all_filter: true`, `chain { filters { row_key_regex_filter: "a.*" } filters { cells_per_row_limit_filter: 1 } }`,
		`interleave { filters { value_range_filter { start_value_closed: "a" end_value_open: "b" } } filters { sink: true } }`,
		`condition { predicate_filter { family_name_regex_filter: "a" } true_filter { strip_value_transformer: true } false_filter { apply_label_transformer: "l" } }`,
		`column_range_filter { family_name: "a" start_qualifier_open: "b" }`, `timestamp_range_filter { start_timestamp_micros: 1000 }`, `row_sample_filter: 0.5`, `chain { }`,
	} {
		f.Add(encode(filter(text)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(btpb.RowFilter)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		tree, err := filterOf("filter", m)
		switch {
		case err != nil && status.Code(err) != codes.InvalidArgument:
			t.Errorf("%v: %v", m, err)
		case err == nil && (tree == nil || tree.Copies() > widecol.MaxFilterCopies):
			t.Errorf("%v becomes %v", m, tree)
		}
	})
}

// FuzzRequests sends any request of any call to a server. None has it panic, or answer a fault of its own.
func FuzzRequests(f *testing.F) {
	add := func(call int, m proto.Message) { f.Add(uint8(call), encode(m)) }
	add(0, &btpb.ReadRowsRequest{TableName: testTable, Rows: rowSet("a [b,c)"), Filter: filter(`chain { filters { pass_all_filter: true } filters { cells_per_row_limit_filter: 2 } }`), RowsLimit: 3})
	add(0, &btpb.ReadRowsRequest{TableName: testTable, Reversed: true, RequestStatsView: btpb.ReadRowsRequest_REQUEST_STATS_FULL, Filter: filter(`interleave { filters { apply_label_transformer: "a" } filters { sink: true } }`)})
	add(1, &btpb.SampleRowKeysRequest{TableName: testTable})
	add(2, &btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: []*btpb.Mutation{setCell("a", "q", -1, "v")}})
	add(2, &btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: mutations(`add_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } input { int_value: 1 } }`)})
	add(3, &btpb.MutateRowsRequest{TableName: testTable, Entries: []*btpb.MutateRowsRequest_Entry{entry("r", setCell("a", "q", 0, "v")), entry("s", mutation(`delete_from_row { }`))}})
	add(4, &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte("r"), PredicateFilter: filter(`value_regex_filter: "v"`), TrueMutations: mutations(`delete_from_family { family_name: "a" }`)})
	add(5, &btpb.ReadModifyWriteRowRequest{TableName: testTable, RowKey: []byte("r"), Rules: rules(`increment_amount: 1`, `append_value: "x"`)})
	add(6, &adminpb.ModifyColumnFamiliesRequest{Name: testTable, Modifications: modifications(`id: "n" create { gc_rule { max_num_versions: 1 } }`, `id: "n" drop: true`)})
	add(7, &adminpb.CreateTableRequest{Parent: testInstance, TableId: "u", Table: table(`column_families { key: "a" value { gc_rule { max_age { seconds: 1 } } } }`)})
	add(8, &adminpb.ListTablesRequest{Parent: testInstance, PageSize: 1, PageToken: "t"})
	add(9, &adminpb.DropRowRangeRequest{Name: testTable, Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte("r")}})
	add(10, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: testTable}})
	f.Fuzz(func(t *testing.T, call uint8, data []byte) {
		s := tableServer(t)
		err := s.request(int(call), data)
		if code := status.Code(err); code == codes.Internal || code == codes.Unknown || code == codes.DataLoss {
			t.Errorf("call %d of %q: %v", call, data, err)
		}
	})
}

// tableServer returns a server with table t, which has a row.
func tableServer(t *testing.T) fuzzed {
	c := clock.NewManual(5_000_123)
	store := memstore.New(memstore.Options{Now: c.Now})
	s, err := New(store, Options{Clock: c, Instance: testInstance})
	if err != nil {
		t.Fatal(err)
	}
	err = store.CreateTable(t.Context(), "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}, {Name: "sum", Merge: widecol.MergeSum}}})
	if err != nil {
		t.Fatal(err)
	}
	f := fuzzed{s, &tableAdmin{Server: s}, t.Context()}
	if err := f.mutateRow(encode(&btpb.MutateRowRequest{TableName: testTable, RowKey: []byte("r"), Mutations: []*btpb.Mutation{setCell("a", "q", 0, "v")}})); err != nil {
		t.Fatal(err)
	}
	return f
}

// fuzzed is a server without a connection, so that a panic ends the test.
type fuzzed struct {
	*Server
	admin *tableAdmin
	ctx   context.Context
}

// request decodes a request of a call and answers it.
func (s fuzzed) request(call int, data []byte) error {
	serve := []func() error{
		2: func() error { return s.mutateRow(data) }, 3: func() error { return s.mutateRows(data) },
		4: one(s.ctx, data, s.CheckAndMutateRow), 5: one(s.ctx, data, s.ReadModifyWriteRow), 6: one(s.ctx, data, s.admin.ModifyColumnFamilies), 7: one(s.ctx, data, s.admin.CreateTable), 8: one(s.ctx, data, s.admin.ListTables),
		9: one(s.ctx, data, s.admin.DropRowRange), 10: one(s.ctx, data, s.admin.UpdateTable),
		0: many(data, func(m *btpb.ReadRowsRequest) error { return s.ReadRows(m, &sink[btpb.ReadRowsResponse]{ctx: s.ctx}) }),
		1: many(data, func(m *btpb.SampleRowKeysRequest) error {
			return s.SampleRowKeys(m, &sink[btpb.SampleRowKeysResponse]{ctx: s.ctx})
		}),
	}
	return serve[call%len(serve)]()
}

func (s fuzzed) mutateRow(data []byte) error {
	r := new(mutateRow)
	if r.decode(data, s.now()) != nil {
		return nil
	}
	_, err := s.Server.mutateRow(s.ctx, r)
	return err
}

func (s fuzzed) mutateRows(data []byte) error {
	r := new(mutateRows)
	if r.decode(data, s.now()) != nil {
		return nil
	}
	return s.Server.mutateRows(r, &sink[btpb.MutateRowsResponse]{ctx: s.ctx})
}

// one returns a unary call of a request.
func one[M any, P interface {
	*M
	proto.Message
}, A any](ctx context.Context, data []byte, serve func(context.Context, P) (A, error)) func() error {
	return func() error {
		m := P(new(M))
		if proto.Unmarshal(data, m) != nil {
			return nil
		}
		_, err := serve(ctx, m)
		return err
	}
}

// many returns a call whose answers are a stream.
func many[M any, P interface {
	*M
	proto.Message
}](data []byte, serve func(P) error) func() error {
	return func() error {
		m := P(new(M))
		if proto.Unmarshal(data, m) != nil {
			return nil
		}
		return serve(m)
	}
}

// FuzzGCRule takes over any GC rule. What it takes comes back as the same policy.
func FuzzGCRule(f *testing.F) {
	for _, text := range []string{
		`max_num_versions: 2`, `max_age { seconds: 60 nanos: 1000 }`, `union { rules { max_num_versions: 2 } rules { max_age { seconds: 60 } } }`,
		`intersection { rules { max_age { seconds: 9223372036 } } rules { max_num_versions: 2147483647 } }`, `union { rules { intersection { } } }`,
	} {
		f.Add(encode(gcRule(text)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(adminpb.GcRule)
		if proto.Unmarshal(data, m) != nil {
			return
		}
		gc, err := gcOf("gc_rule", m)
		if err != nil {
			if !slices.Contains([]codes.Code{codes.InvalidArgument, codes.Unimplemented}, status.Code(err)) {
				t.Errorf("%v: %v", m, err)
			}
			return
		}
		if err := widecol.CheckGC(gc); err != nil {
			t.Fatalf("%v becomes %v: %v", m, gc, err)
		}
		if again, err := gcOf("gc_rule", ruleOf(gc)); err != nil || again != gc {
			t.Errorf("%s becomes %v and then %v, %v", prototext.Format(m), gc, again, err)
		}
	})
}

// sink takes answers and drops them.
type sink[A any] struct{ ctx context.Context }

func (s *sink[A]) Send(*A) error                { return nil }
func (s *sink[A]) SetHeader(metadata.MD) error  { return nil }
func (s *sink[A]) SendHeader(metadata.MD) error { return nil }
func (s *sink[A]) SetTrailer(metadata.MD)       {}
func (s *sink[A]) Context() context.Context     { return s.ctx }
func (s *sink[A]) SendMsg(m any) error {
	if e, ok := m.(encoded); ok {
		return proto.Unmarshal(*e.data, new(btpb.ReadRowsResponse))
	}
	return nil
}
func (s *sink[A]) RecvMsg(any) error { return nil }
