package engine

import "sync/atomic"

// wear is what reads have paid for level 0 of a partition since the last
// compaction of it. Its files overlap, so a read asks each of them for its rows; a
// compaction would spare that.
//
// Neither is known beforehand, what reads there will be nor what their sum is. So
// they pay like somebody who rents: once the rent has come to a part of the price,
// the compaction is bought. What compactions for the sake of reads write is thereby
// bounded by the number of reads, and a table that is only written has none of them.
type wear struct {
	_    [64]byte     // readers share the fields before, and change this
	paid atomic.Int64 // in questions to a filter
	worn atomic.Bool  // paid has reached the price, and nothing was done about it yet
	_    [48]byte
}

const (
	// sourceCost is what a file of level 0 that has to be read costs, in questions
	// to a filter, which take 0.1 µs.
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

// price is how much reads have to pay before level 0 of v is compacted: what is
// to be merged counts, with the level that it falls on.
func price(v *version) int64 {
	files := v.topInputs()
	if len(files) == 0 {
		return 0
	}
	entries := uint64(0)
	for _, f := range files {
		entries += f.cells
	}
	return max(int64(entries/entriesPaid), leastPrice)
}

// pay counts what a read of a state has paid. For a state of before it could be
// spared nothing.
func (db *DB) pay(p *partition, state *readState, questions int64) {
	if p.state.Load() != state || p.wear.paid.Add(questions) < state.price || p.wear.worn.Load() {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	p.wear.worn.Store(true)
	db.background.compactable[p] = true
	db.background.signalLocked()
}

// reset is called when a compaction of level 0 is over.
func (w *wear) reset() {
	w.paid.Store(0)
	w.worn.Store(false)
}
