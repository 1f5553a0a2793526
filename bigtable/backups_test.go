package bigtable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
)

// inMemory are Backups that remember what they were told. A restore creates an empty table.
type inMemory struct {
	h     *harness
	begun chan struct{} // gets a value when a Create begins, if it is not nil; then it waits for the end of its context, or for go
	goOn  chan error

	mu   sync.Mutex
	list map[string]Backup
}

func newInMemory(h *harness) *inMemory { return &inMemory{h: h, list: make(map[string]Backup)} }

func (m *inMemory) now() time.Time { return time.UnixMicro(m.h.clock.Now()).UTC() }

func (m *inMemory) Create(ctx context.Context, b Backup) (Backup, error) {
	if m.begun != nil {
		m.begun <- struct{}{}
		select {
		case err := <-m.goOn:
			if err != nil {
				return b, err
			}
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.list[b.Name]; ok {
		return b, widecol.Errorf(widecol.Exists, "backup_exists", "it is there")
	}
	b.Started, b.Ended, b.Size = m.now(), m.now(), 77
	m.list[b.Name] = b
	return b, nil
}

func (m *inMemory) Copy(_ context.Context, from string, b Backup) (Backup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.list[from]
	old.Name, old.Expires, old.Note = b.Name, b.Expires, b.Note
	m.list[b.Name] = old
	return old, nil
}

func (m *inMemory) List(context.Context) ([]Backup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.list)), nil
}

func (m *inMemory) Change(_ context.Context, name string, change func(*Backup) error) (Backup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.list[name]
	b.Note = maps.Clone(b.Note)
	if err := change(&b); err != nil {
		return b, err
	}
	m.list[name] = b
	return b, nil
}

func (m *inMemory) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, name)
	return nil
}

func (m *inMemory) Restore(ctx context.Context, _, table string) error {
	return m.h.store.CreateTable(ctx, table, widecol.TableSpec{Families: []widecol.Family{{Name: "restored"}}})
}

const testCluster = testInstance + "/clusters/colonnade"

// withBackups returns a harness with table t whose server keeps backups.
func withBackups(t *testing.T, opt Options) (*harness, *inMemory) {
	h := withTable(t)
	m := newInMemory(h)
	opt.Backups = m
	h.serve(opt)
	return h, m
}

// in returns a time from now on.
func (h *harness) in(d time.Duration) *timestamppb.Timestamp {
	return timestamppb.New(time.UnixMicro(h.clock.Now()).Add(d))
}

func (h *harness) backupRequest(id string) *adminpb.CreateBackupRequest {
	return &adminpb.CreateBackupRequest{Parent: testCluster, BackupId: id, Backup: &adminpb.Backup{SourceTable: testTable, ExpireTime: h.in(8 * time.Hour)}}
}

func (h *harness) createBackup(id string) *adminpb.Backup {
	h.Helper()
	op, err := h.admin.CreateBackup(h.ctx, h.backupRequest(id))
	h.ok(err)
	b := new(adminpb.Backup)
	h.ok(op.GetResponse().UnmarshalTo(b))
	return b
}

// TestBackups makes a backup, and does with it what there is to do.
func TestBackups(t *testing.T) {
	h, m := withBackups(t, Options{})
	made := h.createBackup("one")
	name := testCluster + "/backups/one"
	if made.Name != name || made.SourceTable != testTable || made.SizeBytes != 77 || made.State != adminpb.Backup_READY || made.BackupType != adminpb.Backup_STANDARD ||
		made.StartTime.AsTime() != m.now() || made.EndTime.AsTime() != m.now() || made.ExpireTime.AsTime() != m.now().Add(8*time.Hour) || made.EncryptionInfo == nil {
		t.Errorf("made %v", made)
	}
	if got := m.list[name].Table; got != "p$i$t" {
		t.Errorf("it is of table %q of the store", got)
	}
	got, err := h.admin.GetBackup(h.ctx, &adminpb.GetBackupRequest{Name: name})
	if h.ok(err); got.String() != made.String() {
		t.Errorf("got %v, made %v", got, made)
	}
	got, err = h.admin.UpdateBackup(h.ctx, &adminpb.UpdateBackupRequest{
		Backup: &adminpb.Backup{Name: name, ExpireTime: h.in(90 * 24 * time.Hour)}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"expire_time"}},
	})
	if h.ok(err); !got.ExpireTime.AsTime().Equal(m.list[name].Expires) || got.ExpireTime.AsTime() != m.now().Add(90*24*time.Hour) {
		t.Errorf("updated to %v", got)
	}
	op, err := h.admin.CopyBackup(h.ctx, &adminpb.CopyBackupRequest{Parent: "projects/p/instances/j/clusters/colonnade", BackupId: "two", SourceBackup: name, ExpireTime: h.in(30 * 24 * time.Hour)})
	h.ok(err)
	copied := new(adminpb.Backup)
	if h.ok(op.GetResponse().UnmarshalTo(copied)); copied.Name != "projects/p/instances/j/clusters/colonnade/backups/two" || copied.SourceBackup != name || copied.SourceTable != testTable {
		t.Errorf("copied %v", copied)
	}
	op, err = h.admin.RestoreTable(h.ctx, &adminpb.RestoreTableRequest{Parent: "projects/q/instances/k", TableId: "new", Source: &adminpb.RestoreTableRequest_Backup{Backup: copied.Name}})
	h.ok(err)
	table, about := new(adminpb.Table), new(adminpb.RestoreTableMetadata)
	if h.ok(op.GetResponse().UnmarshalTo(table)); table.Name != "projects/q/instances/k/tables/new" || table.ColumnFamilies["restored"] == nil || !op.Done {
		t.Errorf("restored %v", table)
	}
	if h.ok(op.Metadata.UnmarshalTo(about)); about.GetBackupInfo().GetBackup() != copied.Name || about.Name != table.Name {
		t.Errorf("metadata %v", about)
	}
	_, err = h.admin.DeleteBackup(h.ctx, &adminpb.DeleteBackupRequest{Name: name})
	h.ok(err)
	_, err = h.admin.GetBackup(h.ctx, &adminpb.GetBackupRequest{Name: name})
	h.fails("get a deleted backup", err, codes.NotFound, "there is no backup "+name)
}

// TestHotBackups: a hot backup is hot until the time at which it becomes a standard one.
func TestHotBackups(t *testing.T) {
	h, _ := withBackups(t, Options{})
	r := h.backupRequest("hot")
	r.Backup.BackupType, r.Backup.HotToStandardTime = adminpb.Backup_HOT, h.in(48*time.Hour)
	_, err := h.admin.CreateBackup(h.ctx, r)
	h.ok(err)
	check := func(kind adminpb.Backup_BackupType, standard *timestamppb.Timestamp) {
		t.Helper()
		b, err := h.admin.GetBackup(h.ctx, &adminpb.GetBackupRequest{Name: testCluster + "/backups/hot"})
		if h.ok(err); b.BackupType != kind || b.HotToStandardTime.String() != standard.String() {
			t.Errorf("got %v, want %v until %v", b, kind, standard)
		}
	}
	check(adminpb.Backup_HOT, h.in(48*time.Hour))
	update := func(at *timestamppb.Timestamp) error {
		_, err := h.admin.UpdateBackup(h.ctx, &adminpb.UpdateBackupRequest{
			Backup: &adminpb.Backup{Name: testCluster + "/backups/hot", HotToStandardTime: at}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"hot_to_standard_time"}},
		})
		return err
	}
	h.ok(update(nil))
	check(adminpb.Backup_HOT, nil)
	h.fails("too early", update(h.in(time.Hour)), codes.InvalidArgument, "24 hours after")
	h.ok(update(h.in(24 * time.Hour)))
	h.clock.Advance(24 * time.Hour)
	check(adminpb.Backup_STANDARD, nil)
}

// TestListBackups lists the backups of an instance in pages, those begun last first.
func TestListBackups(t *testing.T) {
	h, m := withBackups(t, Options{})
	for _, id := range []string{"b", "a", "d", "c"} {
		h.createBackup(id)
		h.clock.Advance(time.Second)
	}
	h.createBackup("z") // at the same time as the next
	h.createBackup("y")
	m.list["elsewhere"] = Backup{Name: "projects/p/instances/j/clusters/colonnade/backups/x"}
	list := func(r *adminpb.ListBackupsRequest) (names []string, next string) {
		t.Helper()
		got, err := h.admin.ListBackups(h.ctx, r)
		h.ok(err)
		for _, b := range got.Backups {
			names = append(names, b.Name[strings.LastIndexByte(b.Name, '/')+1:])
		}
		return names, got.NextPageToken
	}
	for _, parent := range []string{testCluster, testInstance + "/clusters/-"} {
		if got, next := list(&adminpb.ListBackupsRequest{Parent: parent}); strings.Join(got, "") != "yzcdab" || next != "" {
			t.Errorf("%s has %q, and more %q", parent, got, next)
		}
	}
	for filter, want := range map[string]string{
		"source_table:" + testTable: "yzcdab", `source_table = "` + testTable + `"`: "yzcdab", "source_table:tables/t": "yzcdab", "source_table=tables/t": "", "source_table:" + testTable + "2": "",
	} {
		if got, _ := list(&adminpb.ListBackupsRequest{Parent: testCluster, Filter: filter, OrderBy: "start_time desc"}); strings.Join(got, "") != want {
			t.Errorf("filter %q: got %q, want %q", filter, got, want)
		}
	}
	var pages []string
	for r := (&adminpb.ListBackupsRequest{Parent: testCluster, PageSize: 4}); ; {
		names, next := list(r)
		pages = append(pages, strings.Join(names, ""))
		if r.PageToken = next; next == "" {
			break
		}
	}
	if got := strings.Join(pages, " "); got != "yzcd ab" {
		t.Errorf("pages %q", got)
	}
}

// TestBackupRefusals: each refusal says what is wrong.
func TestBackupRefusals(t *testing.T) {
	h, _ := withBackups(t, Options{})
	h.createBackup("one")
	name := testCluster + "/backups/one"
	create := func(change func(*adminpb.CreateBackupRequest)) error {
		r := h.backupRequest("two")
		change(r)
		_, err := h.admin.CreateBackup(h.ctx, r)
		return err
	}
	expires := func(d time.Duration) error {
		return create(func(r *adminpb.CreateBackupRequest) { r.Backup.ExpireTime = h.in(d) })
	}
	update := func(b *adminpb.Backup, paths ...string) error {
		_, err := h.admin.UpdateBackup(h.ctx, &adminpb.UpdateBackupRequest{Backup: b, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	list := func(r *adminpb.ListBackupsRequest) error {
		_, err := h.admin.ListBackups(h.ctx, r)
		return err
	}
	restore := func(backup, table string) error {
		_, err := h.admin.RestoreTable(h.ctx, &adminpb.RestoreTableRequest{Parent: testInstance, TableId: table, Source: &adminpb.RestoreTableRequest_Backup{Backup: backup}})
		return err
	}
	duplicate := func(id string, d time.Duration) error {
		_, err := h.admin.CopyBackup(h.ctx, &adminpb.CopyBackupRequest{Parent: testCluster, BackupId: id, SourceBackup: name, ExpireTime: h.in(d)})
		return err
	}
	for what, c := range map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"an id that is taken":      {create(func(r *adminpb.CreateBackupRequest) { r.BackupId = "one" }), codes.AlreadyExists, "it is there"},
		"no id":                    {create(func(r *adminpb.CreateBackupRequest) { r.BackupId = "" }), codes.InvalidArgument, "1 to 50 characters"},
		"a long id":                {create(func(r *adminpb.CreateBackupRequest) { r.BackupId = strings.Repeat("a", 51) }), codes.InvalidArgument, "1 to 50 characters"},
		"an id with a slash":       {create(func(r *adminpb.CreateBackupRequest) { r.BackupId = "a/b" }), codes.InvalidArgument, "1 to 50 characters"},
		"another cluster":          {create(func(r *adminpb.CreateBackupRequest) { r.Parent = testInstance + "/clusters/other" }), codes.NotFound, "the only one is " + testCluster},
		"no cluster":               {create(func(r *adminpb.CreateBackupRequest) { r.Parent = testInstance }), codes.InvalidArgument, "no name of a cluster"},
		"a table elsewhere":        {create(func(r *adminpb.CreateBackupRequest) { r.Backup.SourceTable = "projects/p/instances/j/tables/t" }), codes.InvalidArgument, "in the instance of its table"},
		"no table":                 {create(func(r *adminpb.CreateBackupRequest) { r.Backup.SourceTable += "none" }), codes.NotFound, "tnone"},
		"nothing":                  {create(func(r *adminpb.CreateBackupRequest) { r.Backup = nil }), codes.InvalidArgument, "no name of a table"},
		"no expiry":                {create(func(r *adminpb.CreateBackupRequest) { r.Backup.ExpireTime = nil }), codes.InvalidArgument, "backup.expire_time: it is no time"},
		"too early":                {expires(6*time.Hour - 1000), codes.InvalidArgument, "must be 6 hours to 90 days after"},
		"too late":                 {expires(90*24*time.Hour + 1000), codes.InvalidArgument, "must be 6 hours to 90 days after"},
		"a standard one gets cold": {create(func(r *adminpb.CreateBackupRequest) { r.Backup.HotToStandardTime = h.in(48 * time.Hour) }), codes.InvalidArgument, "it is for hot backups"},
		"no mask":                  {update(&adminpb.Backup{Name: name}), codes.InvalidArgument, "update_mask: it is empty"},
		"a field that stays":       {update(&adminpb.Backup{Name: name}, "source_table"), codes.InvalidArgument, `not "source_table"`},
		"no such backup":           {update(&adminpb.Backup{Name: name + "x"}, "expire_time"), codes.NotFound, "there is no backup"},
		"no name":                  {update(&adminpb.Backup{Name: "one"}, "expire_time"), codes.InvalidArgument, "no name of a backup"},
		"an update too early":      {update(&adminpb.Backup{Name: name, ExpireTime: h.in(time.Hour)}, "expire_time"), codes.InvalidArgument, "6 hours"},
		"a filter":                 {list(&adminpb.ListBackupsRequest{Parent: testCluster, Filter: "state:READY"}), codes.Unimplemented, "filter: the only filters are source_table:TEXT"},
		"an order":                 {list(&adminpb.ListBackupsRequest{Parent: testCluster, OrderBy: "name"}), codes.Unimplemented, "order_by: backups are listed in one order"},
		"a page below 0":           {list(&adminpb.ListBackupsRequest{Parent: testCluster, PageSize: -1}), codes.InvalidArgument, "page_size"},
		"to a table that is there": {restore(name, "t"), codes.AlreadyExists, "exists already"},
		"of no backup":             {restore(name+"x", "new"), codes.NotFound, "there is no backup"},
		"of nothing":               {restore("", "new"), codes.InvalidArgument, "no name of a backup"},
		"a copy too early":         {duplicate("two", time.Hour), codes.InvalidArgument, "6 hours to 30 days"},
		"a copy too late":          {duplicate("two", 31*24*time.Hour), codes.InvalidArgument, "6 hours to 30 days"},
	} {
		h.fails(what, c.err, c.code, c.text)
	}
	h.clock.Advance(7 * time.Hour) // 6 hours after its beginning are over
	h.fails("a time that is over", update(&adminpb.Backup{Name: name, ExpireTime: h.in(-time.Minute)}, "expire_time"), codes.InvalidArgument, "not be over")
}

// TestNoBackups: a server without a repository says which option it needs.
func TestNoBackups(t *testing.T) {
	h := withTable(t)
	name := testCluster + "/backups/one"
	for call, do := range map[string]func() error{
		"CreateBackup": func() error { _, err := h.admin.CreateBackup(h.ctx, h.backupRequest("one")); return err },
		"GetBackup": func() error {
			_, err := h.admin.GetBackup(h.ctx, &adminpb.GetBackupRequest{Name: name})
			return err
		},
		"ListBackups": func() error {
			_, err := h.admin.ListBackups(h.ctx, &adminpb.ListBackupsRequest{Parent: testCluster})
			return err
		},
		"RestoreTable": func() error {
			_, err := h.admin.RestoreTable(h.ctx, &adminpb.RestoreTableRequest{Parent: testInstance, TableId: "new", Source: &adminpb.RestoreTableRequest_Backup{Backup: name}})
			return err
		},
	} {
		h.fails(call, do(), codes.FailedPrecondition, "start it with --backup-repository")
	}
}

// TestBackupAccess: changes need admin for the table of the backup, and a restore also read for it: what a token may not
// read, it cannot restore under a name that it may.
func TestBackupAccess(t *testing.T) {
	g := newGuarded(t, 0)
	m := newInMemory(g.harness)
	var audit bytes.Buffer
	g.serve(Options{Access: g.control, Backups: m, Audit: slog.New(slog.NewTextHandler(&audit, nil))})
	admin := g.token(access.Admin, time.Time{}, "p$i$t")
	_, err := g.admin.CreateBackup(admin, g.backupRequest("one"))
	g.ok(err)
	name := testCluster + "/backups/one"
	restore := func(ctx context.Context) error {
		_, err := g.admin.RestoreTable(ctx, &adminpb.RestoreTableRequest{Parent: testInstance, TableId: "new", Source: &adminpb.RestoreTableRequest_Backup{Backup: name}})
		return err
	}
	for what, err := range map[string]error{
		"create as a writer": func() error {
			_, err := g.admin.CreateBackup(g.token(access.Write, time.Time{}, "*"), g.backupRequest("two"))
			return err
		}(),
		"get of another table": func() error {
			_, err := g.admin.GetBackup(g.token(access.Admin, time.Time{}, "p$i$new"), &adminpb.GetBackupRequest{Name: name})
			return err
		}(),
		"delete as a reader": func() error {
			_, err := g.admin.DeleteBackup(g.token(access.Read, time.Time{}, "*"), &adminpb.DeleteBackupRequest{Name: name})
			return err
		}(),
		"restore without the source": restore(g.token(access.Admin, time.Time{}, "p$i$new")),
		"restore without the target": restore(admin),
	} {
		g.fails(what, err, codes.PermissionDenied, "this needs a token of scope")
	}
	other, err := g.admin.ListBackups(g.token(access.Read, time.Time{}, "other"), &adminpb.ListBackupsRequest{Parent: testCluster})
	if g.ok(err); len(other.Backups) > 0 {
		t.Errorf("a token of another table sees %v", other)
	}
	g.ok(restore(g.token(access.Admin, time.Time{}, "p$i$new", "p$i$t")))
	for _, line := range []string{"msg=backup ", "method=CreateBackup code=OK", "name=" + name, "method=RestoreTable code=OK", "name=" + testInstance + "/tables/new", "method=DeleteBackup code=PermissionDenied"} {
		if !strings.Contains(audit.String(), line) {
			t.Errorf("the audit log has no %q:\n%s", line, &audit)
		}
	}
}

// slowly begins a backup that takes longer than the call.
func slowly(t *testing.T, opt Options) (*harness, *inMemory, *longrunningpb.Operation) {
	h, m := withBackups(t, opt)
	m.begun, m.goOn = make(chan struct{}), make(chan error)
	type answer struct {
		op  *longrunningpb.Operation
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		op, err := h.admin.CreateBackup(h.ctx, h.backupRequest("one"))
		answers <- answer{op, err}
	}()
	<-m.begun
	h.clock.Advance(patience)
	a := <-answers
	h.ok(a.err)
	if about := new(adminpb.CreateBackupMetadata); a.op.Done || a.op.Metadata.UnmarshalTo(about) != nil || about.SourceTable != testTable {
		t.Fatalf("the call answers %v", a.op)
	}
	return h, m, a.op
}

// get asks for an operation until it has ended.
func (h *harness) get(name string) *longrunningpb.Operation {
	h.Helper()
	operations := longrunningpb.NewOperationsClient(h.conn)
	for {
		op, err := operations.GetOperation(h.ctx, &longrunningpb.GetOperationRequest{Name: name})
		if h.ok(err); op.Done {
			return op
		}
	}
}

// TestOperation: an operation that takes longer than its call goes on, and its client can ask for its end.
func TestOperation(t *testing.T) {
	h, m, op := slowly(t, Options{})
	got, err := longrunningpb.NewOperationsClient(h.conn).GetOperation(h.ctx, &longrunningpb.GetOperationRequest{Name: op.Name})
	if h.ok(err); got.Done || got.Name != op.Name {
		t.Errorf("while it runs: %v", got)
	}
	m.goOn <- nil
	b := new(adminpb.Backup)
	if h.ok(h.get(op.Name).GetResponse().UnmarshalTo(b)); b.Name != testCluster+"/backups/one" {
		t.Errorf("its result is %v", b)
	}
	_, err = longrunningpb.NewOperationsClient(h.conn).GetOperation(h.ctx, &longrunningpb.GetOperationRequest{Name: "operations/none"})
	h.fails("another operation", err, codes.NotFound, "there is no operation")
}

// TestOperationFails: an error of an operation is that of its call, or its outcome.
func TestOperationFails(t *testing.T) {
	h, m, op := slowly(t, Options{})
	m.goOn <- errors.New("broken")
	if got := h.get(op.Name).GetError(); codes.Code(got.GetCode()) != codes.Internal || !strings.Contains(got.GetMessage(), "broken") {
		t.Errorf("its outcome is %v", got)
	}
}

// TestOperationCancelled: an operation that is cancelled ends, and so does one when the server does.
func TestOperationCancelled(t *testing.T) {
	h, _, op := slowly(t, Options{})
	_, err := longrunningpb.NewOperationsClient(h.conn).CancelOperation(h.ctx, &longrunningpb.CancelOperationRequest{Name: op.Name})
	h.ok(err)
	if got := h.get(op.Name).GetError(); codes.Code(got.GetCode()) != codes.Canceled {
		t.Errorf("its outcome is %v", got)
	}
	stopped, m, _ := slowly(t, Options{})
	stopped.server.Close()
	if len(m.list) > 0 {
		t.Errorf("there is %v", m.list)
	}
	_, err = stopped.admin.CreateBackup(stopped.ctx, stopped.backupRequest("two"))
	stopped.fails("after the end", err, codes.Unavailable, "shutting down")
}

// TestOperationsDrain: a server that stops waits for operations as for calls, and lets no more in.
func TestOperationsDrain(t *testing.T) {
	control := admission.New(admission.Limits{}, admission.NewLimiters(admission.Limits{}, clock.System))
	h, m, _ := slowly(t, Options{Admission: control})
	drained := control.Drain()
	select {
	case <-drained:
		t.Error("it does not wait")
	default:
	}
	m.goOn <- nil
	<-drained
	if len(m.list) != 1 {
		t.Errorf("there is %v", m.list)
	}
	_, err := h.admin.CreateBackup(h.ctx, h.backupRequest("two"))
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a further one: %v", err)
	}
}

// TestOperationOfAnother: who may not do what an operation does, may not ask for it.
func TestOperationOfAnother(t *testing.T) {
	g := newGuarded(t, 0)
	g.serve(Options{Access: g.control, Backups: newInMemory(g.harness)})
	op, err := g.admin.CreateBackup(g.token(access.Admin, time.Time{}, "p$i$t"), g.backupRequest("one"))
	g.ok(err)
	operations := longrunningpb.NewOperationsClient(g.conn)
	_, err = operations.GetOperation(g.token(access.Admin, time.Time{}, "other"), &longrunningpb.GetOperationRequest{Name: op.Name})
	g.fails("a token of another table", err, codes.PermissionDenied, "this needs a token")
	_, err = operations.CancelOperation(g.token(access.Read, time.Time{}, "*"), &longrunningpb.CancelOperationRequest{Name: op.Name})
	g.fails("a reader", err, codes.PermissionDenied, "this needs a token")
}
