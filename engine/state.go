package engine

import (
	"slices"
	"sync/atomic"

	"colonnade/memtable"
)

// readState is a consistent set of what a partition holds: the memtables,
// newest first, and the files. It is immutable. Readers count themselves, so
// that files stay until the last of them is done.
type readState struct {
	tables  []*memtable.Table
	version *version
	price   int64 // of a compaction of level 0, to those who read it
	trash   *trash
	refs    atomic.Int32
}

// acquire returns the partition's present state with a reference on it.
func (p *partition) acquire() *readState {
	for {
		s := p.state.Load()
		if s == nil {
			return nil // dropped
		}
		for n := s.refs.Load(); n > 0; n = s.refs.Load() {
			if s.refs.CompareAndSwap(n, n+1) {
				return s
			}
		}
	}
}

// unref gives a reference back.
func (s *readState) unref() {
	if s.refs.Add(-1) > 0 {
		return
	}
	for f := range s.version.files() {
		f.table.unref(s.trash)
	}
}

// publishLocked replaces the state that readers find.
func (db *DB) publishLocked(p *partition) {
	s := &readState{version: p.version, price: price(p.version), trash: &db.trash}
	s.refs.Store(1)
	for _, m := range slices.Backward(append(p.frozen[:len(p.frozen):len(p.frozen)], p.active)) {
		for _, t := range slices.Backward(m.tables) {
			s.tables = append(s.tables, t)
		}
	}
	for f := range p.version.files() {
		f.table.refs.Add(1)
	}
	if old := p.state.Swap(s); old != nil {
		old.unref()
	}
}
