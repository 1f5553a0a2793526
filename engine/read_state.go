package engine

import (
	"slices"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/memtable"
)

// readState is a consistent view of a partition: its memtables, newest first, and its files. It is
// immutable. Readers count themselves, so that files stay until the last reader is done.
type readState struct {
	tables     []*memtable.Table
	ranges     []*rangedel.Growing // range tombstones of the memtables
	ranged     atomic.Bool         // there are range tombstones, or a batch with some is being inserted
	version    *manifest.Version
	thresholds compaction.Thresholds // of read-triggered compactions
	obsolete   *obsoleteFiles

	replaced atomic.Bool // its partition has another state, or none
	released atomic.Bool // the references to its files were given up
	readers  [shards]counterShard
}

// acquire returns the partition's current state with a reference, for unref with the same shard. It
// returns nil if the partition was dropped.
func (p *partition) acquire(shard uint32) *readState {
	for {
		s := p.state.Load()
		if s == nil {
			return nil
		}
		s.readers[shard].Add(1)
		// retire counts the readers after the state is replaced. So if the state is still here, it
		// will see this one.
		if p.state.Load() == s {
			return s
		}
		s.unref(shard)
	}
}

// unref gives up a reference.
func (s *readState) unref(shard uint32) {
	s.readers[shard].Add(-1)
	if s.replaced.Load() {
		s.release()
	}
}

// retire is called once the partition has another state, or none.
func (s *readState) retire() {
	s.replaced.Store(true)
	s.release()
}

// release gives up the references of a replaced state to its files, unless it still has readers or did
// so before. It need not see all shards at one moment: a reader that came in time keeps its shard
// above zero until it leaves, and one that is counted later leaves at once.
func (s *readState) release() {
	for i := range s.readers {
		if s.readers[i].Load() != 0 {
			return // the last reader calls release again
		}
	}
	if !s.released.CompareAndSwap(false, true) {
		return
	}
	for f := range s.version.Files() {
		tableOf(f).unref(s.obsolete)
	}
}

// publishLocked replaces the state that reads use.
func (db *DB) publishLocked(p *partition) {
	opt := db.compactionOptions()
	db.setLevel0PressureLocked(p, compaction.Level0Pressure(p.version, opt))
	s := &readState{version: p.version, thresholds: compaction.ReadThresholds(p.version, opt), obsolete: &db.obsolete}
	s.ranged.Store(p.version.RangeTombstones != nil)
	if p.runMerges.Bottommost.Pending(p.version) {
		s.thresholds.Upper = 0 // all upper levels are being merged already
	}
	for _, m := range slices.Backward(append(p.frozen[:len(p.frozen):len(p.frozen)], p.active)) {
		s.ranges = append(s.ranges, &m.ranges)
		if m.ranged {
			s.ranged.Store(true)
		}
		for _, t := range slices.Backward(m.tables) {
			s.tables = append(s.tables, t)
		}
	}
	for f := range p.version.Files() {
		tableOf(f).refs.Add(1)
	}
	if old := p.state.Swap(s); old != nil {
		old.retire()
	}
}
