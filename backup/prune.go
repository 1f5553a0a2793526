package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pruned says what Prune or Sweep has removed.
type Pruned struct {
	Backups []string
	Objects int
	Bytes   int64
}

// Prune removes all backups but the newest keep, at least 1, and the objects that no backup needs: of the archived log,
// what is older than the oldest backup of its store and timeline. A backup with a label does not count, and goes when it
// has expired. Prune fails beside a backup that is being made, and if a backup cannot be read: its objects would go.
func (r *Repository) Prune(ctx context.Context, keep int) (Pruned, error) {
	return r.prune(ctx, func(backups []*Backup) map[*Backup]bool {
		gone := r.outdated(backups)
		backups = slices.DeleteFunc(slices.Clone(backups), func(b *Backup) bool { return b.Label != nil })
		for _, b := range backups[:max(len(backups)-max(keep, 1), 0)] {
			gone[b] = true
		}
		return gone
	}, objectsDir, tempDir, logDir)
}

// Sweep removes the backups with a label that have expired, and the objects that no backup needs. It leaves all others,
// and the archived log, and fails as Prune does. Others may write to a directory meanwhile, so of what killed processes have
// left there it removes only what is old.
func (r *Repository) Sweep(ctx context.Context) (Pruned, error) {
	p, err := r.prune(ctx, r.outdated, objectsDir)
	if l, ok := r.storage.(leaver); ok && err == nil {
		err = l.removeLeft(r.now().Add(-leftAfter))
	}
	return p, err
}

// leftAfter is how long nobody has written to what a killed process has left.
const leftAfter = time.Hour

// prune removes the backups that choose returns, and what no other needs of some directories.
func (r *Repository) prune(ctx context.Context, choose func([]*Backup) map[*Backup]bool, dirs ...string) (p Pruned, err error) {
	l, err := r.lock(ctx, lockPrune, lockPrune, lockCreate)
	if err != nil {
		return p, err
	}
	defer l.release(ctx)
	var damaged *Damage
	backups, err := r.List(ctx, func(d *Damage) { damaged = d })
	if err != nil {
		return p, err
	}
	if damaged != nil {
		return p, fmt.Errorf("%w; nothing was removed: which objects this backup needs is not known. Remove its description to give it up", damaged)
	}
	gone := choose(backups)
	needed := make(map[string]bool)
	var kept []*Backup
	for _, b := range backups {
		if gone[b] {
			continue
		}
		kept = append(kept, b)
		for _, f := range b.Files {
			needed[f.Object] = true
		}
	}
	if err := r.stillAlone(ctx, l); err != nil {
		return p, err
	}
	for _, b := range backups { // first: no backup may need an object that has gone
		if !gone[b] {
			continue
		}
		if err := r.storage.Remove(ctx, b.object()); err != nil {
			return p, err
		}
		p.Backups = append(p.Backups, b.ID)
	}
	followed := oldestPlaces(kept)
	for _, prefix := range dirs {
		list, err := r.storage.List(ctx, prefix)
		if err != nil {
			return p, err
		}
		list = slices.DeleteFunc(list, func(o Object) bool { return needed[o.Name] || prefix == logDir && followed.need(o) })
		if err := r.removeAll(ctx, l, list, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// removeAll removes objects while the lock of the prune holds.
func (r *Repository) removeAll(ctx context.Context, l *lock, list []Object, p *Pruned) error {
	for i, o := range list {
		if i%100 == 0 {
			if err := r.stillAlone(ctx, l); err != nil {
				return err
			}
		}
		if err := r.storage.Remove(ctx, o.Name); err != nil {
			return err
		}
		p.Objects++
		p.Bytes += o.Size
	}
	return nil
}

// places are the oldest place that a backup has in each log, by store and timeline.
type places map[string]uint64

func oldestPlaces(backups []*Backup) places {
	p := make(places)
	for _, b := range backups {
		key := b.Store + "/" + b.Timeline
		if seq, ok := p[key]; b.known() && (!ok || b.Sequence < seq) {
			p[key] = b.Sequence
		}
	}
	return p
}

// need reports whether an object of the log follows a backup. One that is none of ours stays.
func (p places) need(o Object) bool {
	l, err := parseLogName(o)
	if err != nil {
		return true
	}
	seq, ok := p[l.store+"/"+l.timeline]
	return ok && l.last >= seq
}

// stillAlone returns an error if the lock of a prune has gone, or a backup is being made nevertheless: its process was
// asleep, and its lock was taken for that of a dead one.
func (r *Repository) stillAlone(ctx context.Context, l *lock) error {
	if err := l.held(ctx); err != nil {
		return err
	}
	locks, err := r.storage.List(ctx, locksDir)
	if err != nil {
		return err
	}
	for _, o := range locks {
		if strings.HasPrefix(o.Name, locksDir+lockCreate) {
			return busy("a backup is being made", r.storage)
		}
	}
	return nil
}
