package bigtable

import (
	"fmt"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/colonnade-db/colonnade/widecol"
)

// table returns the table of a text in the text format of protocol buffers.
func table(text string) *adminpb.Table {
	m := new(adminpb.Table)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return m
}

func (h *harness) create(id, text string) (*adminpb.Table, error) {
	return h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: testInstance, TableId: id, Table: table(text)})
}

// is compares messages.
func (h *harness) is(what string, got, want proto.Message) {
	h.Helper()
	if !proto.Equal(got, want) {
		h.Errorf("%s: got %v\nwant %v", what, got, want)
	}
}

// TestCreateTable: a table has what it was created with.
func TestCreateTable(t *testing.T) {
	h := newHarness(t, Options{})
	text := `column_families { key: "a" value { gc_rule { max_num_versions: 3 } } }
		column_families { key: "b" value { value_type { bytes_type { encoding { raw { } } } } } }
		column_families { key: "c" value { } } %s`
	want := table(fmt.Sprintf(text, "granularity: MILLIS"))
	want.Name = testTable
	for _, granularity := range []string{"", "granularity: MILLIS"} {
		got, err := h.create("t", fmt.Sprintf(text, granularity))
		h.ok(err)
		h.is("created", got, want)
		h.ok(calls["DeleteTable"](h, h.ctx, testTable))
	}
	_, err := h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: testInstance, TableId: "t", InitialSplits: []*adminpb.CreateTableRequest_Split{{Key: []byte("m")}}})
	h.ok(err)
	got, err := h.create("protected", `deletion_protection: true`)
	h.ok(err)
	if !got.DeletionProtection {
		t.Error("the table is not protected")
	}
}

func TestCreateTableRefused(t *testing.T) {
	h := withTable(t)
	for text, c := range map[string]struct {
		code codes.Code
		want string
	}{
		`column_families { key: "a:b" value { } }`:                                                                                      {codes.InvalidArgument, `column family name "a:b" has a character outside`},
		`column_families { key: "" value { } }`:                                                                                         {codes.InvalidArgument, "column family name has 0 bytes"},
		`column_families { key: "a" value { gc_rule { max_num_versions: 0 } } }`:                                                        {codes.InvalidArgument, "table.column_families[a].gc_rule.max_num_versions: it is 0"},
		`column_families { key: "a" value { value_type { aggregate_type { sum { } } } } }`:                                              {codes.Unimplemented, "table.column_families[a].value_type.aggregate_type.input_type: "},
		`column_families { key: "a" value { value_type { aggregate_type { input_type { int64_type { } } } } } }`:                        {codes.Unimplemented, "table.column_families[a].value_type.aggregate_type.aggregator: "},
		`column_families { key: "a" value { value_type { aggregate_type { input_type { int64_type { } } hllpp_unique_count { } } } } }`: {codes.Unimplemented, "table.column_families[a].value_type.aggregate_type.aggregator: "},
		`change_stream_config { }`:    {codes.Unimplemented, "table.change_stream_config: "},
		`automated_backup_policy { }`: {codes.Unimplemented, "table.automated_backup_policy: "},
		`row_key_schema { }`:          {codes.Unimplemented, "table.row_key_schema: "},
	} {
		_, err := h.create("new", text)
		h.fails(text, err, c.code, c.want)
	}
	_, err := h.create("t", "")
	h.fails("t", err, codes.AlreadyExists, `table "p$i$t" exists already`)
	h.same("tables", h.tableNames(&adminpb.ListTablesRequest{Parent: testInstance}), testTable)
}

// TestViews: a table is described as far as was asked for.
func TestViews(t *testing.T) {
	h := withTable(t)
	for view, c := range map[adminpb.Table_View]struct{ schema, clusters bool }{
		adminpb.Table_VIEW_UNSPECIFIED: {schema: true}, adminpb.Table_NAME_ONLY: {}, adminpb.Table_SCHEMA_VIEW: {schema: true},
		adminpb.Table_REPLICATION_VIEW: {clusters: true}, adminpb.Table_ENCRYPTION_VIEW: {clusters: true}, adminpb.Table_FULL: {true, true},
	} {
		got, err := h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable, View: view})
		h.ok(err)
		if got.Name != testTable || (len(got.ColumnFamilies) == 6) != c.schema || (got.Granularity == adminpb.Table_MILLIS) != c.schema || (len(got.ClusterStates) == 1) != c.clusters {
			t.Errorf("%v: got %v", view, got)
		}
		list, err := h.admin.ListTables(h.ctx, &adminpb.ListTablesRequest{Parent: testInstance, View: view})
		h.ok(err)
		schema := c.schema && view != adminpb.Table_VIEW_UNSPECIFIED // which is NAME_ONLY in a list
		if len(list.Tables) != 1 || (len(list.Tables[0].ColumnFamilies) == 6) != schema {
			t.Errorf("%v: got %v", view, list)
		}
	}
	got, err := h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
	h.ok(err)
	aggregate := proto.CloneOf(aggregators["sum"])
	aggregate.StateType = int64Type
	h.is("type of an aggregate", got.ColumnFamilies["sum"].ValueType.GetAggregateType(), aggregate)
}

// TestPages: pages have each table once, whatever their size.
func TestPages(t *testing.T) {
	h := newHarness(t, Options{})
	var want []string
	for i := range 7 {
		_, err := h.create(fmt.Sprint("t", i), "")
		h.ok(err)
		want = append(want, fmt.Sprintf("%s/tables/t%d", testInstance, i))
	}
	for size := range int32(9) {
		var got []string
		r := &adminpb.ListTablesRequest{Parent: testInstance, PageSize: size}
		for {
			page, err := h.admin.ListTables(h.ctx, r)
			h.ok(err)
			if size > 0 && len(page.Tables) > int(size) {
				t.Errorf("a page of %d has %d", size, len(page.Tables))
			}
			for _, table := range page.Tables {
				got = append(got, table.Name)
			}
			if r.PageToken = page.NextPageToken; r.PageToken == "" {
				break
			}
		}
		h.same(fmt.Sprint("pages of ", size), lines(got...), lines(want...))
	}
	_, err := h.admin.ListTables(h.ctx, &adminpb.ListTablesRequest{Parent: testInstance, PageSize: -1})
	h.fails("-1", err, codes.InvalidArgument, "page_size: it is -1")
	_, err = h.admin.ListTables(h.ctx, &adminpb.ListTablesRequest{Parent: "instances/i"})
	h.fails("parent", err, codes.InvalidArgument, `"instances/i" is no name of an instance`)
}

// TestProtection: a protected table and its families cannot be deleted until it no longer is.
func TestProtection(t *testing.T) {
	h := withTable(t)
	protect := func(on bool) {
		h.Helper()
		op, err := h.admin.UpdateTable(h.ctx, &adminpb.UpdateTableRequest{
			Table: &adminpb.Table{Name: testTable, DeletionProtection: on}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection"}},
		})
		h.ok(err)
		got := new(adminpb.Table)
		if !op.Done || op.GetResponse().UnmarshalTo(got) != nil || got.DeletionProtection != on || got.Name != testTable {
			t.Errorf("got %v", op)
		}
	}
	protect(true)
	_, err := h.admin.DeleteTable(h.ctx, &adminpb.DeleteTableRequest{Name: testTable})
	h.fails("DeleteTable", err, codes.FailedPrecondition, "is protected from deletion")
	_, err = h.modify(`id: "new" create { }`, `id: "a" drop: true`)
	h.fails("drop", err, codes.FailedPrecondition, "modifications[1]: table \"p$i$t\" is protected from deletion")
	got, err := h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
	h.ok(err)
	if got.ColumnFamilies["new"] != nil {
		t.Error("a family was created beside a drop that was refused")
	}
	_, err = h.inst.DeleteInstance(h.ctx, &adminpb.DeleteInstanceRequest{Name: testInstance})
	h.fails("DeleteInstance", err, codes.FailedPrecondition, "is protected from deletion")
	protect(false)
	_, err = h.admin.DeleteTable(h.ctx, &adminpb.DeleteTableRequest{Name: testTable})
	h.ok(err)
	_, err = h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
	h.fails("deleted", err, codes.NotFound, "does not exist")
}

func TestUpdateTableRefused(t *testing.T) {
	h := withTable(t)
	_, err := h.admin.UpdateTable(h.ctx, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: testTable}})
	h.fails("no mask", err, codes.InvalidArgument, "update_mask: it is empty")
	_, err = h.admin.UpdateTable(h.ctx, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: testTable}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection", "change_stream_config"}}})
	h.fails("other field", err, codes.Unimplemented, `not "change_stream_config"`)
	_, err = h.admin.UpdateTable(h.ctx, &adminpb.UpdateTableRequest{})
	h.fails("no table", err, codes.InvalidArgument, `"" is no name of a table`)
}

func modifications(texts ...string) (list []*adminpb.ModifyColumnFamiliesRequest_Modification) {
	for _, text := range texts {
		m := new(adminpb.ModifyColumnFamiliesRequest_Modification)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		list = append(list, m)
	}
	return list
}

func (h *harness) modify(texts ...string) (*adminpb.Table, error) {
	return h.admin.ModifyColumnFamilies(h.ctx, &adminpb.ModifyColumnFamiliesRequest{Name: testTable, Modifications: modifications(texts...)})
}

// TestModifyColumnFamilies: modifications apply in their order.
func TestModifyColumnFamilies(t *testing.T) {
	const was = `column_families { key: "a" value { gc_rule { max_num_versions: 1 } } } column_families { key: "b" value { } } granularity: MILLIS`
	a := `column_families { key: "a" value { gc_rule { max_num_versions: 1 } } }`
	b := `column_families { key: "b" value { } }`
	for _, c := range []struct {
		modifications []string
		want          string
	}{
		{[]string{`id: "c" create { }`}, a + b + `column_families { key: "c" value { } }`},
		{[]string{`id: "c" create { gc_rule { max_age { seconds: 60 } } }`, `id: "d" create { }`}, a + b + `column_families { key: "c" value { gc_rule { max_age { seconds: 60 } } } } column_families { key: "d" value { } }`},
		{[]string{`id: "a" update { gc_rule { max_num_versions: 2 } }`}, b + `column_families { key: "a" value { gc_rule { max_num_versions: 2 } } }`},
		{[]string{`id: "a" update { }`}, b + `column_families { key: "a" value { } }`},
		{[]string{`id: "a" update { gc_rule { max_num_versions: 2 } } update_mask { paths: "gc_rule" }`}, b + `column_families { key: "a" value { gc_rule { max_num_versions: 2 } } }`},
		{[]string{`id: "a" update { value_type { string_type { encoding { utf8_bytes { } } } } } update_mask { paths: "value_type" }`},
			b + `column_families { key: "a" value { gc_rule { max_num_versions: 1 } value_type { string_type { encoding { utf8_bytes { } } } } } }`},
		{[]string{`id: "a" drop: true`}, b},
		{[]string{`id: "a" drop: true`, `id: "a" create { }`}, b + `column_families { key: "a" value { } }`},
		{[]string{`id: "c" create { }`, `id: "c" update { gc_rule { max_num_versions: 7 } }`, `id: "a" drop: true`}, b + `column_families { key: "c" value { gc_rule { max_num_versions: 7 } } }`},
		{[]string{`id: "c" create { }`, `id: "c" drop: true`}, a + b},
	} {
		h := newHarness(t, Options{})
		_, err := h.create("t", was)
		h.ok(err)
		got, err := h.modify(c.modifications...)
		h.ok(err)
		want := table(c.want + "granularity: MILLIS")
		want.Name = testTable
		h.is(fmt.Sprint(c.modifications), got, want)
		got, err = h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
		h.ok(err)
		h.is(fmt.Sprint(c.modifications), got, want)
	}
}

// TestModifyColumnFamiliesRefused: if one modification is wrong none is made, and the error names it.
func TestModifyColumnFamiliesRefused(t *testing.T) {
	h := withTable(t)
	h.ok(h.mutate("r", setCell("b", "q", 0, "v")))
	before, err := h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
	h.ok(err)
	for text, c := range map[string]struct {
		code codes.Code
		want string
	}{
		``:                      {codes.NotFound, `modifications[2]: table "p$i$t" has no column family ""`},
		`id: "c"`:               {codes.InvalidArgument, "modifications[2]: a modification needs one of create, update and drop"},
		`id: "c" create { }`:    {codes.AlreadyExists, `modifications[2]: table "p$i$t" has a column family "c" already`},
		`id: "new" create { }`:  {codes.AlreadyExists, `modifications[2]: table "p$i$t" has a column family "new" already`},
		`id: "x:y" create { }`:  {codes.InvalidArgument, `modifications[2]: column family name "x:y" has a character outside`},
		`id: "none" update { }`: {codes.NotFound, `modifications[2]: table "p$i$t" has no column family "none"`},
		`id: "none" drop: true`: {codes.NotFound, `modifications[2]: table "p$i$t" has no column family "none"`},
		`id: "b" update { }`:    {codes.NotFound, `modifications[2]: table "p$i$t" has no column family "b"`},
		`id: "c" drop: false`:   {codes.InvalidArgument, "modifications[2].drop: it must be true"},
		`id: "c" update { gc_rule { max_num_versions: -1 } }`:                                                                            {codes.InvalidArgument, "modifications[2].update.gc_rule.max_num_versions: it is -1"},
		`id: "d" create { gc_rule { max_age { nanos: 1 } } }`:                                                                            {codes.InvalidArgument, "modifications[2].create.gc_rule.max_age: it is 1ns"},
		`id: "c" update { } update_mask { paths: "stats" }`:                                                                              {codes.Unimplemented, `modifications[2].update_mask: the fields of a family that can be changed are gc_rule and value_type, not "stats"`},
		`id: "sum" update { } update_mask { paths: "value_type" }`:                                                                       {codes.InvalidArgument, "modifications[2].update_mask: Immutable fields 'value_type.aggregate_type'"},
		`id: "c" update { value_type { aggregate_type { input_type { int64_type { } } sum { } } } } update_mask { paths: "value_type" }`: {codes.InvalidArgument, "modifications[2].update_mask: Immutable fields"},
	} {
		_, err := h.modify(`id: "new" create { }`, `id: "b" drop: true`, text)
		h.fails(text, err, c.code, c.want)
		after, err := h.admin.GetTable(h.ctx, &adminpb.GetTableRequest{Name: testTable})
		h.ok(err)
		h.is(text, after, before)
	}
	aggregate := `value_type { aggregate_type { input_type { int64_type { } } sum { } } }`
	_, err = h.modify(`id: "new" create { `+aggregate+` }`, `id: "new" update { value_type { int64_type { } } } update_mask { paths: "value_type" }`)
	h.fails("an aggregate of the same request", err, codes.InvalidArgument, "modifications[1].update_mask: Immutable fields")
	_, err = h.modify()
	h.fails("none", err, codes.InvalidArgument, "modifications: there are none")
	h.same("rows", h.rows(&btpb.ReadRowsRequest{}), "r b:q@0 v")
}

// TestModifyAgain: a family that comes back in the same request has forgotten what it was.
func TestModifyAgain(t *testing.T) {
	h := withTable(t)
	got, err := h.modify(`id: "sum" drop: true`, `id: "sum" create { }`, `id: "sum" update { value_type { int64_type { } } } update_mask { paths: "value_type" }`)
	h.ok(err)
	if got.ColumnFamilies["sum"].ValueType.GetInt64Type() == nil {
		t.Errorf("the family has the type %v", got.ColumnFamilies["sum"].ValueType)
	}
	h.ok(h.mutate("r", setCell("sum", "q", 0, "v")))
}

func TestDropRowRange(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b b\xff b\xff\xff c"}, {"b", "a aa c"}, {"aa", "a b b\xff b\xff\xff c"}, {"b\xff", "a aa b c"}, {"x", "a aa b b\xff b\xff\xff c"}, {"", ""},
	} {
		h := withTable(t)
		for _, row := range []string{"a", "aa", "b", "b\xff", "b\xff\xff", "c"} {
			h.ok(h.mutate(row, setCell("a", "q", 0, "")))
		}
		r := &adminpb.DropRowRangeRequest{Name: testTable, Target: &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte(c.prefix)}}
		if c.prefix == "" {
			_, err := h.admin.DropRowRange(h.ctx, r)
			h.fails("empty prefix", err, codes.InvalidArgument, "row_key_prefix: it is empty")
			r.Target = &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{}
			_, err = h.admin.DropRowRange(h.ctx, r)
			h.fails("not all", err, codes.InvalidArgument, "delete_all_data_from_table: it must be true")
			r.Target = nil
			_, err = h.admin.DropRowRange(h.ctx, r)
			h.fails("neither", err, codes.InvalidArgument, "target: one of")
			r.Target = &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}
		}
		_, err := h.admin.DropRowRange(h.ctx, r)
		h.ok(err)
		if got := keysOf(h.rows(&btpb.ReadRowsRequest{})); got != c.want {
			t.Errorf("%q: got %q, want %q", c.prefix, got, c.want)
		}
	}
}

func TestConsistency(t *testing.T) {
	h := withTable(t)
	token, err := h.admin.GenerateConsistencyToken(h.ctx, &adminpb.GenerateConsistencyTokenRequest{Name: testTable})
	h.ok(err)
	got, err := h.admin.CheckConsistency(h.ctx, &adminpb.CheckConsistencyRequest{Name: testTable, ConsistencyToken: token.ConsistencyToken})
	if err != nil || !got.Consistent {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = h.admin.CheckConsistency(h.ctx, &adminpb.CheckConsistencyRequest{Name: testTable, ConsistencyToken: "other"})
	h.fails("other token", err, codes.InvalidArgument, "consistency_token: the token is not of this table")
}

// TestGCRules: a rule comes back as it was given, but for the order of its parts and parts of a second.
func TestGCRules(t *testing.T) {
	for text, want := range map[string]string{
		``:                                 ``,
		`union { }`:                        ``,
		`intersection { }`:                 ``,
		`max_num_versions: 1`:              `max_num_versions: 1`,
		`max_num_versions: 2147483647`:     `max_num_versions: 2147483647`,
		`max_age { seconds: 1 }`:           `max_age { seconds: 1 }`,
		`max_age { nanos: 1000000 }`:       `max_age { seconds: 1 }`,
		`max_age { seconds: 60 nanos: 1 }`: `max_age { seconds: 61 }`,
		`union { rules { max_num_versions: 2 } rules { max_age { seconds: 60 } } }`:        `union { rules { max_age { seconds: 60 } } rules { max_num_versions: 2 } }`,
		`intersection { rules { max_num_versions: 2 } rules { max_age { seconds: 60 } } }`: `intersection { rules { max_age { seconds: 60 } } rules { max_num_versions: 2 } }`,
		`max_age { seconds: 315576000000 }`:                                                `max_age { seconds: 315576000000 }`,
		`union { rules { max_num_versions: 2 } }`:                                          `max_num_versions: 2`,
		`intersection { rules { max_age { seconds: 60 } } }`:                               `max_age { seconds: 60 }`,
	} {
		gc, err := gcOf("gc_rule", gcRule(text))
		if err != nil || widecol.CheckGC(gc) != nil {
			t.Errorf("%s: %v, %v", text, err, widecol.CheckGC(gc))
		}
		got := ruleOf(gc)
		if want := gcRule(want); want.Rule == nil && got != nil || want.Rule != nil && !proto.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	// The other front end takes larger numbers than a rule can have.
	got := ruleOf(widecol.GC{TTLSecs: widecol.MaxTTLSecs, VersionLimit: 1 << 40})
	if want := gcRule(`union { rules { max_age { seconds: 315576000000 } } rules { max_num_versions: 2147483647 } }`); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func gcRule(text string) *adminpb.GcRule {
	m := new(adminpb.GcRule)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return m
}

func TestGCRulesRefused(t *testing.T) {
	h := withTable(t)
	for text, c := range map[string]struct {
		code codes.Code
		want string
	}{
		`max_num_versions: 0`:                  {codes.InvalidArgument, "gc_rule.max_num_versions: it is 0"},
		`max_num_versions: -3`:                 {codes.InvalidArgument, "gc_rule.max_num_versions: it is -3"},
		`max_age { }`:                          {codes.InvalidArgument, "gc_rule.max_age: it is 0s"},
		`max_age { seconds: 1 nanos: -1 }`:     {codes.InvalidArgument, "gc_rule.max_age: it is no duration"},
		`max_age { seconds: 315576000001 }`:    {codes.InvalidArgument, "gc_rule.max_age: it is no duration"},
		`max_age { seconds: -1 }`:              {codes.InvalidArgument, "gc_rule.max_age: it is -1s"},
		`union { rules { } }`:                  {codes.InvalidArgument, "gc_rule.union: a rule is empty"},
		`intersection { rules { union { } } }`: {codes.Unimplemented, "gc_rule.intersection: a union or an intersection may have one max_age and one max_num_versions"},
		`union { rules { max_num_versions: 1 } rules { max_num_versions: 2 } }`:       {codes.Unimplemented, "gc_rule.union: a union or"},
		`union { rules { max_age { seconds: 1 } } rules { max_age { seconds: 2 } } }`: {codes.Unimplemented, "gc_rule.union: a union or"},
	} {
		_, err := h.modify(`id: "new" create { gc_rule { ` + text + ` } }`)
		h.fails(text, err, c.code, "modifications[0].create."+c.want)
	}
}

// TestGC: a rule decides what is read.
func TestGC(t *testing.T) {
	h := newHarness(t, Options{})
	_, err := h.create("t", `column_families { key: "a" value { gc_rule { max_num_versions: 1 } } } column_families { key: "b" value { gc_rule { max_age { seconds: 2 } } } }`)
	h.ok(err)
	for _, family := range []string{"a", "b"} {
		h.ok(h.mutate("r", setCell(family, "q", 1_000_000, "1"), setCell(family, "q", 2_000_000, "2"), setCell(family, "q", 4_000_000, "4"), setCell(family, "q", 5_000_000, "5")))
	}
	h.same("at 5 s", h.rows(&btpb.ReadRowsRequest{}), lines("r a:q@5000000 5", "r b:q@5000000 5", "r b:q@4000000 4"))
}
