package engine

import (
	"sync/atomic"

	"colonnade/engine/manifest"
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

const (
	// sourceCost is what a file that has to be read costs, in questions to a filter,
	// which take 0.1 µs.
	sourceCost = 4
	// rowsPaid is how many rows a scan steps over for one question more. A file more
	// costs a quarter of a question in each; but a long scan spends most of its time
	// on opening blocks, and a compaction spares it none of that.
	rowsPaid = 32
	// entriesPaid is how many entries a compaction merges for each question paid. A
	// question takes about a quarter of the time of an entry; but somebody waits for
	// the one, and nobody for the other, and what was read will be read again.
	entriesPaid = 4
	// leastPrice keeps small tables from being compacted again and again.
	leastPrice = 10_000
)

// visit is what a scan has met in level 0, or in the upper levels.
type visit struct {
	asked, opened int // sources: files of level 0, runs of other levels
}

// questions is what a scan over so many rows pays for it.
func (v visit) questions(rows uint64) int64 {
	return int64(v.asked) + int64(v.opened)*(sourceCost+int64(rows)/rowsPaid)
}

// prices are what reads have to pay before a compaction, 0 where there is nothing to spare
// them.
type prices struct {
	level0, upper int64
}

// pricesOf returns the prices for a version. What is to be merged counts.
func pricesOf(v *manifest.Version, o pickOptions) prices {
	p := newPicker(v, nil, o)
	var level0, upper []*manifest.File
	for _, group := range p.groups() {
		switch c := p.leave(group); {
		case c.kind == nothing:
		case c.spares():
			level0 = append(level0, c.files()...)
		default:
			upper = append(upper, group...)
		}
	}
	for level := p.top; level < manifest.LastLevel; level++ {
		upper = append(upper, v.Levels[level]...)
	}
	if len(upper) > 0 {
		first, last := manifest.Bounds(upper)
		upper = append(upper, v.Overlapping(manifest.LastLevel, first, last)...)
	}
	return prices{priceOf(level0), priceOf(upper)}
}

func priceOf(files []*manifest.File) int64 {
	if len(files) == 0 {
		return 0
	}
	entries := uint64(0)
	for _, f := range files {
		entries += f.Entries
	}
	return max(int64(entries/entriesPaid), leastPrice)
}

// pay counts what a read of a state has paid. For a state of before it could be
// spared nothing.
func (db *DB) pay(p *partition, state *readState, level0, upper int64) {
	if p.state.Load() != state {
		return
	}
	if state.prices.level0 == 0 { // it can only leave for the last level with all others
		level0, upper = 0, level0+upper
	}
	worn0 := p.wear.level0.pay(level0, state.prices.level0)
	wornUpper := p.wear.upper.pay(upper, state.prices.upper)
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
