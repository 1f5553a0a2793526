package bigtable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// rules returns rules of texts in the text format of protocol buffers, of column a:q unless they say otherwise.
func rules(texts ...string) (list []*btpb.ReadModifyWriteRule) {
	for _, text := range texts {
		m := new(btpb.ReadModifyWriteRule)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		if m.FamilyName == "" {
			m.FamilyName, m.ColumnQualifier = "a", []byte("q")
		}
		list = append(list, m)
	}
	return list
}

// update returns the cells that a ReadModifyWriteRow answers, as harness.rows has them.
func (h *harness) update(texts ...string) (string, error) {
	r, err := h.data.ReadModifyWriteRow(h.ctx, &btpb.ReadModifyWriteRowRequest{TableName: testTable, RowKey: []byte("r"), Rules: rules(texts...)})
	var list []string
	for _, f := range r.GetRow().GetFamilies() {
		for _, column := range f.Columns {
			for _, c := range column.Cells {
				list = append(list, fmt.Sprintf("%s %s:%s@%d %s", r.Row.Key, f.Name, column.Qualifier, c.TimestampMicros, c.Value))
			}
		}
	}
	return lines(list...), err
}

// TestCheckAndMutate: the filter decides which mutations apply; without one a row with any cell matches.
func TestCheckAndMutate(t *testing.T) {
	for _, c := range []struct {
		filter  string // "-" for none
		row     string
		matched bool
	}{
		{"-", "r", true},
		{"-", "other", false},
		{`pass_all_filter: true`, "r", true},
		{`block_all_filter: true`, "r", false},
		{`value_regex_filter: "v"`, "r", true},
		{`value_regex_filter: "w"`, "r", false},
		{`chain { filters { family_name_regex_filter: "a" } filters { value_regex_filter: "w" } }`, "r", false},
		{`condition { predicate_filter { value_regex_filter: "w" } true_filter { pass_all_filter: true } }`, "r", false},
		{`condition { predicate_filter { value_regex_filter: "w" } false_filter { pass_all_filter: true } }`, "r", true},
		{`strip_value_transformer: true`, "r", true},
		{`cells_per_row_offset_filter: 1`, "r", false},
	} {
		for _, only := range []string{"both", "true", "false"} {
			h := withTable(t)
			h.ok(h.mutate("r", setCell("a", "q", 1000, "v")))
			r := &btpb.CheckAndMutateRowRequest{TableName: testTable, RowKey: []byte(c.row)}
			if c.filter != "-" {
				r.PredicateFilter = filter(c.filter)
			}
			if only != "false" {
				r.TrueMutations = mutations(`delete_from_row { }`, `set_cell { family_name: "b" timestamp_micros: -1 value: "true" }`)
			}
			if only != "true" {
				r.FalseMutations = mutations(`delete_from_row { }`, `set_cell { family_name: "b" timestamp_micros: -1 value: "false" }`)
			}
			got, err := h.data.CheckAndMutateRow(h.ctx, r)
			h.ok(err)
			if got.PredicateMatched != c.matched {
				t.Errorf("%s: matched is %t", c.filter, got.PredicateMatched)
			}
			want := fmt.Sprintf("%s b:@5000000 %t", c.row, c.matched)
			switch {
			case only != "both" && only != fmt.Sprint(c.matched):
				want = "r a:q@1000 v"
			case c.row == "other":
				want = want + "\nr a:q@1000 v"
			}
			h.same(c.filter+" "+only, h.rows(&btpb.ReadRowsRequest{}), want)
		}
	}
}

// TestReadModifyWrite: rules apply in order, and the answer is what was written.
func TestReadModifyWrite(t *testing.T) {
	const (
		one = "\x00\x00\x00\x00\x00\x00\x00\x01"
		at  = "r a:q@5000000 "
	)
	for _, c := range []struct {
		before []*btpb.Mutation
		rules  []string
		want   string
	}{
		{nil, []string{`increment_amount: 1`}, at + one},
		{nil, []string{`increment_amount: -1`}, at + strings.Repeat("\xff", 8)},
		{nil, []string{`increment_amount: 0`}, at + strings.Repeat("\x00", 8)},
		{nil, []string{`append_value: "x"`}, at + "x"},
		{nil, []string{`append_value: ""`}, at},
		{nil, []string{`append_value: "x"`, `append_value: "y"`}, at + "xy"},
		{nil, []string{`increment_amount: 3`, `increment_amount: -2`}, at + one},
		{nil, []string{`append_value: "\x00\x00\x00\x00\x00\x00\x00"`, `append_value: "\xff"`, `increment_amount: 2`}, at + "\x00\x00\x00\x00\x00\x00\x01\x01"},
		{nil, []string{`increment_amount: 1`, `append_value: "x"`}, at + one + "x"},
		{nil, []string{`family_name: "b" column_qualifier: "z" append_value: "3"`, `append_value: "1"`, `family_name: "b" column_qualifier: "" append_value: "2"`}, lines(at+"1", "r b:@5000000 2", "r b:z@5000000 3")},
		{[]*btpb.Mutation{setCell("a", "q", 1000, "\x7f\xff\xff\xff\xff\xff\xff\xff")}, []string{`increment_amount: 1`}, at + "\x80\x00\x00\x00\x00\x00\x00\x00"},
		{[]*btpb.Mutation{setCell("a", "q", 1000, "\x80\x00\x00\x00\x00\x00\x00\x00")}, []string{`increment_amount: -1`}, at + "\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{[]*btpb.Mutation{setCell("a", "q", 1000, "old"), setCell("a", "q", 2000, "new")}, []string{`append_value: "er"`}, at + "newer"},
		// The time is above that of the newest version, by a millisecond if it must.
		{[]*btpb.Mutation{setCell("a", "q", 4_999_000, "v")}, []string{`append_value: "w"`}, at + "vw"},
		{[]*btpb.Mutation{setCell("a", "q", 5_000_000, "v")}, []string{`append_value: "w"`}, "r a:q@5001000 vw"},
		{[]*btpb.Mutation{setCell("a", "q", 9_000_000, "v")}, []string{`append_value: "w"`}, "r a:q@9001000 vw"},
	} {
		h := withTable(t)
		if c.before != nil {
			h.ok(h.mutate("r", c.before...))
		}
		before := h.rows(&btpb.ReadRowsRequest{})
		got, err := h.update(c.rules...)
		h.ok(err)
		h.same(fmt.Sprint(c.rules), got, c.want)
		if after := h.rows(&btpb.ReadRowsRequest{}); !strings.Contains(after, got) || !strings.Contains(after, before) {
			t.Errorf("%v: got\n%s\nafter\n%s", c.rules, after, before)
		}
	}
}

// TestReadModifyWriteTyped: a number of the other front end stays one, and a text too while it is one.
func TestReadModifyWriteTyped(t *testing.T) {
	h := withTable(t)
	write := func(qualifier string, typ cell.Type, value string) {
		_, err := h.store.Write(h.ctx, "p$i$t", []widecol.Mutation{{
			Row: []byte("r"), Family: []byte("a"), Qualifier: []byte(qualifier), Time: 1000, Type: typ, Value: []byte(value),
		}}, "")
		h.ok(err)
	}
	write("q", cell.I64, "\x05\x00\x00\x00\x00\x00\x00\x00")
	write("s", cell.String, "ä")
	write("f", cell.F64, "\x00\x00\x00\x00\x00\x00\xf0\x3f")
	got, err := h.update(`increment_amount: 2`, `family_name: "a" column_qualifier: "s" append_value: "ö"`)
	h.ok(err)
	h.same("typed", got, lines("r a:q@5000000 \x00\x00\x00\x00\x00\x00\x00\x07", "r a:s@5000000 äö"))
	got, err = h.update(`family_name: "a" column_qualifier: "s" append_value: "\xff"`)
	h.ok(err)
	h.same("no text any more", got, "r a:s@5001000 äö\xff")
	_, err = h.update(`family_name: "a" column_qualifier: "f" increment_amount: 1`)
	h.fails("a float", err, codes.FailedPrecondition, "rules[0]: column a:\"f\" has a value of type f64")
	_, err = h.update(`increment_amount: 1`, `append_value: "x"`)
	h.fails("append to i64", err, codes.FailedPrecondition, "rules[1]: column a:\"q\" has a value of type i64")
}

// TestWrongRules: the error names the rule, and nothing is written.
func TestWrongRules(t *testing.T) {
	h := withTable(t)
	h.ok(h.mutate("r", setCell("b", "short", 1000, "1234567"), setCell("b", "last", 9_223_372_036_854_775_000, "v")))
	before := h.rows(&btpb.ReadRowsRequest{})
	for _, c := range []struct {
		rule string
		code codes.Code
		want string
	}{
		{``, codes.InvalidArgument, "rules[1]: a rule needs one of append_value and increment_amount"},
		{`family_name: "none" append_value: "x"`, codes.NotFound, `rules[1]: table "p$i$t" has no column family "none"`},
		{`family_name: "sum" increment_amount: 1`, codes.InvalidArgument, `rules[1]: column family "sum" of table "p$i$t" has the merge operator sum`},
		{`family_name: "b" column_qualifier: "short" increment_amount: 1`, codes.FailedPrecondition, `rules[1]: column b:"short" has a value of type bytes with 7 bytes`},
		{`family_name: "b" column_qualifier: "last" append_value: "x"`, codes.FailedPrecondition, "rules[1]: the newest version has the time 9223372036854775000, so there can be no newer one"},
		{`family_name: "b" column_qualifier: "` + strings.Repeat("q", widecol.MaxQualifier+1) + `" append_value: "x"`, codes.InvalidArgument, "rules[1]: qualifier has 16385 bytes"},
	} {
		_, err := h.update(`append_value: "good"`, c.rule)
		h.fails(fmt.Sprintf("%.80s", c.rule), err, c.code, c.want)
	}
	_, err := h.update()
	h.fails("no rules", err, codes.InvalidArgument, "rules: there are none")
	_, err = h.update(slices.Repeat([]string{`family_name: "b" increment_amount: 1`}, maxRules+1)...)
	h.fails("many rules", err, codes.InvalidArgument, "rules: there are 1001, allowed are 1000")
	h.same("after", h.rows(&btpb.ReadRowsRequest{}), before)
}
