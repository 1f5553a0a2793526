package engine

import (
	"sync/atomic"
)

// readCharges are what reads have paid towards compactions of a partition. See package compaction,
// read-triggered compaction.
type readCharges struct {
	level0, upper readAccount
	upTo          uint64 // the largest file number when upper became due; guarded by DB.mu
}

// readAccount is what was paid since the last compaction of its kind.
type readAccount struct {
	_    [64]byte     // a cache line of its own: every read writes paid, and reads the fields before
	paid atomic.Int64 // in questions to a filter
	due  atomic.Bool  // paid has reached the threshold, and no compaction has followed yet
	_    [48]byte
}

// chargeReads records what a read of a state has paid. It ignores reads of a replaced state, which
// a compaction now would not have helped.
func (db *DB) chargeReads(p *partition, state *readState, level0, upper int64) {
	if p.state.Load() != state {
		return
	}
	if state.thresholds.Level0 == 0 { // level 0 can only leave for the last level, with all others
		level0, upper = 0, level0+upper
	}
	due0 := p.charges.level0.charge(level0, state.thresholds.Level0)
	dueUpper := p.charges.upper.charge(upper, state.thresholds.Upper)
	if !due0 && !dueUpper {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if due0 {
		p.charges.level0.due.Store(true)
	}
	if dueUpper {
		p.charges.upTo = p.version.Newest()
		p.charges.upper.due.Store(true)
	}
	db.background.compactable[p] = true
	db.background.signalLocked()
}

// charge adds to the account, and reports whether that reaches the threshold for the first time. A
// threshold of 0 is never reached.
func (a *readAccount) charge(questions, threshold int64) bool {
	return questions > 0 && threshold > 0 && a.paid.Add(questions) >= threshold && !a.due.Load()
}

// reset is called when a compaction has done what was paid for, or there is nothing to do.
func (a *readAccount) reset() {
	a.paid.Store(0)
	a.due.Store(false)
}
