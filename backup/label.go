package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// A label makes a backup one of a client: it has a name that the client has given, and a time at which it expires. A
// description is never changed, so a label changes with a further description, of a higher revision, whose objects are
// the same; then the one before is removed. If a crash keeps both, the higher revision counts.

// Label is the name of a backup, and what belongs to it.
type Label struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"` // all that was written before is in the backup
	Ended   time.Time `json:"ended"`   // nothing that was written after is in it
	Expires time.Time `json:"expires"`
	// Revision is that of the label.
	Revision int `json:"revision,omitempty"`
	// Note is what its client keeps with the backup. A Repository does not look at it.
	Note map[string]string `json:"note,omitempty"`
}

var (
	// ErrNoName is that there is no backup of a name.
	ErrNoName = errors.New("there is no backup of the name")
	// ErrNameTaken is that there is one.
	ErrNameTaken = errors.New("there is a backup of the name already")
)

// CreateNamed is Create for a backup with a label, of which it takes Name, Expires and Note. It fails with ErrNameTaken.
func (r *Repository) CreateNamed(ctx context.Context, l Label, take func(context.Context) (*Source, error)) (*Made, error) {
	if err := r.vacantName(ctx, l.Name); err != nil {
		return nil, err
	}
	l.Started, l.Revision = r.now(), 0
	return r.create(ctx, &l, take)
}

// vacantName makes sure that a name can be given. The one that had it and has expired goes at once: of two, the one created
// last counts, and a copy is as old as what it is a copy of.
func (r *Repository) vacantName(ctx context.Context, name string) error {
	all, err := r.withLabels(ctx)
	if err != nil {
		return err
	}
	gone := r.outdated(all)
	if slices.ContainsFunc(all, func(b *Backup) bool { return b.Label.Name == name && !gone[b] }) {
		return fmt.Errorf("%s: %w", name, ErrNameTaken)
	}
	return r.removeAllNamed(ctx, name, all)
}

// Named returns the backups with a label that have not expired, one of each name, by name. Of those that it has read
// before it reads nothing again.
func (r *Repository) Named(ctx context.Context) ([]*Backup, error) {
	list, err := r.withLabels(ctx)
	if err != nil {
		return nil, err
	}
	gone := r.outdated(list)
	list = slices.DeleteFunc(list, func(b *Backup) bool { return gone[b] })
	slices.SortFunc(list, func(a, b *Backup) int { return strings.Compare(a.Label.Name, b.Label.Name) })
	return list, nil
}

// withLabels returns all backups with a label, also those that are outdated.
func (r *Repository) withLabels(ctx context.Context) ([]*Backup, error) {
	objects, err := r.storage.List(ctx, backupsDir)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := make(map[string]*Backup, len(objects))
	var list []*Backup
	for _, o := range objects {
		b, ok := r.labelled[o.Name]
		if !ok {
			b, err = r.describe(ctx, o.Name)
			var damage *Damage
			switch {
			case errors.As(err, &damage):
				r.say(err.Error())
				b = nil
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
				continue
			case err != nil:
				return nil, err
			case b.Label == nil:
				b = nil
			}
		}
		if seen[o.Name] = b; b != nil {
			list = append(list, b)
		}
	}
	r.labelled = seen
	return list, nil
}

// FindNamed returns the backup of a name. It fails with ErrNoName.
func (r *Repository) FindNamed(ctx context.Context, name string) (*Backup, error) {
	list, err := r.Named(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(b *Backup) bool { return b.Label.Name == name }); i >= 0 {
		return list[i], nil
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNoName)
}

// outdated returns the backups whose label has expired, or is not the newest of its name.
func (r *Repository) outdated(backups []*Backup) map[*Backup]bool {
	gone, newest := make(map[*Backup]bool), make(map[string]*Backup)
	now := r.now()
	for _, b := range backups {
		if b.Label == nil {
			continue
		}
		other := newest[b.Label.Name]
		switch {
		case other != nil && cmp.Or(b.Created.Compare(other.Created), cmp.Compare(b.Label.Revision, other.Label.Revision), strings.Compare(b.ID, other.ID)) < 0:
			gone[b] = true
			continue
		case other != nil:
			gone[other] = true
		}
		newest[b.Label.Name] = b
		if !now.Before(b.Label.Expires) {
			gone[b] = true
		}
	}
	return gone
}

// Relabel changes the label of the backup of a name. change may change Expires, and set another Note. It fails with
// ErrNoName, and with the error of change.
func (r *Repository) Relabel(ctx context.Context, name string, change func(b *Backup, l *Label) error) (*Backup, error) {
	return r.again(ctx, name, func(b *Backup, l *Label) error { l.Revision++; return change(b, l) }, func(old *Backup) error {
		return r.storage.Remove(ctx, old.object())
	})
}

// CopyNamed makes a further backup of the content of one, with a label as CreateNamed takes it. It copies no objects. It
// fails with ErrNoName and ErrNameTaken.
func (r *Repository) CopyNamed(ctx context.Context, from string, l Label) (*Backup, error) {
	if err := r.vacantName(ctx, l.Name); err != nil {
		return nil, err
	}
	return r.again(ctx, from, func(b *Backup, label *Label) error {
		l.Started, l.Ended = b.Label.Started, b.Label.Ended
		*label = l
		return nil
	}, func(*Backup) error { return nil })
}

// again describes a backup once more, with another label, and does then what belongs to it. Meanwhile no Prune runs: the
// objects stay.
func (r *Repository) again(ctx context.Context, name string, change func(old *Backup, l *Label) error, then func(old *Backup) error) (*Backup, error) {
	lock, err := r.lock(ctx, lockCreate, lockPrune)
	if err != nil {
		return nil, err
	}
	defer lock.release(ctx)
	old, err := r.FindNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	b, l := *old, *old.Label
	b.Label = &l
	if err := change(old, &l); err != nil {
		return nil, err
	}
	if err := r.put(ctx, &b); err != nil {
		return nil, err
	}
	if err := lock.held(ctx); err != nil {
		return nil, errors.Join(err, r.storage.Remove(context.WithoutCancel(ctx), b.object()))
	}
	return &b, then(old)
}

// RemoveNamed removes the backup of a name. What only it has needed goes with the next Sweep or Prune. It fails with
// ErrNoName.
func (r *Repository) RemoveNamed(ctx context.Context, name string) error {
	all, err := r.withLabels(ctx)
	if err != nil {
		return err
	}
	gone := r.outdated(all)
	if !slices.ContainsFunc(all, func(b *Backup) bool { return b.Label.Name == name && !gone[b] }) {
		return fmt.Errorf("%s: %w", name, ErrNoName)
	}
	return r.removeAllNamed(ctx, name, all)
}

// removeAllNamed removes those of all that have a name: also a revision before, which must not come back, so the higher ones
// go last.
func (r *Repository) removeAllNamed(ctx context.Context, name string, all []*Backup) error {
	all = slices.DeleteFunc(all, func(b *Backup) bool { return b.Label.Name != name })
	slices.SortFunc(all, func(a, b *Backup) int { return cmp.Compare(a.Label.Revision, b.Label.Revision) })
	for _, b := range all {
		if err := r.storage.Remove(ctx, b.object()); err != nil {
			return err
		}
	}
	return nil
}

// now returns the time, in microseconds.
func (r *Repository) now() time.Time { return time.UnixMicro(r.opt.Clock.Now()).UTC() }
