package engine

import (
	"context"
	"sync/atomic"
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

// StallReason says what a batch waited for before it entered.
type StallReason uint8

const (
	StallMemtables       StallReason = iota // room for it in the memtables: a flush
	StallLevel0Slowdown                     // the write rate limit
	StallLevel0Stop                         // fewer files in level 0: a compaction
	StallRangeTombstones                    // fewer range tombstones: a flush and compactions
	StallLog                                // room in the log: the flush that frees its oldest segment
	StallSegment                            // a segment of the log that is being made

	// StallReasons is how many there are.
	StallReasons = int(iota)
)

// String returns the name of the reason.
func (r StallReason) String() string {
	return [StallReasons]string{"memtables", "level0_slowdown", "level0_stop", "range_tombstones", "log", "log_segment"}[r]
}

// Stalls counts the waits for one reason that are over. A batch may wait several times.
type Stalls struct {
	Count uint64
	Time  time.Duration // of all batches together
}

// stallCounter counts the stalls of one reason.
type stallCounter struct {
	count  atomic.Uint64
	micros atomic.Int64
}

func (c *stallCounter) load() Stalls {
	return Stalls{c.count.Load(), time.Duration(c.micros.Load()) * time.Microsecond}
}

// countStall is called at the begin of a wait, and what it returns at its end.
func (db *DB) countStall(r StallReason) (over func()) {
	begun := db.opt.Clock.Now()
	return func() {
		db.stalls[r].count.Add(1)
		db.stalls[r].micros.Add(db.since(begun).Microseconds())
	}
}

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
		defer db.countStall(StallLevel0Slowdown)()
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
		return db.awaitProgressLocked(StallMemtables)
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
			return db.awaitProgressLocked(StallRangeTombstones)
		}
	}
	switch {
	case files >= stopFiles:
		return db.awaitProgressLocked(StallLevel0Stop)
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
		return db.awaitProgressLocked(StallLog)
	}
	return db.prepareLocked(n)
}

// awaitProgressLocked waits for the end of a flush or compaction.
func (db *DB) awaitProgressLocked(r StallReason) stallReason {
	progress := db.background.progress
	db.background.signalLocked()
	return func(ctx context.Context, t *stallTimer) error {
		defer db.countStall(r)()
		return db.awaitSignal(ctx, t, progress)
	}
}

// refuse refuses the batch.
func refuse(err error) stallReason {
	return func(context.Context, *stallTimer) error { return err }
}
