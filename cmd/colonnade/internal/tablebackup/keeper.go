// Package tablebackup keeps backups of single tables of a Store that serves clients, in a repository of package backup. It
// is what the front end for Bigtable's clients has below its calls about backups.
//
//	keeper.go   the calls
//	sweep.go    what removes backups that have expired
//	load.go     a table taken over from a restored directory
package tablebackup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/bigtable"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// Store is a Store whose tables can be backed up and restored.
type Store interface {
	widecol.Store
	widecol.Checkpointer
	widecol.TableLoader
}

// Options configure a Keeper. All fields are required but Reserve.
type Options struct {
	Clock clock.Clock
	Log   *slog.Logger
	// Open opens the repository, or makes it.
	Open func(ctx context.Context) (*backup.Repository, error)
	// Temp returns a directory that is not there yet, for the files of a backup while its table is restored, and what
	// removes it. The one that it is in is there.
	Temp func() (dir string, remove func(), err error)
	// Reserve is how much of the disk of Temp a restore leaves free, in bytes.
	Reserve int64
}

// Keeper implements bigtable.Backups.
type Keeper struct {
	store Store
	opt   Options
	stop  context.CancelFunc
	wake  chan struct{}
	swept sync.WaitGroup

	labels sync.Mutex // held by who changes or removes a label: what was removed must not come back with a change

	// mu guards the fields below.
	mu         sync.Mutex
	repository *backup.Repository // nil until it was opened
	taken      map[string]bool    // names of backups that are being made
	users      int                // calls that read or write objects of the repository
	sweeping   *sweeping          // nil if no sweep is under way; users is 0 when it begins
}

var _ bigtable.Backups = (*Keeper)(nil)

// New returns a Keeper of the tables of a Store. The caller closes it before the Store.
func New(store Store, opt Options) *Keeper {
	k := &Keeper{store: store, opt: opt, wake: make(chan struct{}, 1), taken: make(map[string]bool)}
	var ctx context.Context
	ctx, k.stop = context.WithCancel(context.Background())
	k.swept.Go(func() { k.sweepNowAndThen(ctx) })
	return k
}

// Close ends the removal of backups that have expired. The calls have ended before.
func (k *Keeper) Close() {
	k.stop()
	k.swept.Wait()
}

// open returns the repository.
func (k *Keeper) open(ctx context.Context) (*backup.Repository, error) {
	k.mu.Lock()
	r := k.repository
	k.mu.Unlock()
	if r != nil {
		return r, nil
	}
	r, err := k.opt.Open(ctx)
	if err != nil {
		return nil, explain(fmt.Errorf("the repository of backups cannot be opened: %w", err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.repository == nil {
		k.repository = r
	}
	return k.repository, nil
}

// claim takes the name of a backup that is to be made, until free.
func (k *Keeper) claim(name string) (free func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken[name] {
		return nil, widecol.Errorf(widecol.Exists, "backup_exists", "backup %s is being made", name)
	}
	k.taken[name] = true
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.taken, name)
	}, nil
}

// Create implements bigtable.Backups.
func (k *Keeper) Create(ctx context.Context, b bigtable.Backup) (bigtable.Backup, error) {
	free, err := k.claim(b.Name)
	if err != nil {
		return b, err
	}
	defer free()
	r, err := k.open(ctx)
	if err != nil {
		return b, err
	}
	defer k.use()()
	remove := func() {}
	made, err := r.CreateNamed(ctx, backup.Label{Name: b.Name, Expires: b.Expires, Note: b.Note}, func(ctx context.Context) (*backup.Source, error) {
		c, err := k.store.Checkpoint(ctx, []string{b.Table})
		if err != nil {
			return nil, err
		}
		remove = func() {
			if err := k.store.RemoveCheckpoint(c.ID); err != nil {
				k.opt.Log.Warn("checkpoint not removed, the next start tries again", "path", c.Path, "cause", err)
			}
		}
		return k.source(&c), nil
	})
	remove()
	if err != nil {
		k.sweepSoon() // what was copied
		return b, explain(err)
	}
	return backupOf(made.Backup), nil
}

// source returns a checkpoint as package backup takes it.
func (k *Keeper) source(c *widecol.Checkpoint) *backup.Source {
	sizes := make(map[string]int64, len(c.Files))
	s := &backup.Source{
		Store: c.Store, Place: backup.Place{Timeline: c.Timeline, Sequence: c.Sequence, Time: c.Time}, Path: c.Path,
		Open: func(_ context.Context, name string) (io.ReadCloser, error) {
			f, err := k.store.OpenCheckpoint(c.ID, name)
			if err != nil {
				return nil, err
			}
			return struct {
				io.Reader
				io.Closer
			}{io.NewSectionReader(f, 0, sizes[name]), f}, nil
		},
	}
	for _, t := range c.Tables {
		s.Tables = append(s.Tables, backup.Table(t))
	}
	for _, f := range c.Files {
		sizes[f.Name] = f.Size
		s.Files = append(s.Files, backup.SourceFile{Name: f.Name, Size: f.Size, XXH64: fmt.Sprintf("%016x", f.Checksum)})
	}
	return s
}

// backupOf returns a backup with a label as clients see it.
func backupOf(b *backup.Backup) bigtable.Backup {
	l := b.Label
	out := bigtable.Backup{Name: l.Name, Started: l.Started, Ended: l.Ended, Expires: l.Expires, Size: b.Size(), Note: maps.Clone(l.Note)}
	if len(b.Tables) > 0 {
		out.Table = b.Tables[0].Name
	}
	if out.Note == nil {
		out.Note = make(map[string]string)
	}
	return out
}

// Copy implements bigtable.Backups.
func (k *Keeper) Copy(ctx context.Context, from string, b bigtable.Backup) (bigtable.Backup, error) {
	free, err := k.claim(b.Name)
	if err != nil {
		return b, err
	}
	defer free()
	return k.describe(ctx, func(r *backup.Repository) (*backup.Backup, error) {
		return r.CopyNamed(ctx, from, backup.Label{Name: b.Name, Expires: b.Expires, Note: b.Note})
	})
}

// Change implements bigtable.Backups.
func (k *Keeper) Change(ctx context.Context, name string, change func(*bigtable.Backup) error) (bigtable.Backup, error) {
	k.labels.Lock()
	defer k.labels.Unlock()
	return k.describe(ctx, func(r *backup.Repository) (*backup.Backup, error) {
		return r.Relabel(ctx, name, func(b *backup.Backup, l *backup.Label) error {
			changed := backupOf(b)
			if err := change(&changed); err != nil {
				return err
			}
			l.Expires, l.Note = changed.Expires, changed.Note
			return nil
		})
	})
}

// describe describes a backup anew.
func (k *Keeper) describe(ctx context.Context, again func(r *backup.Repository) (*backup.Backup, error)) (b bigtable.Backup, err error) {
	r, err := k.open(ctx)
	if err != nil {
		return b, err
	}
	defer k.use()()
	made, err := again(r)
	if err != nil {
		return b, explain(err)
	}
	return backupOf(made), nil
}

// List implements bigtable.Backups.
func (k *Keeper) List(ctx context.Context) ([]bigtable.Backup, error) {
	r, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	named, err := r.Named(ctx)
	if err != nil {
		return nil, explain(err)
	}
	var list []bigtable.Backup
	for _, b := range named {
		list = append(list, backupOf(b))
	}
	return list, nil
}

// Remove implements bigtable.Backups.
func (k *Keeper) Remove(ctx context.Context, name string) error {
	k.labels.Lock()
	defer k.labels.Unlock()
	r, err := k.open(ctx)
	if err != nil {
		return err
	}
	if err := r.RemoveNamed(ctx, name); err != nil {
		return explain(err)
	}
	k.sweepSoon()
	return nil
}

// Restore implements bigtable.Backups. It writes the files of the backup to a directory, and the table from there to the
// Store.
func (k *Keeper) Restore(ctx context.Context, name, table string) error {
	r, err := k.open(ctx)
	if err != nil {
		return err
	}
	dir, remove, err := k.opt.Temp()
	if err != nil {
		return explain(err)
	}
	defer remove()
	from, err := k.restoreFiles(ctx, r, name, dir)
	if err != nil {
		return explain(err)
	}
	return explain(load(ctx, dir, from, k.store, table))
}

// restoreFiles writes the files of a backup to a directory, and returns the name of its table.
func (k *Keeper) restoreFiles(ctx context.Context, r *backup.Repository, name, dir string) (table string, err error) {
	defer k.use()()
	b, err := r.FindNamed(ctx, name)
	if err != nil {
		return "", err
	}
	if len(b.Tables) != 1 {
		return "", fmt.Errorf("backup %s has %d tables", name, len(b.Tables))
	}
	need := 2*b.Size() + k.opt.Reserve // its files, and those that the new table will have
	if free, err := vfs.OS.FreeSpace(filepath.Dir(dir)); err == nil && free < uint64(need) {
		return "", widecol.Errorf(widecol.DiskFull, "disk_full", "restoring %s needs %d bytes on the disk of %s, and %d are free: make room first", name, need, filepath.Dir(dir), free)
	}
	return b.Tables[0].Name, r.Restore(ctx, &backup.Point{Backup: b}, nil, dir)
}

// explain turns an error of a repository into one for clients.
func explain(err error) error {
	var known *widecol.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, backup.ErrNoName):
		return widecol.Errorf(widecol.NotFound, "unknown_backup", "%v", err)
	case errors.Is(err, backup.ErrNameTaken):
		return widecol.Errorf(widecol.Exists, "backup_exists", "%v", err)
	case errors.Is(err, backup.ErrBusy):
		return widecol.Errorf(widecol.Overloaded, "repository_busy", "%v", err)
	case vfs.NoRoom(err):
		return widecol.Errorf(widecol.DiskFull, "disk_full", "%v", err)
	}
	return err
}
