package bigtable

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/widecol"
)

// CreateBackup begins to make a backup of a table.
func (s *tableAdmin) CreateBackup(ctx context.Context, r *adminpb.CreateBackupRequest) (*longrunningpb.Operation, error) {
	w, err := s.creation(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.operations.run(ctx, w)
}

func (s *tableAdmin) creation(ctx context.Context, r *adminpb.CreateBackupRequest) (*work, error) {
	name, err := backupIn(r.Parent, r.BackupId)
	if err != nil {
		return nil, err
	}
	c, err := s.begin(ctx, access.Admin, admission.Write, r.GetBackup().GetSourceTable())
	if err != nil {
		return nil, err
	}
	defer c.end()
	if t, err := parseTable(r.Backup.SourceTable); err != nil || t.instance != name.instance {
		return nil, invalid("backup.source_table", "a backup is in the instance of its table")
	}
	backups, err := s.kept()
	if err != nil {
		return nil, err
	}
	now := s.time()
	b := Backup{Name: name.String(), Table: c.table, Note: map[string]string{noteTable: r.Backup.SourceTable}}
	if b.Expires, err = s.expiry("backup.expire_time", r.Backup.ExpireTime, now, longestLife); err != nil {
		return nil, err
	}
	if err := noteType(b.Note, r.Backup.BackupType, r.Backup.HotToStandardTime, now); err != nil {
		return nil, err
	}
	if _, err := s.store.Table(ctx, c.table); err != nil {
		return nil, statusOf(err)
	}
	about := &adminpb.CreateBackupMetadata{Name: b.Name, SourceTable: r.Backup.SourceTable, StartTime: timestamppb.New(now)}
	return &work{method: "CreateBackup", table: c.table, metadata: about, do: func(ctx context.Context) (_, _ proto.Message, err error) {
		made, err := backups.Create(ctx, b)
		return s.backupMessage(&made), &adminpb.CreateBackupMetadata{
			Name: made.Name, SourceTable: about.SourceTable, StartTime: timestamppb.New(made.Started), EndTime: timestamppb.New(made.Ended),
		}, err
	}}, nil
}

// CopyBackup begins to make a copy of a backup.
func (s *tableAdmin) CopyBackup(ctx context.Context, r *adminpb.CopyBackupRequest) (*longrunningpb.Operation, error) {
	w, err := s.copying(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.operations.run(ctx, w)
}

func (s *tableAdmin) copying(ctx context.Context, r *adminpb.CopyBackupRequest) (*work, error) {
	name, err := backupIn(r.Parent, r.BackupId)
	if err != nil {
		return nil, err
	}
	c, from, err := s.beginOn(ctx, access.Admin, admission.Write, r.SourceBackup)
	if err != nil {
		return nil, err
	}
	defer c.end()
	b := Backup{Name: name.String(), Note: map[string]string{noteTable: from.Note[noteTable], noteFrom: from.Name}}
	if b.Expires, err = s.expiry("expire_time", r.ExpireTime, s.time(), longestCopyLife); err != nil {
		return nil, err
	}
	about := &adminpb.CopyBackupMetadata{Name: b.Name, SourceBackupInfo: backupInfo(from)}
	return &work{method: "CopyBackup", table: c.table, metadata: about, do: func(ctx context.Context) (_, _ proto.Message, err error) {
		made, err := s.opt.Backups.Copy(ctx, from.Name, b)
		return s.backupMessage(&made), about, err
	}}, nil
}

// GetBackup describes a backup.
func (s *tableAdmin) GetBackup(ctx context.Context, r *adminpb.GetBackupRequest) (*adminpb.Backup, error) {
	c, b, err := s.beginOn(ctx, access.Read, admission.Read, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return s.backupMessage(b), nil
}

// ListBackups lists the backups of an instance, those begun last first.
func (s *tableAdmin) ListBackups(ctx context.Context, r *adminpb.ListBackupsRequest) (*adminpb.ListBackupsResponse, error) {
	i, err := instanceOfCluster(r.Parent)
	if of, ok := strings.CutSuffix(r.Parent, "/clusters/-"); ok {
		i, err = parseInstance(of)
	}
	switch {
	case err != nil:
		return nil, err
	case r.OrderBy != "" && r.OrderBy != "start_time desc":
		return nil, unimplemented("order_by", "backups are listed in one order, start_time desc: sort them")
	case r.PageSize < 0:
		return nil, invalid("page_size", "it is %d, and must not be below 0", r.PageSize)
	}
	passes, err := backupFilter(r.Filter)
	if err != nil {
		return nil, err
	}
	c, err := s.work(ctx, admission.Read, "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	list, err := s.backupsOf(ctx, i)
	if err != nil {
		return nil, err
	}
	answer, last := new(adminpb.ListBackupsResponse), ""
	for n := range list {
		b := &list[n]
		if !passes(b) || r.PageToken != "" && b.place() <= r.PageToken {
			continue
		}
		if r.PageSize > 0 && len(answer.Backups) == int(r.PageSize) {
			answer.NextPageToken = last
			break
		}
		last = b.place()
		answer.Backups = append(answer.Backups, s.backupMessage(b))
	}
	return answer, nil
}

// sourceFilter is the one kind of filter that clients send by themselves: the Python client, for the backups of a table.
var sourceFilter = regexp.MustCompile(`^source_table ?([:=]) ?"?([^"() ]+)"?$`)

// backupFilter takes a filter over.
func backupFilter(filter string) (passes func(*Backup) bool, err error) {
	if filter == "" {
		return func(*Backup) bool { return true }, nil
	}
	parts := sourceFilter.FindStringSubmatch(filter)
	switch {
	case parts == nil:
		return nil, unimplemented("filter", "the only filters are source_table:TEXT and source_table=NAME: choose among what is listed")
	case parts[1] == ":":
		return func(b *Backup) bool { return strings.Contains(b.Note[noteTable], parts[2]) }, nil
	}
	return func(b *Backup) bool { return b.Note[noteTable] == parts[2] }, nil
}

// place is where a backup is in a list: those begun last have the smallest places.
func (b *Backup) place() string {
	return fmt.Sprintf("%020d %s", 1<<62-b.Started.UnixMicro(), b.Name)
}

// backupsOf returns the backups of an instance that the sender of a request may know of, those begun last first.
func (s *Server) backupsOf(ctx context.Context, i instance) ([]Backup, error) {
	backups, err := s.kept()
	if err != nil {
		return nil, err
	}
	list, err := backups.List(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	list = slices.DeleteFunc(list, func(b Backup) bool {
		n, err := parseBackup(b.Name)
		return err != nil || n.instance != i || !s.sees(ctx, s.source(&b))
	})
	slices.SortFunc(list, func(a, b Backup) int { return cmp.Compare(a.place(), b.place()) })
	return list, nil
}

// UpdateBackup changes when a backup expires.
func (s *tableAdmin) UpdateBackup(ctx context.Context, r *adminpb.UpdateBackupRequest) (*adminpb.Backup, error) {
	c, _, err := s.beginOn(ctx, access.Admin, admission.Write, r.GetBackup().GetName())
	if err != nil {
		return nil, err
	}
	defer c.end()
	paths := r.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		return nil, invalid("update_mask", "it is empty: name the fields that change")
	}
	for _, path := range paths {
		if path != "expire_time" && path != "hot_to_standard_time" {
			return nil, invalid("update_mask", "the fields of a backup that can be changed are expire_time and hot_to_standard_time, not %q", path)
		}
	}
	changed, err := s.opt.Backups.Change(ctx, r.Backup.Name, func(b *Backup) (err error) {
		if slices.Contains(paths, "expire_time") {
			if b.Expires, err = s.expiry("backup.expire_time", r.Backup.ExpireTime, b.Started, longestLife); err != nil {
				return err
			}
		}
		if slices.Contains(paths, "hot_to_standard_time") {
			err = noteType(b.Note, adminpb.Backup_BACKUP_TYPE_UNSPECIFIED, r.Backup.HotToStandardTime, b.Started)
		}
		return err
	})
	if err != nil {
		return nil, statusOf(err)
	}
	return s.backupMessage(&changed), nil
}

// DeleteBackup deletes a backup.
func (s *tableAdmin) DeleteBackup(ctx context.Context, r *adminpb.DeleteBackupRequest) (*emptypb.Empty, error) {
	c, b, err := s.beginOn(ctx, access.Admin, admission.Write, r.Name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	if err := s.opt.Backups.Remove(ctx, b.Name); err != nil {
		return nil, statusOf(err)
	}
	return &emptypb.Empty{}, nil
}

// RestoreTable begins to make a table of a backup.
func (s *tableAdmin) RestoreTable(ctx context.Context, r *adminpb.RestoreTableRequest) (*longrunningpb.Operation, error) {
	w, err := s.restoration(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.operations.run(ctx, w)
}

func (s *tableAdmin) restoration(ctx context.Context, r *adminpb.RestoreTableRequest) (*work, error) {
	name := r.Parent + "/tables/" + r.TableId
	from, err := parseBackup(r.GetBackup())
	if err != nil {
		return nil, err
	}
	c, err := s.begin(ctx, access.Admin, admission.Write, name)
	if err != nil {
		return nil, err
	}
	defer c.end()
	b, err := s.findBackup(ctx, from)
	if err == nil {
		err = s.authorize(ctx, access.Read, s.source(b))
	}
	if err != nil {
		return nil, err
	}
	switch _, err := s.store.Table(ctx, c.table); {
	case err == nil:
		return nil, statusOf(widecol.TableExists(c.table))
	case widecol.KindOf(err) != widecol.NotFound:
		return nil, statusOf(err)
	}
	about := &adminpb.RestoreTableMetadata{
		Name: name, SourceType: adminpb.RestoreSourceType_BACKUP, SourceInfo: &adminpb.RestoreTableMetadata_BackupInfo{BackupInfo: backupInfo(b)},
	}
	return &work{method: "RestoreTable", table: c.table, metadata: about, do: func(ctx context.Context) (_, _ proto.Message, err error) {
		if err := s.opt.Backups.Restore(ctx, b.Name, c.table); err != nil {
			return nil, nil, err
		}
		t, err := s.describe(ctx, c.table, name, adminpb.Table_SCHEMA_VIEW)
		return t, about, err
	}}, nil
}
