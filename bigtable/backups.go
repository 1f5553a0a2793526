package bigtable

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
)

// Backups keep backups of the tables of a Store. They are safe for concurrent use. An error that a client is to hear of is
// a *widecol.Error.
type Backups interface {
	// Create makes a backup of a table as of a moment during the call. Of b it takes Name, Table, Expires and Note. It fails
	// with the kind Exists if there is one of the name. After an error there is none.
	Create(ctx context.Context, b Backup) (Backup, error)
	// Copy makes a further backup of the content of the one called from. Of b it takes Name, Expires and Note.
	Copy(ctx context.Context, from string, b Backup) (Backup, error)
	// List returns the backups that have not expired.
	List(ctx context.Context) ([]Backup, error)
	// Change changes Expires and Note of a backup. It fails with the kind NotFound, and with the error of change.
	Change(ctx context.Context, name string, change func(*Backup) error) (Backup, error)
	// Remove removes a backup. It fails with the kind NotFound.
	Remove(ctx context.Context, name string) error
	// Restore creates a table of the Store from a backup. It is there as a whole, or not at all.
	Restore(ctx context.Context, name, table string) error
}

// Backup is a backup of a table.
type Backup struct {
	Name    string // that of the protocol
	Table   string // in the Store that it is of
	Started time.Time
	Ended   time.Time
	Expires time.Time
	Size    int64
	Note    map[string]string // kept with it
}

// What a Backup has in its Note.
const (
	noteTable    = "source_table"         // its name in the protocol
	noteFrom     = "source_backup"        // the backup that it is a copy of
	noteHot      = "hot"                  // "true" for a hot one, which is as any other here
	noteStandard = "hot_to_standard_time" // when it becomes a standard one
)

// How long a backup may be kept, from its beginning; a copy, from when it is made.
const (
	shortestLife    = 6 * time.Hour
	longestLife     = 90 * 24 * time.Hour
	longestCopyLife = 30 * 24 * time.Hour
	leastHot        = 24 * time.Hour // before a hot backup becomes a standard one
)

// backupName is the name of a backup, projects/P/instances/I/clusters/C/backups/B.
type backupName struct {
	instance
	id string
}

func (n backupName) String() string { return n.cluster() + "/backups/" + n.id }

var backupID = regexp.MustCompile(`^[_a-zA-Z0-9][-_.a-zA-Z0-9]{0,49}$`)

func backupIn(parent, id string) (n backupName, err error) {
	if n.instance, err = instanceOfCluster(parent); err != nil {
		return n, err
	}
	if n.id = id; !backupID.MatchString(id) {
		return n, invalid("", "%q is no id of a backup: 1 to 50 characters of a-z A-Z 0-9 _ - . with the first one of a-z A-Z 0-9 _", id)
	}
	return n, nil
}

func parseBackup(name string) (backupName, error) {
	parent, id, ok := strings.Cut(name, "/backups/")
	if !ok {
		return backupName{}, invalid("", "%q is no name of a backup: projects/PROJECT/instances/INSTANCE/clusters/CLUSTER/backups/BACKUP", name)
	}
	return backupIn(parent, id)
}

// instanceOfCluster returns the instance of a cluster, of which each has one.
func instanceOfCluster(name string) (i instance, err error) {
	of, id, ok := strings.Cut(name, "/clusters/")
	if !ok {
		return i, invalid("", "%q is no name of a cluster: projects/PROJECT/instances/INSTANCE/clusters/CLUSTER", name)
	}
	if i, err = parseInstance(of); err == nil && id != clusterID {
		err = unknownCluster(i, name)
	}
	return i, err
}

// kept returns the backups, if the server keeps any.
func (s *Server) kept() (Backups, error) {
	if s.opt.Backups == nil {
		return nil, status.Error(codes.FailedPrecondition, "this server keeps no backups: start it with --backup-repository, a directory or s3://BUCKET")
	}
	return s.opt.Backups, nil
}

// source returns the table of the Store that a backup is of.
func (s *Server) source(b *Backup) string {
	if t, err := parseTable(b.Note[noteTable]); err == nil {
		return s.stored(t)
	}
	return b.Table
}

// beginOn begins a call about a backup whose sender may do something with its table.
func (s *Server) beginOn(ctx context.Context, scope access.Scope, class admission.Class, name string) (c *call, b *Backup, err error) {
	n, err := parseBackup(name)
	if err != nil {
		return nil, nil, err
	}
	if c, err = s.work(ctx, class, ""); err != nil {
		return nil, nil, err
	}
	if b, err = s.findBackup(ctx, n); err == nil {
		c.table = s.source(b)
		c.caller.table = c.table
		err = s.authorize(ctx, scope, c.table)
	}
	if err != nil {
		c.end()
		return nil, nil, err
	}
	return c, b, nil
}

func (s *Server) findBackup(ctx context.Context, n backupName) (*Backup, error) {
	backups, err := s.kept()
	if err != nil {
		return nil, err
	}
	list, err := backups.List(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	if i := slices.IndexFunc(list, func(b Backup) bool { return b.Name == n.String() }); i >= 0 {
		return &list[i], nil
	}
	return nil, status.Errorf(codes.NotFound, "there is no backup %s, or it has expired", n)
}

// backupMessage returns the message about a backup.
func (s *Server) backupMessage(b *Backup) *adminpb.Backup {
	m := &adminpb.Backup{
		Name: b.Name, SourceTable: b.Note[noteTable], SourceBackup: b.Note[noteFrom], SizeBytes: b.Size,
		StartTime: timestamppb.New(b.Started), EndTime: timestamppb.New(b.Ended), ExpireTime: timestamppb.New(b.Expires),
		State: adminpb.Backup_READY, BackupType: adminpb.Backup_STANDARD,
		EncryptionInfo: &adminpb.EncryptionInfo{}, // the Go client looks into it
	}
	standard, err := time.Parse(time.RFC3339Nano, b.Note[noteStandard])
	if b.Note[noteHot] != "" && (err != nil || s.time().Before(standard)) {
		m.BackupType = adminpb.Backup_HOT
		if err == nil {
			m.HotToStandardTime = timestamppb.New(standard)
		}
	}
	return m
}

func backupInfo(b *Backup) *adminpb.BackupInfo {
	return &adminpb.BackupInfo{
		Backup: b.Name, StartTime: timestamppb.New(b.Started), EndTime: timestamppb.New(b.Ended),
		SourceTable: b.Note[noteTable], SourceBackup: b.Note[noteFrom],
	}
}

// expiry takes a time over at which a backup expires.
func (s *Server) expiry(place string, m *timestamppb.Timestamp, from time.Time, most time.Duration) (time.Time, error) {
	if err := m.CheckValid(); err != nil {
		return time.Time{}, invalid(place, "it is no time: %v", err)
	}
	at := m.AsTime()
	if kept := at.Sub(from); kept < shortestLife || kept > most || !at.After(s.time()) {
		return at, invalid(place, "it is %s, and must be %.0f hours to %.0f days after %s, and not be over", at.Format(time.RFC3339),
			shortestLife.Hours(), most.Hours()/24, from.UTC().Format(time.RFC3339))
	}
	return at, nil
}

// noteType notes the type of a backup.
func noteType(note map[string]string, kind adminpb.Backup_BackupType, standard *timestamppb.Timestamp, from time.Time) error {
	delete(note, noteStandard)
	if kind == adminpb.Backup_HOT {
		note[noteHot] = "true"
	}
	switch {
	case standard == nil:
		return nil
	case note[noteHot] == "":
		return invalid("backup.hot_to_standard_time", "it is for hot backups")
	case standard.CheckValid() != nil || standard.AsTime().Sub(from) < leastHot:
		return invalid("backup.hot_to_standard_time", "it must be %.0f hours after the backup was begun, or later", leastHot.Hours())
	}
	note[noteStandard] = standard.AsTime().Format(time.RFC3339Nano)
	return nil
}
