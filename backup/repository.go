package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// Repository is backups in a Storage. It is safe for concurrent use.
type Repository struct {
	storage Storage
	opt     Options

	mu       sync.Mutex
	labelled map[string]*Backup // by object: the descriptions that Named has read, nil for those without a label; guarded by mu
}

// Options configure a Repository. Clock and Rand are required.
type Options struct {
	Clock clock.Clock
	Rand  io.Reader
	Keys  *Keys // nil for none
	// Beat is how often a lock is renewed. Default 5 s.
	Beat time.Duration
	// MaxRate is how many bytes a second Create reads of files, 0 for no limit.
	MaxRate int64
	// Progress, if it is not nil, is told how many bytes of how many are done. Calls come one at a time.
	Progress func(done, total int64)
	// Log, if it is not nil, gets a line now and then: what is waited for.
	Log func(text string)
}

// Format is the version of repositories that this package writes and reads.
const Format = 1

// labelledFormat is that of the description of a backup with a label. A program that does not know of labels refuses it: its
// prune would count the backup as any other.
const labelledFormat = 2

const (
	markerName = "colonnade-backup.json"
	backupsDir = "backups/"
	objectsDir = "objects/"
)

// ErrNoRepository is that a storage holds no backups.
var ErrNoRepository = errors.New("there are no backups: name the place that has them, or make the first one with colonnade backup create")

// Backup describes a backup.
type Backup struct {
	ID      string    `json:"-"` // when it was made, and its checksum
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	Store   string    `json:"store"` // the identity of the store
	Place
	Label  *Label  `json:"label,omitempty"` // nil unless a client has named it
	Tables []Table `json:"tables"`
	Files  []File  `json:"files"`
}

// object returns the name of the description.
func (b *Backup) object() string { return backupsDir + b.ID + ".json" }

// Place is where a backup is in the log of its store.
type Place struct {
	Whole    bool   `json:"whole,omitempty"`    // it has all tables
	Timeline string `json:"timeline,omitempty"` // of the store; programs before the archive of the log wrote none
	Sequence uint64 `json:"sequence,omitempty"` // number of its last commit
	Time     int64  `json:"time,omitempty"`     // no commit in it is later, in microseconds since the Unix epoch
}

// Table is a table of a backup.
type Table struct {
	Name       string   `json:"name"`
	Partitions []uint64 `json:"partitions"`
}

// File is a file of a backup, and the object that has its content.
type File struct {
	Name   string `json:"name"` // in the directory of the store
	Size   int64  `json:"size"`
	XXH64  string `json:"xxh64"`
	Object string `json:"object"`
	Stored int64  `json:"stored"`           // bytes of the object
	SHA256 string `json:"sha256,omitempty"` // of the object, if it is encrypted: XXH64 is enough for the others
}

// Size returns the bytes of the files.
func (b *Backup) Size() (n int64) {
	for _, f := range b.Files {
		n += f.Size
	}
	return n
}

// Open returns the repository in a storage. It fails with ErrNoRepository if there is none.
func Open(ctx context.Context, s Storage, opt Options) (*Repository, error) {
	r := &Repository{storage: s, opt: opt}
	if r.opt.Keys == nil {
		r.opt.Keys = new(Keys)
	}
	if r.opt.Beat == 0 {
		r.opt.Beat = 5 * time.Second
	}
	text, err := r.read(ctx, markerName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", s, ErrNoRepository)
	}
	if err != nil {
		return nil, err
	}
	var m marker
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%s is damaged: restore it as %s", markerName, markerText())
	}
	if m.Format > Format {
		return nil, fmt.Errorf("%s has backups of format %d, and this program knows formats up to %d: use a newer one", s, m.Format, Format)
	}
	if !bytes.Equal(text, markerText()) {
		return nil, fmt.Errorf("%s is damaged: restore it as %s", markerName, markerText())
	}
	return r, nil
}

// marker is the content of markerName.
type marker struct {
	Format int `json:"format"`
}

func markerText() []byte { return fmt.Appendf(nil, "{\"format\":%d}\n", Format) }

// Create returns the repository in a storage, which it makes if the storage is empty.
func Create(ctx context.Context, s Storage, opt Options) (*Repository, error) {
	r, err := Open(ctx, s, opt)
	if !errors.Is(err, ErrNoRepository) {
		return r, err
	}
	list, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if !strings.HasPrefix(o.Name, tempDir) {
			return nil, fmt.Errorf("%s holds other things, such as %s, and no backups: name an empty place or one with backups", s, o.Name)
		}
	}
	text := markerText()
	if err := s.Put(ctx, markerName, bytes.NewReader(text), int64(len(text))); err != nil {
		return nil, err
	}
	return Open(ctx, s, opt)
}

func (r *Repository) read(ctx context.Context, name string) ([]byte, error) {
	in, err := r.storage.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

// Damage is something in a repository that is not as it was written.
type Damage struct {
	Object  string
	Backups []string // that need it
	Reason  string
}

func (d *Damage) Error() string {
	text := d.Object + ": " + d.Reason
	if len(d.Backups) > 0 {
		text += " (needed by " + strings.Join(d.Backups, ", ") + ")"
	}
	return text
}

// List returns the backups, the oldest first. It reports those whose description is damaged.
func (r *Repository) List(ctx context.Context, report func(*Damage)) ([]*Backup, error) {
	objects, err := r.storage.List(ctx, backupsDir)
	if err != nil {
		return nil, err
	}
	var list []*Backup
	for _, o := range objects {
		b, err := r.describe(ctx, o.Name)
		var damage *Damage
		switch {
		case errors.As(err, &damage):
			report(damage)
		case errors.Is(err, fs.ErrNotExist): // pruned meanwhile
		case err != nil:
			return nil, err
		default:
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *Backup) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

// describe reads the description of a backup.
func (r *Repository) describe(ctx context.Context, name string) (*Backup, error) {
	text, err := r.read(ctx, name)
	if err != nil {
		return nil, err
	}
	damaged := func(reason string) error { return &Damage{Object: name, Reason: reason} }
	id, ok := strings.CutSuffix(path.Base(name), ".json")
	if !ok || !strings.HasSuffix(id, "-"+checksum(text)) {
		return nil, damaged("its content does not have the checksum of its name")
	}
	b := &Backup{ID: id}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, damaged(err.Error())
	}
	if b.Format != Format && b.Format != labelledFormat {
		return nil, fmt.Errorf("backup %s has format %d, and this program knows formats up to %d: use the program that made it", id, b.Format, labelledFormat)
	}
	if (b.Format == labelledFormat) != (b.Label != nil) {
		return nil, damaged(fmt.Sprintf("it has format %d, and a label or none", b.Format))
	}
	for _, f := range b.Files {
		if f.Name == "" || path.IsAbs(f.Name) || path.Clean(f.Name) != f.Name || strings.HasPrefix(f.Name, "..") {
			return nil, damaged(fmt.Sprintf("it has a file called %q", f.Name))
		}
	}
	return b, nil
}

// put writes a description, which makes the objects a backup, and sets its ID. After an error there is none.
func (r *Repository) put(ctx context.Context, b *Backup) error {
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	b.ID = b.Created.Format("20060102T150405Z") + "-" + checksum(text)
	if err = r.storage.Put(ctx, b.object(), bytes.NewReader(text), int64(len(text))); err != nil {
		_ = r.storage.Remove(context.WithoutCancel(ctx), b.object()) // a bucket may have it although the answer did not come
	}
	return err
}

// checksum is the part of the name of a backup that follows from its content.
func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Find returns the backup that an id, or the beginning of one, names, or a label; the newest without a label for "".
func (r *Repository) Find(ctx context.Context, id string) (*Backup, error) {
	var damaged *Damage
	list, err := r.List(ctx, func(d *Damage) {
		if strings.HasPrefix(path.Base(d.Object), id) {
			damaged = d
		}
	})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(b *Backup) bool { return !b.answersTo(id) })
	switch {
	case id == "" && len(list) > 0:
		return list[len(list)-1], nil
	case damaged != nil:
		return nil, damaged
	case len(list) == 0 && id == "":
		return nil, fmt.Errorf("%s: %w", r.storage, ErrNoRepository)
	case len(list) == 0:
		return nil, fmt.Errorf("there is no backup %s in %s: list shows them", id, r.storage)
	case len(list) > 1:
		return nil, fmt.Errorf("%s is the beginning of %d backups, such as %s and %s", id, len(list), list[0].ID, list[1].ID)
	}
	return list[0], nil
}

// answersTo reports whether a backup may be meant by an id of Find.
func (b *Backup) answersTo(id string) bool {
	if b.Label != nil && (id == "" || b.Label.Name == id) {
		return id != ""
	}
	return strings.HasPrefix(b.ID, id)
}
