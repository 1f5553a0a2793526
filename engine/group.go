package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"colonnade/internal/cores"
)

// Group commit: the batches that come while the log is being written and synced
// form the next group. The leader, a goroutine, writes them one after another as long
// as there are any. Whoever waits for a group can give up, as the leader cannot: a
// sync that has been asked for ends when the disk says so.
//
//	forming     DB.group       batches join it
//	under way   DB.underWay    being written, and inserted, or at least one of both: oldest first
//	settled                    the outcome is known, in the order in which the groups formed

// group is the batches that one sync of the log makes durable.
type group struct {
	batches []pending
	shared  bool          // some are small: the leader has them inserted
	claimed atomic.Int32  // batches that somebody inserts, or has, if they are small
	missing atomic.Int32  // batches that are not in the memtables yet, and one for the write
	refused error         // why nothing of it is written, nil if it is
	answer  chan struct{} // closed when the outcome is known, or SyncTimeout has passed
	late    bool          // it was closed for that
	unwatch func() bool   // ends the watch on that
	done    chan struct{} // closed when the outcome is known
	err     error         // the outcome, once done is closed
	writers *awakening    // those who wait for the outcome
}

// pending is a batch on its way into the log and the memtables.
type pending struct {
	seq     uint64
	payload []byte
	segment *segment
	parts   []batchPart
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
	g := &group{batches: make([]pending, 0, db.groupSize), answer: make(chan struct{}), done: make(chan struct{}), writers: newAwakening()}
	g.missing.Store(1)
	g.unwatch = db.opt.Clock.AfterFunc(db.opt.SyncTimeout, func() { db.overdue(g) })
	return g
}

// await waits for the outcome, but no longer than the context or the watch says.
func (g *group) await(ctx context.Context) error {
	defer g.writers.gone()
	cause := ErrSlowDisk
	if ctx.Done() == nil { // to wait for one channel costs half of what two cost
		<-g.answer
	} else {
		select {
		case <-g.answer:
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

// overdue gives up waiting for a group. Until the log moves on, nobody else has
// to begin: memory stays bounded by what has entered so far.
func (db *DB) overdue(g *group) {
	db.mu.Lock()
	defer db.mu.Unlock()
	select {
	case <-g.done:
		return
	default:
	}
	g.late = true
	close(g.answer)
	if !db.slow {
		db.slow = true
		db.opt.Log.Warn("the disk does not answer: writes are refused until it does", "after", db.opt.SyncTimeout)
		db.background.progressLocked() // whoever waits for room has to know
	}
}

// caughtUpLocked takes note that the log has moved on.
func (db *DB) caughtUpLocked() {
	if db.diskReserve.writeError != nil {
		db.diskReserve.writeError = nil
		db.opt.Log.Info("the log can be written again")
	}
	if db.slow {
		db.slow = false
		db.opt.Log.Info("the disk answers again")
	}
}

// startLeader has a goroutine lead: one that did so before, if it is idle by now. A new
// one has to grow its stack first, a tenth of what a small batch costs that waits for
// no disk.
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

// lead writes the groups that form until there is none. One goroutine at a time
// does (DB.leading). When more than half as many batches wait as a group had, it goes on with
// these at once, while that group's are inserted and its writers make up what they have next.
func (db *DB) lead() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for db.group != nil {
		g := db.group
		db.group = nil
		db.writeLocked(g)
		n := len(g.batches)
		if db.group.size() > n/2 { // half of the writers wait for the disk, the others work
			continue
		}
		db.awaitSettledLocked(g)
		if n >= manyBatches {
			db.giveWayLocked(n)
		}
	}
	db.leading = false
	db.armSealLocked()
	if db.closed || len(db.frozen) > 0 { // somebody may wait for the batches to be visible
		db.background.signalLocked()
	}
}

// writeLocked writes a group to the log, with DB.mu released. The group is settled when it
// returns, unless batches of it, or of a group before it, are not in the memtables yet.
func (db *DB) writeLocked(g *group) {
	g.refused = db.failed
	db.underWay = append(db.underWay, g)
	db.groupSize = len(g.batches)
	db.mu.Unlock()
	if g.shared {
		db.startInserting(g)
	}
	var durable uint64
	var err error
	if g.refused == nil {
		durable, err = db.writeGroup(g)
	}
	db.mu.Lock()
	db.log.durable = max(db.log.durable, durable)
	if err != nil {
		db.failLocked(err)
	}
	if g.arrived() {
		db.settleWholeLocked()
	}
}

// awaitSettledLocked waits until the last group under way is settled, with DB.mu released. If it
// is small, the leader settles it: so when a commit returns that was alone, the leader is through
// with it, and the log idle. The writers of a large one need not wait until the leader runs.
func (db *DB) awaitSettledLocked(g *group) {
	if len(db.underWay) == 0 {
		return
	}
	over := g.done
	if len(g.batches) < manyBatches {
		db.awaited, over = g, db.whole
	}
	db.mu.Unlock()
	<-over
	db.mu.Lock()
	db.settleWholeLocked()
}

// arrived takes note that a batch is in the memtables, or that the group is written, and
// reports whether that was the last.
func (g *group) arrived() bool { return g.missing.Add(-1) == 0 }

// settleWholeLocked makes the outcome of groups known that are written and inserted, but of none
// before those that formed earlier. One that the leader settles is left to it.
func (db *DB) settleWholeLocked() {
	for len(db.underWay) > 0 && db.underWay[0].missing.Load() == 0 {
		g := db.underWay[0]
		if g == db.awaited {
			db.awaited = nil
			db.whole <- struct{}{}
			return
		}
		db.underWay = slices.Delete(db.underWay, 0, 1)
		db.settleLocked(g)
	}
	if len(db.underWay) == 0 { // the log waits with none of them
		db.caughtUpLocked()
	}
}

// manyBatches is from how many batches in a group on the leader waits for what their
// writers have next, and flushes and compactions for their writers. Few writers hardly wait for
// each other, and where four of them load, each cost a tenth of the rate and more.
const manyBatches = 8

// The leader lets others run until they took less than the least that counts as work so many
// times in a row: then its processor is idle, or soon will be, and a sync keeps nobody from it.
// It begins no other time after the longest wait, which can be late by a time slice for each
// that has work, nor after so many times, whatever the clock says.
const (
	idleYields = 8
	leastWork  = 10   // microseconds
	mostWait   = 1000 // microseconds
	mostYields = mostWait / leastWork
)

// giveWayLocked lets the writers of a group of n, which has just been settled, run, and
// whoever else has work on this machine, their clients first of all, with DB.mu released,
// until three times as many wait for the next group, within those bounds. While there is other
// work, a larger group costs nothing but its writers' time, and each sync that is saved is
// processor time for all. A group that grows no faster leaves some writers to work while it is
// synced. Flushes and compactions are not such work: once one had a turn in which nobody came,
// the writers that are there have waited enough.
func (db *DB) giveWayLocked(n int) {
	begun := db.opt.Clock.Now()
	last, idle, turns := begun, 0, db.precedence.turns.Load()
	for i := 0; i < mostYields && idle < idleYields && last-begun <= mostWait && db.group.size() < 3*n; i++ {
		size := db.group.size()
		db.mu.Unlock()
		if idle == 0 {
			cores.Yield()
		} else { // no goroutine had work a moment ago
			cores.YieldThread()
		}
		now := db.opt.Clock.Now()
		db.mu.Lock()
		if t := db.precedence.turns.Load(); t != turns {
			if db.group.size() == size {
				return
			}
			turns = t
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
	g.unwatch()
	switch {
	case g.refused != nil:
		g.err = g.refused
	case db.failed != nil: // the write, an insert, or an edit meanwhile
		g.err = &UnknownError{Cause: errors.Unwrap(db.failed)}
	default:
		db.publishGroupLocked(g)
	}
	if len(g.batches) >= manyBatches {
		db.precedence.woken.Store(g.writers)
	} else {
		db.precedence.woken.Store(nil)
	}
	close(g.done)
	if !g.late {
		close(g.answer)
	}
	g.writers.gone() // that of the group itself
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
}
