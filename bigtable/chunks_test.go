package bigtable

import (
	"bytes"
	"fmt"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestLargeValue: a value is split among chunks and whole again, and so is the row that it is in.
func TestLargeValue(t *testing.T) {
	for _, c := range []struct{ size, chunks int }{
		{0, 1}, {1, 1}, {maxChunkValue - 1, 1}, {maxChunkValue, 1}, {maxChunkValue + 1, 2}, {3 * maxChunkValue, 3},
	} {
		h := withTable(t)
		value := string(bytes.Repeat([]byte("x"), c.size))
		h.ok(h.mutate("r", setCell("a", "p", 1000, "before"), setCell("a", "q", 1000, value), setCell("a", "r", 1000, "behind")))
		messages, err := h.messages(&btpb.ReadRowsRequest{})
		h.ok(err)
		if len(messages) != 1 || len(messages[0].Chunks) != c.chunks+2 {
			t.Errorf("%d bytes: %d messages, %d chunks", c.size, len(messages), len(messages[0].Chunks))
		}
		if got, want := h.rows(&btpb.ReadRowsRequest{}), lines("r a:p@1000 before", "r a:q@1000 "+value, "r a:r@1000 behind"); got != want {
			t.Errorf("%d bytes: they are not the same", c.size)
		}
		for i, chunk := range messages[0].Chunks[1 : 1+c.chunks] {
			want := 0
			if i < c.chunks-1 {
				want = c.size
			}
			if int(chunk.ValueSize) != want {
				t.Errorf("%d bytes, chunk %d: value_size %d, want %d", c.size, i, chunk.ValueSize, want)
			}
		}
	}
}

// TestChunks: families, qualifiers and times, empty ones and zero among them, stand only where they change, which the
// decoder checks.
func TestChunks(t *testing.T) {
	h := withTable(t)
	h.ok(h.mutate("r1", setCell("a", "", 0, ""), setCell("a", "q", 0, "1"), setCell("a", "q", 1000, "2"), setCell("b", "", 0, "3"), setCell("b", "q", 0, "4")))
	h.ok(h.mutate("r2", setCell("b", "q", 0, "5")))
	h.ok(h.mutate("r3", setCell("b", "q", 0, "6"), setCell("b", "q\x00", 0, "7"), setCell("c", "q\x00", 0, "8")))
	h.same("rows", h.rows(&btpb.ReadRowsRequest{}), lines(
		"r1 a:@0 ", "r1 a:q@1000 2", "r1 a:q@0 1", "r1 b:@0 3", "r1 b:q@0 4",
		"r2 b:q@0 5",
		"r3 b:q@0 6", "r3 b:q\x00@0 7", "r3 c:q\x00@0 8"))
	messages, err := h.messages(&btpb.ReadRowsRequest{})
	h.ok(err)
	if len(messages) != 1 || len(messages[0].Chunks) != 9 {
		t.Errorf("got %v", messages)
	}
}

// TestMessages: a message ends with a row, even if that makes it long, and rows that follow each other share it if they
// are short.
func TestMessages(t *testing.T) {
	h := withTable(t)
	const rows, perRow = 300, 10
	var want []string
	for i := range rows {
		row := fmt.Sprintf("%04d", i)
		var list []*btpb.Mutation
		for j := range perRow {
			value := string(bytes.Repeat([]byte{'a' + byte(j)}, 100))
			list = append(list, setCell("a", fmt.Sprint(j), 1000, value))
			want = append(want, fmt.Sprintf("%s a:%d@1000 %s", row, j, value))
		}
		h.ok(h.mutate(row, list...))
	}
	h.same("rows", h.rows(&btpb.ReadRowsRequest{}), lines(want...))
	messages, err := h.messages(&btpb.ReadRowsRequest{})
	h.ok(err)
	if n := len(messages); n < 3 || n > 8 {
		t.Errorf("%d rows of 1 KiB are in %d messages", rows, n)
	}
}

// TestLongRow: a long row has a message of its own.
func TestLongRow(t *testing.T) {
	h := withTable(t)
	for _, row := range []string{"a", "b", "d"} {
		h.ok(h.mutate(row, setCell("a", "q", 1000, "v")))
	}
	h.ok(h.mutate("c", setCell("a", "p", 1000, string(bytes.Repeat([]byte("x"), 3<<20))), setCell("a", "q", 1000, "v")))
	messages, err := h.messages(&btpb.ReadRowsRequest{})
	h.ok(err)
	var got []string
	for _, m := range messages {
		keys := ""
		for _, c := range m.Chunks {
			keys += string(c.RowKey)
		}
		got = append(got, keys)
	}
	h.same("rows of each message", fmt.Sprint(got), "[ab c d]")
}

// TestTypedValues: cells that were written with a type are read as bytes.
func TestTypedValues(t *testing.T) {
	h := withTable(t)
	var list []widecol.Mutation
	for _, c := range []struct {
		typ   cell.Type
		value string
	}{
		{cell.String, "text"}, {cell.Bytes, "\xff\x00"}, {cell.I64, "\x02\x01\x00\x00\x00\x00\x00\x00"}, {cell.I32, "\x01\x02\x03\x04"},
		{cell.F64, "\x00\x00\x00\x00\x00\x00\xf0\x3f"}, {cell.F32, "\x00\x00\x80\x3f"}, {cell.Byte, "\x07"}, {cell.Bool, "\x01"},
	} {
		list = append(list, widecol.Mutation{Row: []byte("r"), Family: []byte("a"), Qualifier: []byte(c.typ.String()), Time: 7, Type: c.typ, Value: []byte(c.value)})
	}
	_, err := h.store.Write(h.ctx, "p$i$t", list, "")
	h.ok(err)
	h.same("values", h.rows(&btpb.ReadRowsRequest{}), lines(
		"r a:boolean@7 \x01", "r a:byte@7 \x07", "r a:bytes@7 \xff\x00", "r a:f32@7 \x3f\x80\x00\x00", "r a:f64@7 \x3f\xf0\x00\x00\x00\x00\x00\x00",
		"r a:i32@7 \x04\x03\x02\x01", "r a:i64@7 \x00\x00\x00\x00\x00\x00\x01\x02", "r a:string@7 text"))
}
