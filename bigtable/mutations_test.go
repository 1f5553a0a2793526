package bigtable

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// mutation returns the mutation of a text in the text format of protocol buffers.
func mutation(text string) *btpb.Mutation {
	m := new(btpb.Mutation)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return m
}

func mutations(texts ...string) (list []*btpb.Mutation) {
	for _, text := range texts {
		list = append(list, mutation(text))
	}
	return list
}

// TestMutations: they apply in their order.
func TestMutations(t *testing.T) {
	const (
		set    = `set_cell { family_name: "a" column_qualifier: "q" timestamp_micros: 1000 value: "new" }`
		column = `delete_from_column { family_name: "a" column_qualifier: "q" %s }`
		was    = "r a:p@1000 p\nr a:q@5000 5\nr a:q@3000 3\nr a:q@0 0\nr b:q@1000 b"
	)
	for _, c := range []struct {
		mutations []string
		want      string
	}{
		{[]string{set}, "r a:p@1000 p\nr a:q@5000 5\nr a:q@3000 3\nr a:q@1000 new\nr a:q@0 0\nr b:q@1000 b"},
		{[]string{`delete_from_row { }`}, ""},
		{[]string{`delete_from_row { }`, set}, "r a:q@1000 new"},
		{[]string{set, `delete_from_row { }`}, ""},
		{[]string{`delete_from_family { family_name: "a" }`}, "r b:q@1000 b"},
		{[]string{`delete_from_family { family_name: "a" }`, set}, "r a:q@1000 new\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, "")}, "r a:p@1000 p\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, ""), set}, "r a:p@1000 p\nr a:q@1000 new\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, `time_range { }`)}, "r a:p@1000 p\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, `time_range { start_timestamp_micros: 3000 }`)}, "r a:p@1000 p\nr a:q@0 0\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, `time_range { end_timestamp_micros: 3000 }`)}, "r a:p@1000 p\nr a:q@5000 5\nr a:q@3000 3\nr b:q@1000 b"},
		{[]string{fmt.Sprintf(column, `time_range { start_timestamp_micros: 1000 end_timestamp_micros: 5000 }`)}, "r a:p@1000 p\nr a:q@5000 5\nr a:q@0 0\nr b:q@1000 b"},
		{[]string{`delete_from_column { family_name: "c" column_qualifier: "none" }`}, was},
		{[]string{set, `set_cell { family_name: "a" column_qualifier: "q" timestamp_micros: 1000 value: "newer" }`}, "r a:p@1000 p\nr a:q@5000 5\nr a:q@3000 3\nr a:q@1000 newer\nr a:q@0 0\nr b:q@1000 b"},
		// The time of the server is cut to milliseconds.
		{[]string{`delete_from_row { }`, `set_cell { family_name: "a" timestamp_micros: -1 value: "now" }`}, "r a:@5000000 now"},
		{[]string{`delete_from_row { }`, `set_cell { family_name: "a" value: "0" }`}, "r a:@0 0"},
		{[]string{`delete_from_row { }`, `set_cell { family_name: "a" timestamp_micros: 1234567 value: "cut" } timestamp_origin: CLIENT_AUTO_GENERATED`}, "r a:@1234000 cut"},
		{[]string{`delete_from_row { }`, `set_cell { family_name: "a" timestamp_micros: 9223372036854775000 }`}, "r a:@9223372036854775000 "},
	} {
		h := withTable(t)
		h.ok(h.mutate("r", setCell("a", "p", 1000, "p"), setCell("a", "q", 0, "0"), setCell("a", "q", 3000, "3"), setCell("a", "q", 5000, "5"), setCell("b", "q", 1000, "b")))
		h.same("before", h.rows(&btpb.ReadRowsRequest{}), was)
		h.ok(h.mutate("r", mutations(c.mutations...)...))
		h.same(fmt.Sprint(c.mutations), h.rows(&btpb.ReadRowsRequest{}), c.want)
	}
}

// TestSameMillisecond: two writes at the time of the server in a millisecond are one version, the later one.
func TestSameMillisecond(t *testing.T) {
	h := withTable(t)
	now := `set_cell { family_name: "a" timestamp_micros: -1 value: "%d" }`
	for i := range 4 {
		h.ok(h.mutate("r", mutation(fmt.Sprintf(now, i))))
		h.clock.Advance(400 * time.Microsecond)
	}
	h.same("versions", h.rows(&btpb.ReadRowsRequest{}), "r a:@5001000 3\nr a:@5000000 2")
}

// wrongMutations are mutations that are refused, and why.
var wrongMutations = []struct {
	mutation string
	code     codes.Code
	want     string
}{
	{``, codes.InvalidArgument, "a mutation needs one of set_cell"},
	{`set_cell { family_name: "a" timestamp_micros: 1001 }`, codes.InvalidArgument, "the time 1001 is no multiple of 1000"},
	{`set_cell { family_name: "a" timestamp_micros: -2 }`, codes.InvalidArgument, "the time -2 is below -1"},
	{`set_cell { family_name: "a" timestamp_micros: -1000 }`, codes.InvalidArgument, "the time -1000 is below -1"},
	{`set_cell { family_name: "a" timestamp_micros: -2 } timestamp_origin: CLIENT_AUTO_GENERATED`, codes.InvalidArgument, "the time -2 is below -1"},
	{`set_cell { family_name: "a" timestamp_micros: 9223372036854775807 }`, codes.InvalidArgument, "the time 9223372036854775807 is no multiple"},
	{`set_cell { family_name: "none" }`, codes.NotFound, `table "p$i$t" has no column family "none"`},
	{`set_cell { }`, codes.NotFound, `has no column family ""`},
	{`set_cell { family_name: "sum" }`, codes.InvalidArgument, `column family "sum" of table "p$i$t" has the merge operator sum: its cells are merged, not set`},
	{`set_cell { family_name: "a" column_qualifier: "` + strings.Repeat("q", widecol.MaxQualifier+1) + `" }`, codes.InvalidArgument, "qualifier has 16385 bytes, allowed are 0 to 16384"},
	{`delete_from_column { family_name: "none" }`, codes.NotFound, `has no column family "none"`},
	{`delete_from_column { family_name: "a" time_range { start_timestamp_micros: 2000 end_timestamp_micros: 1000 } }`, codes.InvalidArgument, "time_range from 2000 to 1000"},
	{`delete_from_column { family_name: "a" time_range { start_timestamp_micros: 1000 end_timestamp_micros: 1000 } }`, codes.InvalidArgument, "time_range from 1000 to 1000"},
	{`delete_from_column { family_name: "a" time_range { start_timestamp_micros: -1000 } }`, codes.InvalidArgument, "time_range from -1000 to 0"},
	{`delete_from_column { family_name: "a" time_range { start_timestamp_micros: 1 } }`, codes.InvalidArgument, "time_range from 1 to 0: both must be multiples of 1000"},
	{`delete_from_column { family_name: "a" time_range { end_timestamp_micros: 1 } }`, codes.InvalidArgument, "time_range from 0 to 1: both must be multiples of 1000"},
	{`delete_from_column { family_name: "a" time_range { end_timestamp_micros: -1000 } }`, codes.InvalidArgument, "time_range from 0 to -1000"},
	{`delete_from_family { family_name: "none" }`, codes.NotFound, `has no column family "none"`},
	{`delete_from_family { }`, codes.NotFound, `has no column family ""`},
	{`add_to_cell { family_name: "a" timestamp { raw_timestamp_micros: 0 } input { int_value: 1 } }`, codes.InvalidArgument, "has no merge operator: its cells are set, not merged"},
	{`add_to_cell { family_name: "none" timestamp { raw_timestamp_micros: 0 } input { int_value: 1 } }`, codes.NotFound, `has no column family "none"`},
	{`add_to_cell { family_name: "sum" input { int_value: 1 } }`, codes.InvalidArgument, "timestamp: raw_timestamp_micros is needed"},
	{`add_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } input { raw_value: "12345678" } }`, codes.InvalidArgument, "add_to_cell.input: only int_value"},
	{`add_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } }`, codes.InvalidArgument, "add_to_cell.input: only int_value"},
	{`add_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 5 } input { int_value: 1 } }`, codes.InvalidArgument, "the time 5 is no multiple"},
	{`add_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: -2 } input { int_value: 1 } }`, codes.InvalidArgument, "the time -2 is below -1"},
	{`merge_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } input { int_value: 1 } }`, codes.InvalidArgument, "merge_to_cell.input: only raw_value of 8 bytes"},
	{`merge_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } input { raw_value: "short" } }`, codes.InvalidArgument, "merge_to_cell.input: only raw_value of 8 bytes"},
	{`merge_to_cell { family_name: "sum" input { raw_value: "12345678" } }`, codes.InvalidArgument, "timestamp: raw_timestamp_micros is needed"},
	{`merge_to_cell { family_name: "b" timestamp { raw_timestamp_micros: 0 } input { raw_value: "12345678" } }`, codes.InvalidArgument, "has no merge operator"},
}

// TestWrongMutations: in every call that has mutations the error names the one that is wrong, and nothing is written.
func TestWrongMutations(t *testing.T) {
	h := withTable(t)
	good := setCell("a", "good", 0, "")
	for _, c := range wrongMutations {
		what := fmt.Sprintf("%.100s", c.mutation)
		list := []*btpb.Mutation{good, mutation(c.mutation)}
		h.fails(what, h.mutate("r", list...), c.code, "mutations[1]: ")
		h.fails(what, h.mutate("r", list...), c.code, c.want)

		statuses := h.mutateRows(entry("r", list...))
		if len(statuses) != 1 || codes.Code(statuses[0].Status.Code) != c.code || !strings.Contains(statuses[0].Status.Message, c.want) || !strings.HasPrefix(statuses[0].Status.Message, "entries[0].mutations[1]: ") {
			t.Errorf("MutateRows with %s: %v", what, statuses)
		}

		r := &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte("r"), TrueMutations: list}
		_, err := h.data.CheckAndMutateRow(h.ctx, r)
		h.fails(what, err, c.code, "true_mutations[1]: ")
		h.fails(what, err, c.code, c.want)
		r.TrueMutations, r.FalseMutations = list[:1], list
		_, err = h.data.CheckAndMutateRow(h.ctx, r)
		h.fails(what, err, c.code, "false_mutations[1]: ")
		h.fails(what, err, c.code, c.want)
	}
	h.same("what was written", h.rows(&btpb.ReadRowsRequest{}), "")
}

// TestWrongRowKeys: they are refused wherever a request has one.
func TestWrongRowKeys(t *testing.T) {
	h := withTable(t)
	set := setCell("a", "q", 0, "")
	for key, want := range map[string]string{"": "row key has 0 bytes", strings.Repeat("k", widecol.MaxRowKey+1): "row key has 4097 bytes"} {
		h.fails("MutateRow", h.mutate(key, set), codes.InvalidArgument, "row_key: "+want)
		if got := h.mutateRows(entry(key, set)); codes.Code(got[0].Status.Code) != codes.InvalidArgument || !strings.Contains(got[0].Status.Message, "entries[0].row_key: "+want) {
			t.Errorf("MutateRows: %v", got)
		}
		_, err := h.data.CheckAndMutateRow(h.ctx, &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte(key), TrueMutations: []*btpb.Mutation{set}})
		h.fails("CheckAndMutateRow", err, codes.InvalidArgument, "row_key: "+want)
		_, err = h.data.ReadModifyWriteRow(h.ctx, &btpb.ReadModifyWriteRowRequest{TableName: testTable, RowKey: []byte(key), Rules: rules(`append_value: "x"`)})
		h.fails("ReadModifyWriteRow", err, codes.InvalidArgument, "row_key: "+want)
	}
}

// TestTooManyMutations: a request has at least one mutation and at most 100,000, as Bigtable has it.
func TestTooManyMutations(t *testing.T) {
	h := withTable(t)
	many := make([]*btpb.Mutation, maxMutations+1)
	for i := range many {
		many[i] = &btpb.Mutation{Mutation: &btpb.Mutation_DeleteFromRow_{DeleteFromRow: new(btpb.Mutation_DeleteFromRow)}}
	}
	const want = "the request has 100001 mutations, allowed are 100000"
	h.fails("MutateRow", h.mutate("r", many...), codes.InvalidArgument, want)
	_, err := h.tryMutateRows(entry("r", many[:60_000]...), entry("s", many[:40_001]...))
	h.fails("MutateRows", err, codes.InvalidArgument, want)
	_, err = h.tryMutateRows(slices.Repeat([]*btpb.MutateRowsRequest_Entry{entry("r")}, 2*maxMutations)...)
	h.fails("MutateRows", err, codes.InvalidArgument, "entries: there are more than 100000")
	_, err = h.data.CheckAndMutateRow(h.ctx, &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte("r"), TrueMutations: many[:60_000], FalseMutations: many[:40_001]})
	h.fails("CheckAndMutateRow", err, codes.InvalidArgument, want)

	h.fails("none", h.mutate("r"), codes.InvalidArgument, "mutations: there are none")
	_, err = h.tryMutateRows()
	h.fails("no entries", err, codes.InvalidArgument, "entries: there are none")
	_, err = h.data.CheckAndMutateRow(h.ctx, &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte("r")})
	h.fails("neither", err, codes.InvalidArgument, "true_mutations and false_mutations are both empty")
}

func entry(row string, list ...*btpb.Mutation) *btpb.MutateRowsRequest_Entry {
	return &btpb.MutateRowsRequest_Entry{RowKey: []byte(row), Mutations: list}
}

// mutateRows returns how each entry has fared.
func (h *harness) mutateRows(entries ...*btpb.MutateRowsRequest_Entry) []*btpb.MutateRowsResponse_Entry {
	h.Helper()
	statuses, err := h.tryMutateRows(entries...)
	h.ok(err)
	return statuses
}

func (h *harness) tryMutateRows(entries ...*btpb.MutateRowsRequest_Entry) ([]*btpb.MutateRowsResponse_Entry, error) {
	h.Helper()
	stream, err := h.data.MutateRows(h.ctx, &btpb.MutateRowsRequest{TableName: testTable, Entries: entries})
	h.ok(err)
	m, err := stream.Recv()
	return m.GetEntries(), err
}

// TestMutateRowsOfNoTable: the request fails, also if each of its entries is wrong.
func TestMutateRowsOfNoTable(t *testing.T) {
	h := newHarness(t, Options{})
	for what, time := range map[string]int64{"right": 1000, "wrong": 1} {
		_, err := h.tryMutateRows(entry("r", setCell("a", "q", time, "x")))
		h.fails(what, err, codes.NotFound, `"p$i$t"`)
	}
}

// TestMutateRows: each entry has its status, and those that can be written are.
func TestMutateRows(t *testing.T) {
	h := withTable(t)
	set := func(family string) *btpb.Mutation { return setCell(family, "q", 1000, "v") }
	got := h.mutateRows(
		entry("r1", set("a")), entry("r2", set("a"), set("none")), entry("r3", set("b")), entry("", set("a")), entry("r4"),
		entry("r1", set("b"), set("c")), entry("r5", setCell("a", "q", 1, "")), entry("r6", mutation(`delete_from_row { }`)), entry("r7", set("none")))
	want := []struct {
		code codes.Code
		text string
	}{
		{}, {codes.NotFound, `entries[1].mutations[1]: table "p$i$t" has no column family "none"`}, {}, {codes.InvalidArgument, "entries[3].row_key: "},
		{codes.InvalidArgument, "entries[4].mutations: there are none"}, {}, {codes.InvalidArgument, "entries[6].mutations[0]: the time 1 is no multiple"}, {},
		{codes.NotFound, `entries[8].mutations[0]: table "p$i$t" has no column family "none"`},
	}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i, w := range want {
		if e := got[i]; int(e.Index) != i || codes.Code(e.Status.GetCode()) != w.code || !strings.HasPrefix(e.Status.GetMessage(), w.text) {
			t.Errorf("%d: got %v, want %v %s", i, e, w.code, w.text)
		}
	}
	h.same("rows", h.rows(&btpb.ReadRowsRequest{}), lines("r1 a:q@1000 v", "r1 b:q@1000 v", "r1 c:q@1000 v", "r3 b:q@1000 v"))
	if got := h.mutateRows(entry("")); len(got) != 1 || codes.Code(got[0].Status.Code) != codes.InvalidArgument {
		t.Errorf("only a wrong one: %v", got)
	}
}

// TestManyEntries: the statuses of many entries come in messages of a bounded size, each status once, and a client that does
// not take them keeps no slot.
func TestManyEntries(t *testing.T) {
	h := newHarness(t, Options{})
	control := h.limited(1)
	h.serve(Options{Admission: control})
	h.createTable()
	const n = 20_000
	entries := make([]*btpb.MutateRowsRequest_Entry, n)
	for i := range entries {
		entries[i] = entry("r", setCell("none", "q", 0, "v"))
	}
	stream, err := h.data.MutateRows(h.ctx, &btpb.MutateRowsRequest{TableName: testTable, Entries: entries})
	h.ok(err)
	_, err = stream.Header() // there is an answer
	h.ok(err)
	eventually(t, "the only slot of a write is free", func() bool { return control.Limiter(admission.Write).Free() == 1 })
	next := int64(0)
	for next < n {
		m, err := stream.Recv()
		h.ok(err)
		if size := proto.Size(m); size > 2*streamWindow {
			t.Errorf("a message has %d bytes", size)
		}
		for _, e := range m.Entries {
			if e.Index != next || codes.Code(e.Status.GetCode()) != codes.NotFound {
				t.Fatalf("got %v, want entry %d", e, next)
			}
			next++
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestAggregates: numbers are combined as the family has it, at each time by itself, whatever adds them.
func TestAggregates(t *testing.T) {
	add := `add_to_cell { family_name: "%s" column_qualifier { raw_value: "q" } timestamp { raw_timestamp_micros: %d } input { int_value: %d } }`
	merge := `merge_to_cell { family_name: "%s" column_qualifier { raw_value: "q" } timestamp { raw_timestamp_micros: %d } input { raw_value: "\x00\x00\x00\x00\x00\x00\x00\x%02x" } }`
	h := withTable(t)
	for _, family := range []string{"max", "min", "sum"} {
		h.ok(h.mutate("r", mutations(fmt.Sprintf(add, family, 1000, 5), fmt.Sprintf(add, family, 1000, -2))...))
		h.ok(h.mutate("r", mutations(fmt.Sprintf(merge, family, 1000, 4), fmt.Sprintf(add, family, 2000, 7), fmt.Sprintf(add, family, -1, 9))...))
	}
	number := func(n int8) string {
		b := byte(0)
		if n < 0 {
			b = 0xff
		}
		return strings.Repeat(string([]byte{b}), 7) + string([]byte{byte(n)})
	}
	line := func(family string, time int, n int8) string {
		return fmt.Sprintf("r %s:q@%d %s", family, time, number(n))
	}
	h.same("numbers", h.rows(&btpb.ReadRowsRequest{}), lines(
		line("max", 5_000_000, 9), line("max", 2000, 7), line("max", 1000, 5),
		line("min", 5_000_000, 9), line("min", 2000, 7), line("min", 1000, -2),
		line("sum", 5_000_000, 9), line("sum", 2000, 7), line("sum", 1000, 7)))
	h.ok(h.mutate("r", mutations(`delete_from_row { }`, fmt.Sprintf(add, "sum", 1000, int64(1<<62)), fmt.Sprintf(add, "sum", 1000, int64(1<<62)))...))
	h.same("a sum wraps around", h.rows(&btpb.ReadRowsRequest{}), "r sum:q@1000 \x80\x00\x00\x00\x00\x00\x00\x00")
}

// TestAsBytes: what is written is bytes for the other front end.
func TestAsBytes(t *testing.T) {
	h := withTable(t)
	h.ok(h.mutate("r", setCell("a", "q", 1000, "text")))
	view, err := h.store.View(h.ctx, "p$i$t")
	h.ok(err)
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(h.ctx, &q)
	h.ok(err)
	defer rows.Close()
	if !rows.Next() || rows.Cells()[0].Type != cell.Bytes || rows.Cells()[0].Time != 1000 {
		t.Errorf("got %v", rows.Cells())
	}
}
