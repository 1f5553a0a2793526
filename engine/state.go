package engine

import (
	"slices"
	"sync/atomic"

	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/memtable"
)

// readState is a consistent set of what a partition holds: the memtables,
// newest first, and the files. It is immutable. Readers count themselves, so
// that files stay until the last of them is done.
type readState struct {
	tables     []*memtable.Table
	version    *manifest.Version
	thresholds compaction.Thresholds // of read-triggered compactions
	obsolete   *obsoleteFiles

	replaced atomic.Bool // it is no longer that of its partition
	released atomic.Bool // its files were given up
	readers  [stripes]stripedCount
}

// acquire returns the partition's present state with a reference on it, for unref with
// the same stripe. It returns nil if the partition was dropped.
func (p *partition) acquire(stripe uint32) *readState {
	for {
		s := p.state.Load()
		if s == nil {
			return nil
		}
		s.readers[stripe].Add(1)
		// Whoever replaces it looks at the readers after that. So a reader that still
		// finds it here is one that was counted in time.
		if p.state.Load() == s {
			return s
		}
		s.unref(stripe)
	}
}

// unref gives a reference back.
func (s *readState) unref(stripe uint32) {
	s.readers[stripe].Add(-1)
	if s.replaced.Load() {
		s.release()
	}
}

// retire is called once the partition has another state, or none.
func (s *readState) retire() {
	s.replaced.Store(true)
	s.release()
}

// release gives the files of a replaced state up, unless one reads them still or they
// were given up before. The stripes need not be looked at in one moment: a reader that
// came in time keeps its own above zero until it leaves, and those that are counted later
// leave at once.
func (s *readState) release() {
	for i := range s.readers {
		if s.readers[i].Load() != 0 {
			return // the last one comes here again
		}
	}
	if !s.released.CompareAndSwap(false, true) {
		return
	}
	for f := range s.version.Files() {
		tableOf(f).unref(s.obsolete)
	}
}

// publishLocked replaces the state that readers find.
func (db *DB) publishLocked(p *partition) {
	opt := db.compactionOptions()
	db.setLevel0PressureLocked(p, compaction.Level0Pressure(p.version, opt))
	s := &readState{version: p.version, thresholds: compaction.ReadThresholds(p.version, opt), obsolete: &db.obsolete}
	if p.runMerges.Bottommost.Pending(p.version) {
		s.thresholds.Upper = 0 // all upper levels are being merged already
	}
	for _, m := range slices.Backward(append(p.frozen[:len(p.frozen):len(p.frozen)], p.active)) {
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
