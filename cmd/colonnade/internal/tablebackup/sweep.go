package tablebackup

import (
	"context"
	"time"
)

// From the time at which it expires a backup is not there for clients. A sweep removes it, and the objects that no backup
// needs. It comes now and then, and soon after a backup was deleted.
const (
	sweepFirst = time.Minute // after the start
	sweepEvery = time.Hour
)

// sweepSoon has the next sweep come at once.
func (k *Keeper) sweepSoon() {
	select {
	case k.wake <- struct{}{}:
	default: // it comes already
	}
}

// sweepNowAndThen sweeps until the context ends. At first it opens the repository: if that fails, the operator is told before a
// client is.
func (k *Keeper) sweepNowAndThen(ctx context.Context) {
	if _, err := k.open(ctx); err != nil && ctx.Err() == nil {
		k.opt.Log.Error("no backups can be made", "cause", err)
	}
	for wait := sweepFirst; ; {
		late := make(chan struct{})
		stop := k.opt.Clock.AfterFunc(wait, func() { close(late) })
		select {
		case <-k.wake:
		case <-late:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
		if wait = sweepEvery; !k.sweep(ctx) {
			wait = sweepFirst
		}
	}
}

// sweeping is a sweep that is under way.
type sweeping struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// use begins to read or write objects of the repository, until done. A sweep that is under way is put off: it may be waiting to see
// whether a process is alive.
func (k *Keeper) use() (done func()) {
	k.mu.Lock()
	k.users++
	s := k.sweeping
	k.mu.Unlock()
	if s != nil {
		s.cancel()
		<-s.ended
	}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.users--
	}
}

// beginSweep returns the context of a sweep, unless objects are in use.
func (k *Keeper) beginSweep(ctx context.Context) (_ context.Context, end func(), ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users > 0 || k.sweeping != nil {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &sweeping{cancel, make(chan struct{})}
	k.sweeping = s
	return ctx, func() {
		cancel()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.sweeping = nil
		close(s.ended)
	}, true
}

// sweep reports whether it was done: not while backups are made or restored.
func (k *Keeper) sweep(ctx context.Context) bool {
	r, err := k.open(ctx)
	if err != nil {
		return false
	}
	ctx, end, ok := k.beginSweep(ctx)
	if !ok {
		return false
	}
	defer end()
	gone, err := r.Sweep(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.opt.Log.Warn("backups that have expired are not removed yet", "cause", err)
		}
		return false
	}
	if len(gone.Backups) > 0 || gone.Objects > 0 {
		k.opt.Log.Info("removed backups that have expired, and what no backup needs", "backups", len(gone.Backups), "objects", gone.Objects, "bytes", gone.Bytes)
	}
	return true
}
