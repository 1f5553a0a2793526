package engine

import (
	"sync/atomic"

	"colonnade/engine/compaction"
	"colonnade/internal/cores"
)

// Compactions are carried out on one processor (Options.Workers), beside whoever reads and
// writes. When these leave more unused, compactions take them: several run side by side, and a
// large one is divided.

// unusedAfter is for how long nobody has to come until the processors count as unused, in
// microseconds: much longer than the sync between two batches of one writer.
const unusedAfter = 100_000

// readMark is set by reads and taken away by who wants to know whether there were any.
type readMark struct {
	_  [64]byte // readers share the fields before, and change this
	on atomic.Bool
	_  [63]byte
}

func (m *readMark) set() {
	if !m.on.Load() {
		m.on.Store(true)
	}
}

// processorsFor returns on how many processors compactions may run, one of p among them: on more
// than usual if its writers are slowed down, who wait for it, or if the store is unused.
func (db *DB) processorsFor(p *partition, unused bool) int {
	if unused || p.slowed() {
		return db.mostProcessors()
	}
	return db.opt.Workers
}

// slowed reports whether writers of p are slowed down, until it is compacted. It needs DB.mu.
func (p *partition) slowed() bool { return p.level0Pressure >= slowdownFiles }

// setLevel0PressureLocked sets how crowded level 0 of a partition is.
func (db *DB) setLevel0PressureLocked(p *partition, pressure int) {
	if p.slowed() {
		db.slowedPartitions.Add(-1)
	}
	if p.level0Pressure = pressure; p.dropped {
		p.level0Pressure = 0
	}
	if p.slowed() {
		db.slowedPartitions.Add(1)
	}
}

// crowded reports whether a flush, at one processor, and compactions leave none to whoever reads
// and writes.
func (db *DB) crowded() bool { return cores.Count() <= 1+db.opt.Workers }

// mostProcessors returns on how many compactions run at most.
func (db *DB) mostProcessors() int {
	return max(db.opt.Workers, min(cores.Count(), compaction.MaxSubcompactions))
}

// unusedLocked reports whether nobody has begun to read or to write for a while.
func (db *DB) unusedLocked() bool {
	now := db.opt.Clock.Now()
	if db.reads.on.Swap(false) {
		db.lastRead = now
	}
	return now-max(db.lastTime, db.lastRead) > unusedAfter
}
