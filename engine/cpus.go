package engine

import (
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/internal/cores"
)

// Compactions run on Options.Workers CPUs, one by default, beside reads and writes. When the store is
// idle, or writers are slowed down, they use more: several run at once, and a large one is divided.

// idleAfter is the time without reads and writes after which the store counts as idle, in
// microseconds. It is much longer than the sync between two batches of one writer.
const idleAfter = 100_000

// readMark is set by reads, and cleared by idleLocked.
type readMark struct {
	_  [64]byte // a cache line of its own: reads write it, and read the fields before
	on atomic.Bool
	_  [63]byte
}

func (m *readMark) set() {
	if !m.on.Load() {
		m.on.Store(true)
	}
}

// cpusFor returns on how many CPUs compactions may run, including one of p. More are allowed if the
// store is idle, or if the writers of p are slowed down and wait for the compaction.
func (db *DB) cpusFor(p *partition, idle bool) int {
	if idle || p.slowed() {
		return db.maxCompactionCPUs()
	}
	return db.opt.Workers
}

// maxCompactionCPUs returns on how many CPUs compactions run at most.
func (db *DB) maxCompactionCPUs() int {
	return max(db.opt.Workers, min(cores.Count(), compaction.MaxSubcompactions))
}

// cpusScarce reports whether a flush, on one CPU, and compactions leave none to reads and writes.
func (db *DB) cpusScarce() bool { return cores.Count() <= 1+db.opt.Workers }

// slowed reports whether writers of p are slowed down, until it is compacted. The caller holds DB.mu.
func (p *partition) slowed() bool { return p.level0Pressure >= slowdownFiles }

// setLevel0PressureLocked sets the level-0 pressure of a partition. That of a dropped one is 0.
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

// idleLocked reports whether no read or write has begun for idleAfter.
func (db *DB) idleLocked() bool {
	now := db.opt.Clock.Now()
	if db.reads.on.Swap(false) {
		db.lastRead = now
	}
	return now-max(db.lastTime, db.lastRead) > idleAfter
}
