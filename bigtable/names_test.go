package bigtable

import (
	"context"
	"strings"
	"testing"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/colonnade-db/colonnade/widecol"
)

// calls are those about a table, each with a request that table t serves.
var calls = map[string]func(h *harness, ctx context.Context, table string) error{
	"ReadRows": func(h *harness, ctx context.Context, table string) error {
		stream, err := h.data.ReadRows(ctx, &btpb.ReadRowsRequest{TableName: table})
		h.ok(err)
		return last(stream.Recv)
	},
	"SampleRowKeys": func(h *harness, ctx context.Context, table string) error {
		stream, err := h.data.SampleRowKeys(ctx, &btpb.SampleRowKeysRequest{TableName: table})
		h.ok(err)
		return last(stream.Recv)
	},
	"MutateRow": func(h *harness, ctx context.Context, table string) error {
		_, err := h.data.MutateRow(ctx, &btpb.MutateRowRequest{TableName: table, RowKey: []byte("r"), Mutations: mutations(`delete_from_row { }`)})
		return err
	},
	"MutateRows": func(h *harness, ctx context.Context, table string) error {
		stream, err := h.data.MutateRows(ctx, &btpb.MutateRowsRequest{TableName: table, Entries: []*btpb.MutateRowsRequest_Entry{entry("r", mutation(`delete_from_row { }`))}})
		h.ok(err)
		return last(stream.Recv)
	},
	"CheckAndMutateRow": func(h *harness, ctx context.Context, table string) error {
		_, err := h.data.CheckAndMutateRow(ctx, &btpb.CheckAndMutateRowRequest{TableName: table, RowKey: []byte("r"), TrueMutations: mutations(`delete_from_row { }`)})
		return err
	},
	"ReadModifyWriteRow": func(h *harness, ctx context.Context, table string) error {
		_, err := h.data.ReadModifyWriteRow(ctx, &btpb.ReadModifyWriteRowRequest{TableName: table, RowKey: []byte("r"), Rules: rules(`append_value: "x"`)})
		return err
	},
	"GetTable": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.GetTable(ctx, &adminpb.GetTableRequest{Name: table})
		return err
	},
	"UpdateTable": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.UpdateTable(ctx, &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: table}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"deletion_protection"}}})
		return err
	},
	"ModifyColumnFamilies": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.ModifyColumnFamilies(ctx, &adminpb.ModifyColumnFamiliesRequest{Name: table, Modifications: modifications(`id: "a" update { }`)})
		return err
	},
	"DropRowRange": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.DropRowRange(ctx, &adminpb.DropRowRangeRequest{Name: table, Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}})
		return err
	},
	"GenerateConsistencyToken": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.GenerateConsistencyToken(ctx, &adminpb.GenerateConsistencyTokenRequest{Name: table})
		return err
	},
	"CheckConsistency": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.CheckConsistency(ctx, &adminpb.CheckConsistencyRequest{Name: table, ConsistencyToken: consistencyPrefix + table})
		return err
	},
	"DeleteTable": func(h *harness, ctx context.Context, table string) error {
		_, err := h.admin.DeleteTable(ctx, &adminpb.DeleteTableRequest{Name: table})
		return err
	},
}

// last reads a stream to its end.
func last[M any](recv func() (M, error)) error {
	for {
		if _, err := recv(); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
	}
}

// TestTableNames: every call refuses what is no name of a table, and says so of a table that is not there.
func TestTableNames(t *testing.T) {
	h := withTable(t)
	for call, do := range calls {
		for _, name := range []string{
			"", "t", "projects/p/instances/i", "projects/p/instances/i/tables/", "projects/p/instances/i/tables/a/b", "projects//instances/i/tables/t",
			"projects/p/instances//tables/t", "projects/p/instances/-/tables/t", "projects/p/tables/t", "/projects/p/instances/i/tables/t",
			"projects/p$/instances/i/tables/t", "projects/p/instances/i/tables/a$b", "projects/p/instances/i/clusters/c/tables/t",
		} {
			h.fails(call+" "+name, do(h, h.ctx, name), codes.InvalidArgument, "is no name of")
		}
		h.fails(call, do(h, h.ctx, testInstance+"/tables/ä"), codes.InvalidArgument, "has a character outside")
		h.fails(call, do(h, h.ctx, testInstance+"/tables/"+strings.Repeat("t", widecol.MaxName)), codes.InvalidArgument, "allowed are 1 to 200")
		h.fails(call, do(h, h.ctx, DefaultInstance+"/tables/_t"), codes.InvalidArgument, "starts with _")
		h.fails(call, do(h, h.ctx, testInstance+"/tables/none"), codes.NotFound, `table "p$i$none" does not exist`)
		h.fails(call, do(h, h.ctx, DefaultInstance+"/tables/t"), codes.NotFound, `table "t" does not exist`)
		h.fails(call, do(h, h.ctx, "projects/p/instances/other/tables/t"), codes.NotFound, `table "p$other$t" does not exist`)
	}
	for call, do := range calls {
		if call != "DeleteTable" {
			if err := do(h, h.ctx, testTable); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
	h.ok(calls["DeleteTable"](h, h.ctx, testTable))
}

// TestInstances: tables of the default instance have plain names in the Store, those of others the names of all parts.
func TestInstances(t *testing.T) {
	h := newHarness(t, Options{})
	home := "projects/home/instances/house"
	h.serve(Options{Instance: home})
	for _, instance := range []string{home, testInstance, DefaultInstance} {
		_, err := h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: instance, TableId: "t"})
		h.ok(err)
		_, err = h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: instance, TableId: "t"})
		h.fails("again", err, codes.AlreadyExists, "exists already")
	}
	_, err := h.admin.CreateTable(h.ctx, &adminpb.CreateTableRequest{Parent: testInstance, TableId: "u"})
	h.ok(err)
	tables, err := h.store.Tables(h.ctx)
	h.ok(err)
	var stored []string
	for _, t := range tables {
		stored = append(stored, t.Name)
	}
	h.same("in the store", lines(stored...), lines("colonnade$colonnade$t", "p$i$t", "p$i$u", "t"))
	for instance, want := range map[string]string{
		home: home + "/tables/t", testInstance: lines(testInstance+"/tables/t", testInstance+"/tables/u"), "projects/p/instances/other": "",
		DefaultInstance: DefaultInstance + "/tables/t",
	} {
		h.same(instance, h.tableNames(&adminpb.ListTablesRequest{Parent: instance}), want)
	}
	if _, err := New(h.store, Options{Instance: "house"}); err == nil {
		t.Error("house is taken for the name of an instance")
	}
	if err := ParseInstance("projects/home/instances/-"); err == nil {
		t.Error("- is taken for an instance")
	}
}

// tableNames lists tables, a line each.
func (h *harness) tableNames(r *adminpb.ListTablesRequest) string {
	h.Helper()
	list, err := h.admin.ListTables(h.ctx, r)
	h.ok(err)
	var names []string
	for _, t := range list.Tables {
		names = append(names, t.Name)
	}
	return lines(names...)
}

// TestViewsOfTables: there are none, and the error says so.
func TestViewsOfTables(t *testing.T) {
	h := withTable(t)
	for what, r := range map[string]*btpb.ReadRowsRequest{
		"authorized": {AuthorizedViewName: testTable + "/authorizedViews/v"}, "materialized": {MaterializedViewName: testInstance + "/materializedViews/v"},
	} {
		stream, err := h.data.ReadRows(h.ctx, r)
		h.ok(err)
		_, err = stream.Recv()
		h.fails(what, err, codes.Unimplemented, "there are no views")
	}
}
