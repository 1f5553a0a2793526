package engine

import (
	"context"
	"time"
)

// Write stalls. Writers are slowed down, and then stopped, when flush and compaction fall behind. So
// memory, the log, and the number of files that a read asks stay bounded. A stop ends with progress,
// or after StallTimeout with ErrOverloaded.

const (
	// slowdownFiles is the number of level-0 files from which writers are slowed down, stopFiles the
	// number at which they stop. Both are higher where level 0 may have more files, see
	// compaction.Level0Pressure. Each file is one more source for every read of the partition.
	slowdownFiles = 12
	stopFiles     = 24
)

// stallReason is why a batch cannot enter yet. Called without DB.mu, it waits until the reason may
// have passed. Its error refuses the batch.
type stallReason func(ctx context.Context, t *stallTimer) error

// stallTimer bounds the stalls of one Commit. The zero value is ready.
type stallTimer struct {
	timeout chan struct{}
	cancel  func() bool
	delayed bool // by the write rate limit, once
}

// stop releases the timer and makes t ready for another Commit.
func (t *stallTimer) stop() {
	if t.cancel != nil {
		t.cancel()
	}
	*t = stallTimer{}
}

// awaitSignal waits until signal is closed, at most StallTimeout for all waits of one Commit together.
func (db *DB) awaitSignal(ctx context.Context, t *stallTimer, signal <-chan struct{}) error {
	if t.timeout == nil {
		over := make(chan struct{}) // t may serve another Commit when the time is over
		t.timeout = over
		t.cancel = db.opt.Clock.AfterFunc(db.opt.StallTimeout, func() { close(over) })
	}
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.timeout:
		return ErrOverloaded
	}
}

// delayWrite delays a Commit by d.
func (db *DB) delayWrite(d time.Duration) stallReason {
	return func(ctx context.Context, t *stallTimer) error {
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

// stallReasonLocked returns why a batch cannot enter, nil if it can. It does not look at the log.
func (db *DB) stallReasonLocked(b *Batch, t *stallTimer) stallReason {
	held := db.memTableBytes.Load() // read once: if it is the whole budget, something must be frozen to flush
	db.freezeLargestLocked(held)
	if held >= db.opt.MemtableBytes {
		return db.awaitProgressLocked()
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
		if b.ranges > 0 && db.tooManyRangesLocked(p) {
			if db.compactionStuckLocked(p) {
				return refuse(p.damage)
			}
			return db.awaitProgressLocked()
		}
	}
	switch {
	case files >= stopFiles:
		return db.awaitProgressLocked()
	case files >= slowdownFiles && !t.delayed:
		t.delayed = true
		if wait := db.writeDelayLocked(b); wait > 0 {
			return db.delayWrite(wait)
		}
	}
	return nil
}

// compactionStuckLocked reports whether damage blocks every compaction of a partition: none is under
// way, and none is to be picked.
func (db *DB) compactionStuckLocked(p *partition) bool {
	return p.damage != nil && len(p.busy) == p.damagedInputs && !db.background.compactable[p]
}

// writeDelayLocked charges a batch to the rate limit of each partition whose writers are slowed down,
// and returns how long it has to wait.
func (db *DB) writeDelayLocked(b *Batch) (wait time.Duration) {
	now := db.opt.Clock.Now()
	for i := range b.parts {
		p := db.partitions[b.parts[i].id]
		if p.slowed() {
			wait = max(wait, p.rateLimit.reserve(now, len(b.buf), p.level0Pressure))
		}
	}
	return wait
}

// logStallReasonLocked returns what a batch of n bytes waits for when no segment that is ready has
// room for it.
func (db *DB) logStallReasonLocked(n int) stallReason {
	if db.logBytesLocked()+db.opt.SegmentBytes > db.opt.LogBytes && (db.freezeOldestLocked() || db.retirableLocked()) {
		return db.awaitProgressLocked()
	}
	return db.prepareLocked(n)
}

// awaitProgressLocked waits for the end of a flush or compaction.
func (db *DB) awaitProgressLocked() stallReason {
	progress := db.background.progress
	db.background.signalLocked()
	return func(ctx context.Context, t *stallTimer) error { return db.awaitSignal(ctx, t, progress) }
}

// refuse refuses the batch.
func refuse(err error) stallReason {
	return func(context.Context, *stallTimer) error { return err }
}
