package bigtable

import (
	"fmt"
	"strings"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/colonnade-db/colonnade/widecol"
)

// filter returns the filter of a text in the text format of protocol buffers.
func filter(text string) *btpb.RowFilter {
	m := new(btpb.RowFilter)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return m
}

// filtered returns a harness with two rows, which filters tell apart.
func filtered(t *testing.T) *harness {
	h := withTable(t)
	h.ok(h.mutate("row1",
		setCell("a", "p", 1000, "x"), setCell("a", "q", 1000, "y"), setCell("a", "q", 2000, "z"), setCell("a", "q", 3000, "x"), setCell("b", "p", 1000, "\xff\n")))
	h.ok(h.mutate("row2", setCell("b", "q", 2000, "x"), setCell("b", "r", 2000, "")))
	return h
}

// TestFilters: each filter does what it does at Bigtable.
func TestFilters(t *testing.T) {
	h := filtered(t)
	const (
		p1, q3, q2, q1, b1 = "row1 a:p@1000 x", "row1 a:q@3000 x", "row1 a:q@2000 z", "row1 a:q@1000 y", "row1 b:p@1000 \xff\n"
		r2, e2             = "row2 b:q@2000 x", "row2 b:r@2000 "
	)
	for _, c := range []struct{ filter, want string }{
		{`pass_all_filter: true`, lines(p1, q3, q2, q1, b1, r2, e2)},
		{`block_all_filter: true`, ""},
		{`sink: true`, lines(p1, q3, q2, q1, b1, r2, e2)},
		{`row_key_regex_filter: "row[2-9]"`, lines(r2, e2)},
		{`row_key_regex_filter: "ow2"`, ""},
		{`row_key_regex_filter: "\\C*2"`, lines(r2, e2)},
		{`row_sample_filter: 0.9999999`, lines(p1, q3, q2, q1, b1, r2, e2)},
		{`row_sample_filter: 0.0000001`, ""},
		{`family_name_regex_filter: "b|c"`, lines(b1, r2, e2)},
		{`column_qualifier_regex_filter: "[pr]"`, lines(p1, b1, e2)},
		{`column_range_filter { family_name: "a" }`, lines(p1, q3, q2, q1)},
		{`column_range_filter { family_name: "b" start_qualifier_closed: "q" }`, lines(r2, e2)},
		{`column_range_filter { family_name: "b" start_qualifier_open: "q" }`, e2},
		{`column_range_filter { family_name: "b" end_qualifier_closed: "q" }`, lines(b1, r2)},
		{`column_range_filter { family_name: "b" end_qualifier_open: "q" }`, b1},
		{`timestamp_range_filter { start_timestamp_micros: 2000 }`, lines(q3, q2, r2, e2)},
		{`timestamp_range_filter { end_timestamp_micros: 2000 }`, lines(p1, q1, b1)},
		{`timestamp_range_filter { start_timestamp_micros: 1001 end_timestamp_micros: 2001 }`, lines(q2, r2, e2)},
		{`timestamp_range_filter { }`, lines(p1, q3, q2, q1, b1, r2, e2)},
		{`value_regex_filter: "x|z"`, lines(p1, q3, q2, r2)},
		{`value_regex_filter: ".*"`, lines(p1, q3, q2, q1, r2, e2)}, // a dot matches no end of a line
		{`value_regex_filter: "\\C\\C"`, b1},
		{`value_regex_filter: ""`, e2},
		{`value_range_filter { start_value_closed: "y" end_value_closed: "z" }`, lines(q2, q1)},
		{`value_range_filter { start_value_open: "y" end_value_open: "\xff" }`, q2},
		{`value_range_filter { end_value_open: "x" }`, e2},
		{`cells_per_row_offset_filter: 1`, lines(q3, q2, q1, b1, e2)},
		{`cells_per_row_offset_filter: 0`, lines(p1, q3, q2, q1, b1, r2, e2)},
		{`cells_per_row_limit_filter: 2`, lines(p1, q3, r2, e2)},
		{`cells_per_column_limit_filter: 1`, lines(p1, q3, b1, r2, e2)},
		{`strip_value_transformer: true`, lines("row1 a:p@1000 ", "row1 a:q@3000 ", "row1 a:q@2000 ", "row1 a:q@1000 ", "row1 b:p@1000 ", "row2 b:q@2000 ", e2)},
		{`apply_label_transformer: "label-1"`, lines(p1+" label-1", q3+" label-1", q2+" label-1", q1+" label-1", b1+" label-1", r2+" label-1", e2+" label-1")},
		{`chain { filters { family_name_regex_filter: "a" } filters { cells_per_row_limit_filter: 1 } }`, p1},
		{`chain { filters { cells_per_row_offset_filter: 4 } filters { cells_per_row_limit_filter: 1 } }`, b1},
		// Copies stay, and each has the label of its branch.
		{`interleave { filters { value_regex_filter: "y" } filters { chain { filters { value_regex_filter: "y" } filters { apply_label_transformer: "again" } } } }`, lines(q1, q1+" again")},
		{`interleave { filters { family_name_regex_filter: "b" } filters { column_qualifier_regex_filter: "p" } }`, lines(p1, b1, b1, r2, e2)},
		{`condition { predicate_filter { family_name_regex_filter: "a" } true_filter { cells_per_row_limit_filter: 1 } false_filter { pass_all_filter: true } }`, lines(p1, r2, e2)},
		{`condition { predicate_filter { family_name_regex_filter: "a" } true_filter { pass_all_filter: true } }`, lines(p1, q3, q2, q1, b1)},
		{`condition { predicate_filter { family_name_regex_filter: "a" } false_filter { pass_all_filter: true } }`, lines(r2, e2)},
		// What reached the sink is past the filters behind it.
		{`chain { filters { value_regex_filter: "y" } filters { interleave { filters { sink: true } filters { pass_all_filter: true } } } filters { apply_label_transformer: "late" } }`, lines(q1+" late", q1)},
	} {
		h.same(c.filter, h.rows(&btpb.ReadRowsRequest{Filter: filter(c.filter)}), c.want)
	}
}

// TestWrongFilters: the error says which filter of the tree is wrong.
func TestWrongFilters(t *testing.T) {
	h := filtered(t)
	deep := "pass_all_filter: true"
	for range widecol.MaxFilterDepth {
		deep = "chain { filters { pass_all_filter: true } filters { " + deep + " } }"
	}
	wide := "pass_all_filter: true"
	for range 10 {
		wide = "chain { filters { interleave { filters { pass_all_filter: true } filters { pass_all_filter: true } filters { pass_all_filter: true } } } filters { " + wide + " } }"
	}
	for _, c := range []struct{ filter, want string }{
		{``, "filter: the filter is empty"},
		{`chain { }`, "filter.chain: it has 0 filters, at least 2"},
		{`chain { filters { pass_all_filter: true } }`, "filter.chain: it has 1 filters, at least 2"},
		{`interleave { }`, "filter.interleave: it has 0 filters, at least 2"},
		{`interleave { filters { pass_all_filter: true } }`, "filter.interleave: it has 1 filters, at least 2"},
		{`interleave { filters { pass_all_filter: true } filters { } }`, "filter.interleave.filters[1]: the filter is empty"},
		{`condition { true_filter { pass_all_filter: true } }`, "filter.condition.predicate_filter: a condition needs a predicate_filter"},
		{`condition { predicate_filter { sink: true } }`, "filter.condition.predicate_filter.sink: a sink cannot be inside of a condition"},
		{`condition { predicate_filter { pass_all_filter: true } false_filter { } }`, "filter.condition.false_filter: the filter is empty"},
		{`sink: false`, "filter.sink: it must be true if it is there"},
		{`pass_all_filter: false`, "filter.pass_all_filter: it must be true"},
		{`block_all_filter: false`, "filter.block_all_filter: it must be true"},
		{`strip_value_transformer: false`, "filter.strip_value_transformer: it must be true"},
		{`row_key_regex_filter: ""`, "filter.row_key_regex_filter: the regular expression is empty"},
		{`row_key_regex_filter: "a("`, "filter.row_key_regex_filter"},
		{`family_name_regex_filter: "a:b"`, "filter.family_name_regex_filter: the regular expression of a family's name must not contain a colon"},
		{`column_qualifier_regex_filter: "["`, "filter.column_qualifier_regex_filter"},
		{`value_regex_filter: "a{2,1}"`, "filter.value_regex_filter"},
		{`value_regex_filter: "((a{100}){100}){100}"`, "filter.value_regex_filter"},
		{`row_sample_filter: 0`, "filter.row_sample_filter: the probability must be above 0 and below 1"},
		{`row_sample_filter: 1`, "filter.row_sample_filter: the probability"},
		{`row_sample_filter: nan`, "filter.row_sample_filter: the probability"},
		{`column_range_filter { }`, "filter.column_range_filter: family_name: column family name has 0 bytes"},
		{`column_range_filter { family_name: "a" start_qualifier_closed: "b" end_qualifier_closed: "a" }`, "filter.column_range_filter: the range starts behind its end"},
		{`value_range_filter { start_value_open: "b" end_value_open: "a" }`, "filter.value_range_filter: the range starts behind its end"},
		{`timestamp_range_filter { start_timestamp_micros: 2000 end_timestamp_micros: 1000 }`, "filter.timestamp_range_filter: the range starts behind its end"},
		{`timestamp_range_filter { start_timestamp_micros: -1 }`, "filter.timestamp_range_filter: a time must not be below 0"},
		{`cells_per_row_offset_filter: -1`, "filter.cells_per_row_offset_filter: the number of cells must be from 0"},
		{`cells_per_row_limit_filter: 0`, "filter.cells_per_row_limit_filter: the number of cells must be from 1"},
		{`cells_per_column_limit_filter: 0`, "filter.cells_per_column_limit_filter: the number of cells must be from 1"},
		{`cells_per_column_limit_filter: -5`, "filter.cells_per_column_limit_filter: the number of cells must be from 1"},
		{`apply_label_transformer: ""`, "filter.apply_label_transformer: the label must have 1 to 15"},
		{`apply_label_transformer: "sixteen-letters-"`, "filter.apply_label_transformer: the label"},
		{`apply_label_transformer: "Upper"`, "filter.apply_label_transformer: the label"},
		{`chain { filters { apply_label_transformer: "a" } filters { apply_label_transformer: "b" } }`, "filter.chain.filters[1]: a second filter of the chain applies a label"},
		{`chain { filters { pass_all_filter: true } filters { chain { filters { pass_all_filter: true } filters { cells_per_row_limit_filter: 0 } } } }`, "filter.chain.filters[1].chain.filters[1].cells_per_row_limit_filter"},
		{deep, "nested more than 20 deep"},
		{wide, "more than 10000 copies"},
		{`value_regex_filter: "` + strings.Repeat("x", widecol.MaxFilterBytes) + `"`, "filter: the filter has 20484 bytes, allowed are 20480"},
	} {
		_, err := h.readRows(&btpb.ReadRowsRequest{Filter: filter(c.filter)})
		h.fails(fmt.Sprintf("%.80s", c.filter), err, codes.InvalidArgument, c.want)
		want := c.want
		if strings.HasPrefix(want, "filter") {
			want = "predicate_" + want
		}
		_, err = h.data.CheckAndMutateRow(h.ctx, &btpb.CheckAndMutateRowRequest{
			TableName: testTable, RowKey: []byte("r"), PredicateFilter: filter(c.filter), TrueMutations: []*btpb.Mutation{setCell("a", "q", 0, "")},
		})
		h.fails(fmt.Sprintf("predicate %.80s", c.filter), err, codes.InvalidArgument, want)
	}
}

// TestEmulatorIssues: what issues of github.com/googleapis/google-cloud-go report that an emulator answers otherwise than the
// service.
func TestEmulatorIssues(t *testing.T) {
	h := withTable(t)
	for i := range 20 {
		row := fmt.Sprintf("row%02d", i)
		h.ok(h.mutate(row, setCell("a", "name", 1000, fmt.Sprint("value", i%10)), setCell("a", "name", 2000, "newest"), setCell("b", "other", 1000, "o")))
	}
	chained := `chain { filters { family_name_regex_filter: "a" } filters { column_qualifier_regex_filter: "name" } filters { value_regex_filter: "%s" } }`
	count := func(f string) int {
		n := 0
		last := ""
		for key := range strings.FieldsSeq(keysOf(h.rows(&btpb.ReadRowsRequest{Filter: filter(f)}))) {
			if key != last {
				n, last = n+1, key
			}
		}
		return n
	}
	for _, c := range []struct {
		issue  int
		filter string
		rows   int
	}{
		// A predicate that is a chain is matched where its last filter lets something through, not where its first does.
		{804, fmt.Sprintf(`condition { predicate_filter { `+chained+` } true_filter { pass_all_filter: true } }`, "value3"), 2},
		{804, fmt.Sprintf(`chain { filters { row_key_regex_filter: "row0.*" } filters { condition { predicate_filter { `+chained+` } true_filter { pass_all_filter: true } } } }`, "value3"), 1},
		{839, `block_all_filter: true`, 0},
		{839, `chain { filters { block_all_filter: true } filters { pass_all_filter: true } }`, 0},
		// A row key matches as a whole.
		{1355, `row_key_regex_filter: "row"`, 0},
		{1355, `row_key_regex_filter: "row1"`, 0},
		{1355, `row_key_regex_filter: "row1.*"`, 10},
		// HBase's SingleColumnValueFilter, with only the newest version and with all.
		{1399, `condition { predicate_filter { chain { filters { family_name_regex_filter: "a" } filters { column_qualifier_regex_filter: "name" } filters { cells_per_column_limit_filter: 1 } filters { value_range_filter { start_value_closed: "value3" end_value_closed: "value3" } } } } true_filter { pass_all_filter: true } }`, 0},
		{1399, `condition { predicate_filter { chain { filters { family_name_regex_filter: "a" } filters { column_qualifier_regex_filter: "name" } filters { value_range_filter { start_value_closed: "value3" end_value_closed: "value3" } } } } true_filter { pass_all_filter: true } }`, 2},
		// A predicate whose chain ends with nothing takes the false branch, and without one the row is not in the result.
		{1712, fmt.Sprintf(`condition { predicate_filter { `+chained+` } true_filter { pass_all_filter: true } }`, "none"), 0},
		{1712, fmt.Sprintf(`condition { predicate_filter { `+chained+` } true_filter { block_all_filter: true } false_filter { pass_all_filter: true } }`, "none"), 20},
	} {
		if got := count(c.filter); got != c.rows {
			t.Errorf("issue %d: %s\n\tgot %d rows, want %d", c.issue, c.filter, got, c.rows)
		}
	}
	// 840: about the share of the rows that was asked for, and the same ones each time.
	some := h.rows(&btpb.ReadRowsRequest{Filter: filter(`row_sample_filter: 0.5`)})
	if n := strings.Count(some, "newest"); n < 4 || n > 16 {
		t.Errorf("issue 840: got %d rows of 20", n)
	}
	h.same("the same rows again", h.rows(&btpb.ReadRowsRequest{Filter: filter(`row_sample_filter: 0.5`)}), some)
}
