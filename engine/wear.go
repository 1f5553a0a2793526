package engine

import (
	"sync/atomic"
)

// wear is what reads have paid for a partition. The files of level 0 overlap, and each
// upper level is one more run, so a read asks each of them for its rows; a compaction
// would spare that.
//
// Neither is known beforehand, what reads there will be nor what their sum is. So
// they pay like somebody who rents: once the rent has come to a part of the price,
// the compaction is bought. What compactions for the sake of reads write is thereby
// bounded by the number of reads, and a table that is only written has none of them.
type wear struct {
	level0, upper account
	bought        uint64 // the largest number of a file when upper was worn; guarded by DB.mu
}

// account is what was paid since the last time.
type account struct {
	_    [64]byte     // readers share the fields before, and change this
	paid atomic.Int64 // in questions to a filter
	worn atomic.Bool  // paid has reached the price, and nothing was done about it yet
	_    [48]byte
}

// pay counts what a read of a state has paid. For a state of before it could be
// spared nothing.
func (db *DB) pay(p *partition, state *readState, level0, upper int64) {
	if p.state.Load() != state {
		return
	}
	if state.prices.Level0 == 0 { // it can only leave for the last level with all others
		level0, upper = 0, level0+upper
	}
	worn0 := p.wear.level0.pay(level0, state.prices.Level0)
	wornUpper := p.wear.upper.pay(upper, state.prices.Upper)
	if !worn0 && !wornUpper {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if worn0 {
		p.wear.level0.worn.Store(true)
	}
	if wornUpper {
		p.wear.bought = p.version.Newest()
		p.wear.upper.worn.Store(true)
	}
	db.background.compactable[p] = true
	db.background.signalLocked()
}

// pay reports whether the price is reached by that, and nobody knows of it yet.
func (a *account) pay(questions, price int64) bool {
	return questions > 0 && price > 0 && a.paid.Add(questions) >= price && !a.worn.Load()
}

// reset is called when what was paid for is done.
func (a *account) reset() {
	a.paid.Store(0)
	a.worn.Store(false)
}
