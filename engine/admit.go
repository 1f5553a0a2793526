package engine

import (
	"context"
	"time"
)

// Writers are slowed down, and then stopped, when flush and compaction fall
// behind; so memory, the log, and the number of files a read has to look at
// stay bounded. A stop ends with progress, or after StallTimeout with
// ErrOverloaded.

const (
	// slowFiles is the number of level-0 files from which writers are slowed
	// down, stopFiles that at which they stop, if level 0 is full with defaultL0Files;
	// where it may have more, so much more (version.crowd). Each file is one more
	// source for every read of the partition.
	slowFiles = 12
	stopFiles = 24
)

// admission is the state of one Commit that waits for room.
type admission struct {
	timeout chan struct{}
	cancel  func() bool
	paced   bool // its time was taken
}

// stop ends the waiting. What is left of it is nothing.
func (a *admission) stop() {
	if a.cancel != nil {
		a.cancel()
	}
	*a = admission{}
}

// obstacle is what stands in the way of a batch: a function that waits for it
// to pass, without DB.mu.
type obstacle func(ctx context.Context, a *admission) error

// wait waits for a signal on progress, at most StallTimeout for all waits of
// one Commit together.
func (db *DB) wait(ctx context.Context, a *admission, progress <-chan struct{}) error {
	if a.timeout == nil {
		over := make(chan struct{}) // the admission may be that of another Commit when the time is over
		a.timeout = over
		a.cancel = db.opt.Clock.AfterFunc(db.opt.StallTimeout, func() { close(over) })
	}
	select {
	case <-progress:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-a.timeout:
		return ErrOverloaded
	}
}

// pause lets a Commit wait for d.
func (db *DB) pause(d time.Duration) obstacle {
	return func(ctx context.Context, a *admission) error {
		over := make(chan struct{})
		stop := db.opt.Clock.AfterFunc(d, func() { close(over) })
		defer stop()
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// obstacleLocked returns what keeps a batch from entering the order, apart from
// room in the log, or nil.
func (db *DB) obstacleLocked(b *Batch, a *admission) obstacle {
	held := db.memTableBytes.Load() // one reading: who waits for a flush needs something frozen
	db.freezeLargestLocked(held)
	if held >= db.opt.MemtableBytes {
		return db.stallLocked()
	}
	files := 0
	for i := range b.parts {
		p := db.partitions[b.parts[i].id]
		if damage := p.quarantined.Load(); damage != nil {
			return refuse(damage)
		}
		if p.level0Pressure >= stopFiles && db.compactionStuckLocked(p) {
			return refuse(p.damage)
		}
		files = max(files, p.level0Pressure)
	}
	switch {
	case files >= stopFiles:
		return db.stallLocked()
	case files >= slowFiles && !a.paced:
		a.paced = true
		if wait := db.paceLocked(b); wait > 0 {
			return db.pause(wait)
		}
	}
	return nil
}

// compactionStuckLocked reports whether damage keeps compactions from all that is left in a partition: none
// is under way, nor is it to be looked at for another.
func (db *DB) compactionStuckLocked(p *partition) bool {
	return p.damage != nil && len(p.busy) == p.damagedInputs && !db.background.compactable[p]
}

// paceLocked takes the time of a batch in each partition whose level 0 is too full, and returns how
// long it has to wait.
func (db *DB) paceLocked(b *Batch) (wait time.Duration) {
	now := db.opt.Clock.Now()
	for i := range b.parts {
		p := db.partitions[b.parts[i].id]
		if p.slowed() {
			wait = max(wait, p.throttle.take(now, len(b.buf), p.level0Pressure))
		}
	}
	return wait
}

// logObstacleLocked is what keeps a batch from entering when it fits into no
// segment that is ready.
func (db *DB) logObstacleLocked(n int) obstacle {
	if db.logBytesLocked()+db.opt.SegmentBytes > db.opt.LogBytes && (db.freezeOldestLocked() || db.retirableLocked()) {
		return db.stallLocked()
	}
	return db.prepareLocked(n)
}

// preparation is a segment in the making, for Commits that wait for it.
type preparation struct {
	done chan struct{} // closed when it is over
	err  error         // the outcome, once done is closed
}

// prepareLocked makes a segment that can take n bytes of payload, and waits for it;
// or for one that another Commit makes, which may do.
func (db *DB) prepareLocked(n int) obstacle {
	p := db.log.preparing
	own := p == nil
	if own {
		p = &preparation{done: make(chan struct{})}
		db.log.preparing = p
		go db.prepare(p, n)
	}
	return func(ctx context.Context, a *admission) error {
		if err := db.wait(ctx, a, p.done); err != nil || !own {
			return err
		}
		return p.err
	}
}

func (db *DB) prepare(p *preparation, n int) {
	p.err = db.prepareSegment(db.opt.SegmentBytes, n)
	db.mu.Lock()
	db.log.preparing = nil
	db.background.signalLocked() // Close may wait for it
	db.mu.Unlock()
	close(p.done)
}

// stallLocked waits until flush or compaction has got something done.
func (db *DB) stallLocked() obstacle {
	progress := db.background.progress
	db.background.signalLocked()
	return func(ctx context.Context, a *admission) error { return db.wait(ctx, a, progress) }
}

func refuse(err error) obstacle {
	return func(context.Context, *admission) error { return err }
}
