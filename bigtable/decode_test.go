package bigtable

import (
	"bytes"
	"math"
	"slices"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/colonnade-db/colonnade/widecol"
)

const decodedAt = 5_000_000

// FuzzMutateRow decodes any MutateRowRequest. It is that of proto.Unmarshal.
func FuzzMutateRow(f *testing.F) {
	for _, m := range encodedMutations() {
		f.Add(slices.Concat(encode(&btpb.MutateRowRequest{TableName: "t", RowKey: []byte("r")}), field(3, m)))
	}
	whole := encode(&btpb.MutateRowRequest{
		TableName: "t", AppProfileId: "p", AuthorizedViewName: "v", RowKey: []byte("r"), Mutations: []*btpb.Mutation{setCell("a", "q", 1000, "v")},
		Idempotency: &btpb.Idempotency{Token: []byte("t"), StartTime: timestamppb.New(timestamppb.Now().AsTime())},
	})
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(whole, field(8, []byte{0xff})...))
	for number := range protowire.Number(9) {
		f.Add(append(whole, field(number+1, []byte("again"))...))
		f.Add(append(whole, field(number+1, []byte("\xff"))...))
		f.Add(protowire.AppendVarint(protowire.AppendTag(whole, number+1, protowire.VarintType), 1))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, got := new(btpb.MutateRowRequest), new(mutateRow)
		if !decodesAs(t, data, want, got) {
			return
		}
		if got.table != want.TableName || got.view != want.AuthorizedViewName || len(got.rows) != 1 || got.count != len(want.Mutations) {
			t.Fatalf("%v becomes %+v", want, got)
		}
		got.sameRow(t, &got.rows[0], want.RowKey, want.Mutations)
	})
}

// FuzzMutateRows decodes any MutateRowsRequest. It is that of proto.Unmarshal.
func FuzzMutateRows(f *testing.F) {
	one := encode(entry("r", setCell("a", "q", 1000, "v"), mutation(`delete_from_row { }`)))
	for _, m := range encodedMutations() {
		f.Add(slices.Concat(field(2, one), field(2, slices.Concat(field(2, m), field(1, []byte("s")))), field(2, nil)))
	}
	whole := encode(&btpb.MutateRowsRequest{TableName: "t", AppProfileId: "p", AuthorizedViewName: "v", Entries: []*btpb.MutateRowsRequest_Entry{
		{RowKey: []byte("r"), Idempotency: &btpb.Idempotency{Token: []byte("t")}, Mutations: mutations(`set_cell { family_name: "a" timestamp_micros: 1 }`, ``)},
	}})
	f.Add(whole)
	for number := range protowire.Number(6) {
		f.Add(append(whole, field(number+1, []byte("\xff"))...))
		f.Add(append(whole, field(2, field(number+1, []byte("\xff")))...))
		f.Add(append(whole, field(2, append(one, field(number+1, []byte("again"))...))...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, got := new(btpb.MutateRowsRequest), new(mutateRows)
		if !decodesAs(t, data, want, got) {
			return
		}
		if got.table != want.TableName || got.view != want.AuthorizedViewName || len(got.rows) != len(want.Entries) {
			t.Fatalf("%v becomes %+v", want, got)
		}
		count := 0
		for i, e := range want.Entries {
			got.sameRow(t, &got.rows[i], e.RowKey, e.Mutations)
			count += len(e.Mutations)
		}
		if got.count != count {
			t.Errorf("%v has %d mutations", want, got.count)
		}
	})
}

// TestDecodeMany: what a request has above the limits takes no memory.
func TestDecodeMany(t *testing.T) {
	one, many := new(mutateRow), new(mutateRows)
	if err := one.decode(bytes.Repeat(field(3, nil), 5*maxMutations), decodedAt); err != nil {
		t.Fatal(err)
	}
	if err := many.decode(bytes.Repeat(field(2, field(2, nil)), 5*maxMutations), decodedAt); err != nil {
		t.Fatal(err)
	}
	if one.count != 5*maxMutations || len(one.all) > maxMutations || many.count != 5*maxMutations || len(many.all) > maxMutations || len(many.rows) > maxMutations+1 {
		t.Errorf("mutations: %d, of which %d are kept; %d in entries, of which %d in %d", one.count, len(one.all), many.count, len(many.all), len(many.rows))
	}
}

// TestForget: the memory of a request that has ended has nothing of it.
func TestForget(t *testing.T) {
	r := new(mutateRows)
	message := encode(&btpb.MutateRowsRequest{TableName: "t", Entries: []*btpb.MutateRowsRequest_Entry{entry("r", setCell("a", "q", 1, "v"))}})
	if err := r.decode(message, decodedAt); err != nil || len(r.rows) != 1 || len(r.all) != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	rows, all := r.rows, r.all
	if !r.forget() || r.table != "" || r.count != 0 || len(r.rows)+len(r.all) > 0 || rows[0].key != nil || rows[0].err != nil || all[0].Value != nil || all[0].Row != nil {
		t.Errorf("left are %+v, %+v, %+v", r, rows, all)
	}
	if r.decode(bytes.Repeat(field(2, nil), mostKept+1), decodedAt); r.forget() {
		t.Error("much memory is kept")
	}
}

// decodesAs decodes a message by protobuf and by own code. It reports whether both take it, and checks that they agree.
func decodesAs(t *testing.T, data []byte, want proto.Message, got borrower) bool {
	t.Helper()
	wantErr, err := proto.Unmarshal(data, want), got.decode(data, decodedAt)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: got %v, want %v", data, err, wantErr)
	}
	return err == nil
}

// sameRow checks that a row has the mutations of messages, or says which is the first that is wrong.
func (r *mutate) sameRow(t *testing.T, row *rowChange, key []byte, messages []*btpb.Mutation) {
	t.Helper()
	list := r.mutations(row)
	if !bytes.Equal(row.key, key) || len(list) != len(messages) {
		t.Fatalf("%q, %v becomes %+v", key, messages, row)
	}
	wrong := false
	for i, m := range messages {
		want, err := mutationOf(m, decodedAt)
		want.Row = key
		switch {
		case err != nil && status.Code(err) != codes.InvalidArgument:
			t.Errorf("%v: %v", m, err)
		case err != nil && !wrong:
			if wrong = true; row.err == nil || row.wrong != i || row.err.Error() != err.Error() {
				t.Errorf("%v: got %d %v, want %d %v", m, row.wrong, row.err, i, err)
			}
		case err == nil && !sameMutation(list[i], want):
			t.Errorf("%v becomes %+v, want %+v", m, list[i], want)
		case err == nil && !wellTimed(want):
			t.Errorf("%v becomes %+v", m, want)
		}
	}
	if !wrong && row.err != nil {
		t.Errorf("%v: %v", messages, row.err)
	}
}

func sameMutation(a, b widecol.Mutation) bool {
	return bytes.Equal(a.Row, b.Row) && bytes.Equal(a.Family, b.Family) && bytes.Equal(a.Qualifier, b.Qualifier) && bytes.Equal(a.Value, b.Value) &&
		a.Time == b.Time && a.End == b.End && a.Type == b.Type && a.Op == b.Op
}

// wellTimed reports whether the times of a mutation are those of a table with the granularity of milliseconds.
func wellTimed(m widecol.Mutation) bool {
	if m.Op == widecol.DeleteColumn {
		return m.End == math.MaxInt64 || m.End%granule == 0
	}
	return m.Time >= 0 && m.Time%granule == 0
}

// field returns a field with a length.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// encodedMutations are mutations of all kinds, right ones and wrong ones, in forms that proto.Marshal does not write too.
func encodedMutations() (list [][]byte) {
	texts := []string{
		`set_cell { family_name: "a" column_qualifier: "q" timestamp_micros: -1 value: "v" }`, `set_cell { timestamp_micros: 1234567 } timestamp_origin: CLIENT_AUTO_GENERATED`,
		`delete_from_row { }`, `delete_from_family { family_name: "a" }`, `timestamp_origin: USER_SPECIFIED`,
		`delete_from_column { family_name: "a" column_qualifier: "q" time_range { start_timestamp_micros: 1000 end_timestamp_micros: 2000 } }`,
		`add_to_cell { family_name: "sum" column_qualifier { raw_value: "q" } timestamp { raw_timestamp_micros: -1 } input { int_value: 1 } }`,
		`merge_to_cell { family_name: "sum" timestamp { raw_timestamp_micros: 0 } input { raw_value: "12345678" } }`,
	}
	for _, c := range wrongMutations {
		if len(c.mutation) < 1000 {
			texts = append(texts, c.mutation)
		}
	}
	var all [][]byte
	for _, text := range texts {
		all = append(all, encode(mutation(text)))
	}
	list = slices.Clone(all)
	for _, a := range all[:8] { // a member of a oneof replaces another, and is merged with an earlier one of its own
		for _, b := range all[:8] {
			list = append(list, slices.Concat(a, b))
		}
	}
	set := encode(setCell("a", "q", 1000, "v"))
	group := protowire.AppendTag(field(1, []byte("x")), 20, protowire.EndGroupType)
	for number := range protowire.Number(9) {
		for _, odd := range [][]byte{
			field(number+1, []byte("\xff")), field(number+1, nil),
			protowire.AppendVarint(protowire.AppendTag(nil, number+1, protowire.VarintType), 1<<32+2),
			protowire.AppendFixed64(protowire.AppendTag(nil, number+1, protowire.Fixed64Type), 1),
			slices.Concat(protowire.AppendTag(nil, 20, protowire.StartGroupType), group),
			protowire.AppendTag(nil, number+1, protowire.EndGroupType),
			protowire.AppendTag(nil, protowire.MaxValidNumber+number, protowire.VarintType),
			{byte(number+1)<<3 | 6}, {byte(number), 1}, {0x80 | byte(number+1)<<3, 0x80, 0, 1},
		} {
			list = append(list, slices.Concat(set, odd), slices.Concat(set, field(1, odd)), slices.Concat(field(1, odd), set))
		}
	}
	return append(list, set[:len(set)-1])
}
