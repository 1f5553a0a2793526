package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/internal/cores"
)

// Group commit: the batches that come while the log is being written and synced form the next group.
// The leader, a goroutine, writes one group after another as long as there are any. Waiters can time
// out. The leader cannot: a sync cannot be cancelled.
//
//	forming    DB.group       batches join it
//	in flight  DB.inFlight    being written or inserted, or both; oldest first
//	settled                   the outcome is known, in the order in which the groups formed

// group is the batches that one sync of the log makes durable.
type group struct {
	batches   []pendingBatch
	shared    bool          // some batches are small: the leader has them inserted
	claimed   atomic.Int32  // batches, from the first, whose insert has been claimed
	missing   atomic.Int32  // batches that are not in the memTables yet, plus one until the group is written
	refusal   error         // why the group is not written, nil if it is
	released  chan struct{} // closed when the outcome is known or SyncTimeout has passed
	late      bool          // released was closed by the timeout
	stopTimer func() bool   // of SyncTimeout
	done      chan struct{} // closed when the outcome is known
	err       error         // the outcome, once done is closed
	writers   *wakeup       // that wait for the outcome
	synced    logTimes      // for Options.Trace; to be read once done is closed
}

// pendingBatch is a batch on its way into the log and the memTables.
type pendingBatch struct {
	seq     uint64
	payload []byte
	segment *segment
	parts   []batchPart
	done    func() // Batch.Inserted
	now     bool   // Batch.InsertNow
}

// pending returns the batch as its group has it.
func (b *Batch) pending(s *segment) pendingBatch {
	return pendingBatch{seq: b.seq, payload: b.buf, segment: s, parts: b.parts, done: b.Inserted, now: b.InsertNow}
}

// size returns the number of batches; a nil group has none.
func (g *group) size() int {
	if g == nil {
		return 0
	}
	return len(g.batches)
}

// newGroup returns a group that has room for as many batches as the last one had.
func (db *DB) newGroup() *group {
	g := &group{batches: make([]pendingBatch, 0, db.groupSize), released: make(chan struct{}), done: make(chan struct{}), writers: newWakeup()}
	g.missing.Store(1)
	g.stopTimer = db.opt.Clock.AfterFunc(db.opt.SyncTimeout, func() { db.timeOut(g) })
	return g
}

// await waits for the outcome, at most until the context ends or SyncTimeout has passed.
func (g *group) await(ctx context.Context) error {
	defer g.writers.leave()
	cause := ErrSlowDisk
	if ctx.Done() == nil { // waiting for one channel costs half as much as for two
		<-g.released
	} else {
		select {
		case <-g.released:
		case <-ctx.Done():
			cause = ctx.Err()
		}
	}
	select {
	case <-g.done:
		return g.err
	default:
		return &UnknownError{Cause: cause, group: g}
	}
}

// timeOut releases the waiters of a group after SyncTimeout. Until the log moves on, no batch may enter,
// so memory stays bounded by what has entered so far.
func (db *DB) timeOut(g *group) {
	db.mu.Lock()
	defer db.mu.Unlock()
	select {
	case <-g.done:
		return
	default:
	}
	g.late = true
	close(g.released)
	if !db.slow {
		db.slow = true
		db.opt.Log.Warn("the disk does not answer: writes are refused until it does", "after", db.opt.SyncTimeout)
		db.background.progressLocked() // stalled writers must fail
	}
}

// logMovedLocked ends the states in which the log could not be written or the disk did not answer.
func (db *DB) logMovedLocked() {
	if db.diskReserve.writeError != nil {
		db.diskReserve.writeError = nil
		db.opt.Log.Info("the log can be written again")
	}
	if db.slow {
		db.slow = false
		db.opt.Log.Info("the disk answers again")
	}
}

// startLeader wakes an idle leader goroutine, or starts one. A new one has to grow its stack first, which
// costs a tenth of a small batch that waits for no disk.
func (db *DB) startLeader() {
	select {
	case db.leaders <- struct{}{}:
	default:
		go func() {
			for {
				db.lead()
				select {
				case <-db.leaders:
				case <-db.background.stop:
					return
				}
			}
		}()
	}
}

// lead writes groups until none is forming. Only one goroutine leads at a time (DB.leading). If by the
// end of a group's write more than half as many batches wait as it had, lead writes these at once,
// while the group is inserted and its writers prepare their next batches.
func (db *DB) lead() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for db.group != nil {
		g := db.group
		db.group = nil
		db.writeLocked(g)
		n := len(g.batches)
		if db.group.size() > n/2 { // half of the writers wait for the disk while the others work
			continue
		}
		db.awaitSettledLocked(g)
		if n >= largeGroup {
			db.yieldToWritersLocked(n)
		}
	}
	db.leading = false
	db.armSealLocked()
	if db.closed || len(db.frozen) > 0 { // Close, or flushes, may wait for the batches
		db.background.signalLocked()
	}
}

// writeLocked writes a group to the log, with DB.mu released. It settles the group, unless batches of
// it, or of a group before it, are not in the memTables yet.
func (db *DB) writeLocked(g *group) {
	g.refusal = db.failed
	db.inFlight = append(db.inFlight, g)
	db.groupSize = len(g.batches)
	db.mu.Unlock()
	if g.shared {
		db.startInserting(g)
	}
	var durable uint64
	var err error
	if g.refusal == nil {
		durable, err = db.writeGroup(g)
	}
	db.mu.Lock()
	db.log.durable = max(db.log.durable, durable)
	if err != nil {
		db.failLocked(err)
	}
	if g.arrive() {
		db.settleReadyLocked()
	}
}

// awaitSettledLocked waits until the last group in flight is settled, with DB.mu released. The leader
// settles a small group itself. So when a commit that was alone returns, the leader is done and the
// log idle. The writers of a large group need not wait until the leader runs.
func (db *DB) awaitSettledLocked(g *group) {
	if len(db.inFlight) == 0 {
		return
	}
	over := g.done
	if len(g.batches) < largeGroup {
		db.awaited, over = g, db.groupReady
	}
	db.mu.Unlock()
	<-over
	db.mu.Lock()
	db.settleReadyLocked()
}

// arrive records that a batch is in the memTables, or that the group is written, and reports whether
// that was the last missing.
func (g *group) arrive() bool { return g.missing.Add(-1) == 0 }

// settleReadyLocked settles the groups that are written and inserted, in the order in which they formed.
// It wakes the leader for the one that the leader settles.
func (db *DB) settleReadyLocked() {
	for len(db.inFlight) > 0 && db.inFlight[0].missing.Load() == 0 {
		g := db.inFlight[0]
		if g == db.awaited {
			db.awaited = nil
			db.groupReady <- struct{}{}
			return
		}
		db.inFlight = slices.Delete(db.inFlight, 0, 1)
		db.settleLocked(g)
	}
	if len(db.inFlight) == 0 { // the log is not stuck in any of them
		db.logMovedLocked()
	}
}

// largeGroup is the number of batches from which the leader waits for the next batches of a group's
// writers, and flushes and compactions wait for these writers. With few writers there is little to wait
// for; with four that load, each of the two cost a tenth of the rate or more.
const largeGroup = 8

// The leader yields until idleYields yields in a row were shorter than leastWork: then its CPU is idle,
// or soon will be, and a sync keeps nothing from running. It starts no yield after mostWait, which can
// be exceeded by a time slice of each runnable goroutine, nor more than mostYields, whatever the clock
// says.
//
// idleYields 8: 64 writers committed 0.97, 0.95 to 1.08, 0.76 and 0.66 times as much with 2, 4, 32 and
// 128.
const (
	idleYields = 8
	leastWork  = 10   // microseconds
	mostWait   = 1000 // microseconds
	mostYields = mostWait / leastWork
)

// yieldToWritersLocked yields, with DB.mu released, so that the n writers of the group that has just been
// settled can prepare their next batches, and their clients and other processes can run. It yields
// within the bounds above, until three times n batches wait for the next group. While there is other
// work, a larger group costs nothing but its writers' time, and each sync saved is CPU time for all.
// 64 writers committed 55,900 batches/s with n, 58,400 with 3n and 55,500 without that bound.
// If the group does not grow any faster, some writers can work while it is synced.
//
// Flushes and compactions are no reason to go on: after one has run and no batch has come, the writers
// that wait have waited enough.
func (db *DB) yieldToWritersLocked(n int) {
	begun := db.opt.Clock.Now()
	last, idle, yields := begun, 0, db.foreground.yields.Load()
	for i := 0; i < mostYields && idle < idleYields && last-begun <= mostWait && db.group.size() < 3*n; i++ {
		size := db.group.size()
		db.mu.Unlock()
		if idle == 0 {
			cores.Yield()
		} else { // no goroutine was runnable a moment ago
			cores.YieldThread()
		}
		now := db.opt.Clock.Now()
		db.mu.Lock()
		if y := db.foreground.yields.Load(); y != yields {
			if db.group.size() == size {
				return
			}
			yields = y
		}
		if now-last < leastWork {
			idle++
		} else {
			idle = 0
		}
		last = now
	}
}

// settleLocked makes the outcome of a group known.
func (db *DB) settleLocked(g *group) {
	g.stopTimer()
	switch {
	case g.refusal != nil:
		g.err = g.refusal
	case db.failed != nil: // in the write, an insert, or a manifest edit meanwhile
		g.err = &UnknownError{Cause: errors.Unwrap(db.failed)}
	default:
		db.publishGroupLocked(g)
	}
	if len(g.batches) >= largeGroup {
		db.foreground.wakeup.Store(g.writers)
	} else {
		db.foreground.wakeup.Store(nil)
	}
	close(g.done)
	if !g.late {
		close(g.released)
	}
	g.writers.leave() // the group itself
}

// publishGroupLocked makes the batches of a group visible.
func (db *DB) publishGroupLocked(g *group) {
	last := g.batches[len(g.batches)-1].seq
	if err := db.checkDurableLocked(last); err != nil {
		db.failLocked(err)
		g.err = &UnknownError{Cause: err}
		return
	}
	db.visible.Store(last)
	if len(db.rangesDue) > 0 {
		db.background.signalLocked()
	}
}
