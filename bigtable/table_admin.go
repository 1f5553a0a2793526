package bigtable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"

	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
)

// tableAdmin is the service for tables and families.
type tableAdmin struct {
	adminpb.UnimplementedBigtableTableAdminServer
	*Server
}

// CreateTable creates a table with its families. Initial splits have no effect: a table is divided by what it holds.
func (s *tableAdmin) CreateTable(ctx context.Context, r *adminpb.CreateTableRequest) (*adminpb.Table, error) {
	name := r.Parent + "/tables/" + r.TableId
	c, err := s.begin(ctx, access.Admin, admission.Write, name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := createdAs(r.Table); err != nil {
		return nil, err
	}
	var spec widecol.TableSpec
	for id, m := range r.Table.GetColumnFamilies() {
		f, err := familyOf("table.column_families["+id+"]", id, m)
		if err != nil {
			return nil, err
		}
		spec.Families = append(spec.Families, f)
	}
	slices.SortFunc(spec.Families, func(a, b widecol.Family) int { return strings.Compare(a.Name, b.Name) })
	if err := s.store.CreateTable(ctx, c.table, spec); err != nil {
		return nil, statusOf(err)
	}
	if r.Table.GetDeletionProtection() {
		protected := true
		if err := s.store.AlterTable(ctx, c.table, widecol.TableChange{Protected: &protected}); err != nil {
			return nil, statusOf(err)
		}
	}
	return s.describe(ctx, c.table, name, adminpb.Table_SCHEMA_VIEW)
}

// createdAs refuses what a new table cannot have.
func createdAs(m *adminpb.Table) error {
	if g := m.GetGranularity(); g != adminpb.Table_TIMESTAMP_GRANULARITY_UNSPECIFIED && g != adminpb.Table_MILLIS {
		return invalid("table.granularity", "the only granularity is MILLIS")
	}
	for field, has := range map[string]bool{
		"change_stream_config":    m.GetChangeStreamConfig() != nil,
		"automated_backup_policy": m.GetAutomatedBackupPolicy() != nil,
		"tiered_storage_config":   m.GetTieredStorageConfig() != nil,
		"row_key_schema":          m.GetRowKeySchema() != nil,
	} {
		if has {
			return unimplemented("table."+field, "tables do not have it")
		}
	}
	return nil
}

func unimplemented(place, message string) error {
	return status.Error(codes.Unimplemented, at(place, message))
}

// familyOf takes a family over.
func familyOf(place, id string, m *adminpb.ColumnFamily) (f widecol.Family, err error) {
	f.Name = id
	if f.GC, err = gcOf(place+".gc_rule", m.GetGcRule()); err != nil {
		return f, err
	}
	return f, keepType(place+".value_type", &f, m.GetValueType())
}

// ListTables lists the tables of an instance by name.
func (s *tableAdmin) ListTables(ctx context.Context, r *adminpb.ListTablesRequest) (*adminpb.ListTablesResponse, error) {
	i, err := parseInstance(r.Parent)
	if err != nil {
		return nil, err
	}
	if r.PageSize < 0 {
		return nil, invalid("page_size", "it is %d, and must not be below 0", r.PageSize)
	}
	c, err := s.work(ctx, admission.Read, "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	list := new(adminpb.ListTablesResponse)
	for n := range tables {
		t := &tables[n]
		name, ok := s.shown(i, t.Name)
		if !ok || r.PageToken != "" && name.id <= r.PageToken {
			continue
		}
		if r.PageSize > 0 && len(list.Tables) == int(r.PageSize) {
			list.NextPageToken = list.Tables[len(list.Tables)-1].Name
			list.NextPageToken = list.NextPageToken[strings.LastIndexByte(list.NextPageToken, '/')+1:]
			break
		}
		list.Tables = append(list.Tables, s.tableOf(t, name.String(), viewOr(r.View, adminpb.Table_NAME_ONLY)))
	}
	return list, nil
}

// sees reports whether the sender of a request may know of a table.
func (s *Server) sees(ctx context.Context, table string) bool {
	return s.opt.Access == nil || s.callerOf(ctx).token.Allows(access.Read, table)
}

// tables returns the tables that the sender of a request may know of, by name.
func (s *Server) tables(ctx context.Context) ([]widecol.Table, error) {
	tables, err := s.store.Tables(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	return slices.DeleteFunc(tables, func(t widecol.Table) bool { return !s.sees(ctx, t.Name) }), nil
}

func viewOr(v, usual adminpb.Table_View) adminpb.Table_View {
	if v == adminpb.Table_VIEW_UNSPECIFIED {
		return usual
	}
	return v
}

// GetTable describes a table.
func (s *tableAdmin) GetTable(ctx context.Context, r *adminpb.GetTableRequest) (*adminpb.Table, error) {
	c, err := s.begin(ctx, access.Read, admission.Read, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return s.describe(ctx, c.table, r.Name, viewOr(r.View, adminpb.Table_SCHEMA_VIEW))
}

func (s *Server) describe(ctx context.Context, table, name string, view adminpb.Table_View) (*adminpb.Table, error) {
	t, err := s.store.Table(ctx, table)
	if err != nil {
		return nil, statusOf(err)
	}
	return s.tableOf(&t, name, view), nil
}

// tableOf returns the message about a table.
func (s *Server) tableOf(t *widecol.Table, name string, view adminpb.Table_View) *adminpb.Table {
	m := &adminpb.Table{Name: name}
	if view == adminpb.Table_SCHEMA_VIEW || view == adminpb.Table_FULL {
		m.Granularity, m.DeletionProtection = adminpb.Table_MILLIS, t.Settings.Protected
		m.ColumnFamilies = make(map[string]*adminpb.ColumnFamily)
		for _, f := range t.Families {
			m.ColumnFamilies[f.Name] = &adminpb.ColumnFamily{GcRule: ruleOf(f.GC), ValueType: typeOf(&f)}
		}
	}
	if view == adminpb.Table_REPLICATION_VIEW || view == adminpb.Table_ENCRYPTION_VIEW || view == adminpb.Table_FULL {
		m.ClusterStates = map[string]*adminpb.Table_ClusterState{clusterID: {ReplicationState: adminpb.Table_ClusterState_READY}}
	}
	return m
}

// DeleteTable deletes a table.
func (s *tableAdmin) DeleteTable(ctx context.Context, r *adminpb.DeleteTableRequest) (*emptypb.Empty, error) {
	c, err := s.begin(ctx, access.Admin, admission.Write, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := s.store.DropTable(ctx, c.table); err != nil {
		return nil, statusOf(err)
	}
	return &emptypb.Empty{}, nil
}

// UpdateTable changes the protection of a table from deletion.
func (s *tableAdmin) UpdateTable(ctx context.Context, r *adminpb.UpdateTableRequest) (*longrunningpb.Operation, error) {
	name := r.GetTable().GetName()
	c, err := s.begin(ctx, access.Admin, admission.Write, name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	paths := r.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		return nil, invalid("update_mask", "it is empty: name the fields that change")
	}
	for _, path := range paths {
		if path != "deletion_protection" {
			return nil, unimplemented("update_mask", fmt.Sprintf("the only field that can be changed is deletion_protection, not %q", path))
		}
	}
	protected := r.Table.DeletionProtection
	if err := s.store.AlterTable(ctx, c.table, widecol.TableChange{Protected: &protected}); err != nil {
		return nil, statusOf(err)
	}
	t, err := s.describe(ctx, c.table, name, adminpb.Table_SCHEMA_VIEW)
	if err != nil {
		return nil, err
	}
	return s.done(t, &adminpb.UpdateTableMetadata{Name: name})
}

// DropRowRange deletes the rows with a prefix, or all.
func (s *tableAdmin) DropRowRange(ctx context.Context, r *adminpb.DropRowRangeRequest) (*emptypb.Empty, error) {
	c, err := s.begin(ctx, access.Admin, admission.Write, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	d := widecol.NewDeletion()
	switch target := r.GetTarget().(type) {
	case *adminpb.DropRowRangeRequest_RowKeyPrefix:
		if len(target.RowKeyPrefix) == 0 {
			return nil, invalid("row_key_prefix", "it is empty: delete_all_data_from_table deletes all rows")
		}
		d.Rows = widecol.NewRowSet(widecol.PrefixRange(target.RowKeyPrefix))
	case *adminpb.DropRowRangeRequest_DeleteAllDataFromTable:
		if !target.DeleteAllDataFromTable {
			return nil, invalid("delete_all_data_from_table", "it must be true if it is there")
		}
	default:
		return nil, invalid("target", "one of row_key_prefix and delete_all_data_from_table is needed")
	}
	if _, err := s.store.Delete(ctx, c.table, &d, ""); err != nil {
		return nil, statusOf(err)
	}
	return &emptypb.Empty{}, nil
}

// consistencyPrefix begins the tokens of GenerateConsistencyToken. There is one cluster, so what was written is there.
const consistencyPrefix = "consistent:"

// GenerateConsistencyToken returns a token for CheckConsistency.
func (s *tableAdmin) GenerateConsistencyToken(ctx context.Context, r *adminpb.GenerateConsistencyTokenRequest) (*adminpb.GenerateConsistencyTokenResponse, error) {
	if _, err := s.GetTable(ctx, &adminpb.GetTableRequest{Name: r.Name, View: adminpb.Table_NAME_ONLY}); err != nil {
		return nil, err
	}
	return &adminpb.GenerateConsistencyTokenResponse{ConsistencyToken: consistencyPrefix + r.Name}, nil
}

// CheckConsistency says that the table is consistent.
func (s *tableAdmin) CheckConsistency(ctx context.Context, r *adminpb.CheckConsistencyRequest) (*adminpb.CheckConsistencyResponse, error) {
	if _, err := s.GetTable(ctx, &adminpb.GetTableRequest{Name: r.Name, View: adminpb.Table_NAME_ONLY}); err != nil {
		return nil, err
	}
	if r.ConsistencyToken != consistencyPrefix+r.Name {
		return nil, invalid("consistency_token", "the token is not of this table")
	}
	return &adminpb.CheckConsistencyResponse{Consistent: true}, nil
}
