package engine

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// Snapshot is one point in the order of batches, in a set of partitions. It
// holds on to the memtables and files that they had then: so a flush, a
// compaction or a drop that comes later need not know of it, and what they
// replace goes when the last snapshot on it is closed.
//
// It is safe for concurrent use, save Close.
type Snapshot struct {
	db     *DB
	seq    uint64
	pinned []pin
	room   [1]pin // for most of what is pinned

	opened int64  // when
	stripe uint32 // where it counts among the readers and the open snapshots

	// The snapshot among the open ones; guarded by the lock of its list.
	older, newer *Snapshot
}

type pin struct {
	p     *partition
	state *readState
}

// NewSnapshot returns a snapshot of partitions that sees every batch whose
// Commit has returned. The caller closes it. ErrNoPartition if one of them is
// not there, ErrSnapshots if Options.Snapshots are open, or nearly as many while others
// come and go.
func (db *DB) NewSnapshot(ids ...PartitionID) (*Snapshot, error) {
	s := new(Snapshot)
	if err := s.take(db, ids...); err != nil {
		return nil, err
	}
	return s, nil
}

// take makes a snapshot of one that is zero, and leaves it closed on an error.
func (s *Snapshot) take(db *DB, ids ...PartitionID) error {
	partitions, err := db.readable()
	if err != nil {
		return err
	}
	s.db, s.opened, s.stripe, s.pinned = db, db.opt.Clock.Now(), ownStripe(), s.room[:0]
	for _, id := range ids {
		p := partitions[id]
		if p == nil {
			return ErrNoPartition
		}
		s.pinned = append(s.pinned, pin{p: p})
	}
	if !db.snapshots.add(s, db.opt.Snapshots) {
		return ErrSnapshots
	}
	for {
		ok := s.acquire()
		// A batch that is visible now was put into a memtable that its partition
		// had before. If that is among the ones acquired, nothing is missing; and
		// nothing is too old: what a flush or compaction left out of the files
		// acquired was hidden by what was visible when it began.
		s.seq = db.visible.Load()
		if ok && s.current() {
			return nil
		}
		s.release()
		if !ok {
			s.Close()
			return ErrNoPartition
		}
	}
}

// readable returns the partitions without a lock, as long as they stay the same. One
// that was dropped just now may be among them.
func (db *DB) readable() (map[PartitionID]*partition, error) {
	if found := db.found.Load(); found != nil {
		return *found, nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, ErrClosed
	}
	found := maps.Clone(db.partitions)
	db.found.Store(&found)
	return found, nil
}

// acquire takes a reference on the present state of every partition. It returns
// false if one was dropped.
func (s *Snapshot) acquire() bool {
	for i := range s.pinned {
		pin := &s.pinned[i]
		if pin.state = pin.p.acquire(s.stripe); pin.state == nil {
			return false
		}
	}
	return true
}

// current reports whether the acquired states are still those of the partitions.
func (s *Snapshot) current() bool {
	for i := range s.pinned {
		if s.pinned[i].p.state.Load() != s.pinned[i].state {
			return false
		}
	}
	return true
}

// Seq returns the sequence number of the last batch that the snapshot sees.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Close lets go of what the snapshot holds. Its scans must be closed before.
func (s *Snapshot) Close() {
	s.release()
	s.db.snapshots.remove(s)
}

func (s *Snapshot) release() {
	for i := range s.pinned {
		if state := s.pinned[i].state; state != nil {
			state.unref(s.stripe)
			s.pinned[i].state = nil
		}
	}
}

// pin returns what the snapshot holds of a partition.
func (s *Snapshot) pin(id PartitionID) (pin, error) {
	for _, pin := range s.pinned {
		if pin.p.id == id {
			return pin, nil
		}
	}
	return pin{}, fmt.Errorf("partition %d is not in the snapshot", id)
}

// snapshots is the open ones, in lists that share no lock. Each list has places for some,
// of the Options.Snapshots that there are in all. One that is full is given another, which
// it keeps until another list has none and nobody else has: so lists soon need not ask.
type snapshots struct {
	given atomic.Int64 // places that lists have, or are about to have
	lists [stripes]snapshotList
}

// snapshotList is in the order in which they were opened, but for those opened at
// the same time.
type snapshotList struct {
	mu             sync.Mutex
	oldest, newest *Snapshot
	open, places   int      // no more are open than there are places
	_              [88]byte // two lines of the processor's cache for each, wherever the first begins
}

// add takes a snapshot in, unless limit are open. A snapshot that brings its place along
// always finds room, so no place is lost on the way.
func (l *snapshots) add(s *Snapshot, limit int) bool {
	list := &l.lists[s.stripe]
	return list.add(s, 0) || l.takePlace(limit) && list.add(s, 1)
}

// takePlace takes a place that no list has, or else a free one from a list. Lists are asked
// one after the other, and may have one again by the time that all have been asked.
func (l *snapshots) takePlace(limit int) bool {
	if l.given.Add(1) <= int64(limit) {
		return true
	}
	l.given.Add(-1)
	for i := range l.lists {
		if l.lists[i].yield() {
			return true
		}
	}
	return false
}

// yield gives up a free place, if there is one.
func (l *snapshotList) yield() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == l.places {
		return false
	}
	l.places--
	return true
}

// add takes a snapshot in, if there is a place for it, with so many that come with it.
func (l *snapshotList) add(s *Snapshot, places int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places += places; l.open == l.places {
		return false
	}
	l.open++
	if s.older = l.newest; s.older == nil {
		l.oldest = s
	} else {
		s.older.newer = s
	}
	l.newest = s
	return true
}

// remove takes a snapshot out, unless it is out already.
func (l *snapshots) remove(s *Snapshot) {
	list := &l.lists[s.stripe]
	list.mu.Lock()
	defer list.mu.Unlock()
	if s.older == nil && list.oldest != s {
		return
	}
	list.open--
	if s.older == nil {
		list.oldest = s.newer
	} else {
		s.older.newer = s.newer
	}
	if s.newer == nil {
		list.newest = s.older
	} else {
		s.newer.older = s.older
	}
	s.older, s.newer = nil, nil
}

// stats describes them.
func (l *snapshots) stats() SnapshotStats {
	var stats SnapshotStats
	found := false
	for i := range l.lists {
		list := &l.lists[i]
		list.mu.Lock()
		stats.Open += list.open
		if s := list.oldest; s != nil && (!found || s.opened < stats.Oldest) {
			stats.Oldest, found = s.opened, true
		}
		list.mu.Unlock()
	}
	return stats
}
