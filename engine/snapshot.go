package engine

import "fmt"

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

	// Guarded by DB.mu: the snapshot among the open ones.
	opened       int64 // when
	older, newer *Snapshot
}

type pin struct {
	p     *partition
	state *readState
}

// NewSnapshot returns a snapshot of partitions that sees every batch whose
// Commit has returned. The caller closes it. ErrNoPartition if one of them is
// not there, ErrSnapshots if Options.Snapshots are open.
func (db *DB) NewSnapshot(ids ...PartitionID) (*Snapshot, error) {
	s := &Snapshot{db: db, pinned: make([]pin, 0, len(ids))}
	now := db.opt.Clock.Now()
	if err := db.findPartitions(s, ids, now); err != nil {
		return nil, err
	}
	for {
		ok := s.acquire()
		// A batch that is visible now was put into a memtable that its partition
		// had before. If that is among the ones acquired, nothing is missing; and
		// nothing is too old: what a flush or compaction left out of the files
		// acquired was hidden by what was visible when it began.
		s.seq = db.visible.Load()
		if ok && s.current() {
			return s, nil
		}
		s.release()
		if !ok {
			s.Close()
			return nil, ErrNoPartition
		}
	}
}

// findPartitions enters a snapshot among the open ones and finds what it is to hold.
func (db *DB) findPartitions(s *Snapshot, ids []PartitionID, now int64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return ErrClosed
	}
	if db.snapshots.open >= db.opt.Snapshots {
		return ErrSnapshots
	}
	for _, id := range ids {
		p := db.partitions[id]
		if p == nil {
			return ErrNoPartition
		}
		s.pinned = append(s.pinned, pin{p: p})
	}
	s.opened = now
	db.snapshots.addLocked(s)
	return nil
}

// acquire takes a reference on the present state of every partition. It returns
// false if one was dropped.
func (s *Snapshot) acquire() bool {
	for i := range s.pinned {
		pin := &s.pinned[i]
		if pin.state = pin.p.acquire(); pin.state == nil {
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
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.db.snapshots.removeLocked(s)
}

func (s *Snapshot) release() {
	for i := range s.pinned {
		if state := s.pinned[i].state; state != nil {
			state.unref()
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

// snapshots is the open ones, in the order in which they were opened. Guarded by
// DB.mu.
type snapshots struct {
	open           int
	oldest, newest *Snapshot
}

func (l *snapshots) addLocked(s *Snapshot) {
	l.open++
	if s.older = l.newest; s.older == nil {
		l.oldest = s
	} else {
		s.older.newer = s
	}
	l.newest = s
}

// removeLocked takes a snapshot out, unless it is out already.
func (l *snapshots) removeLocked(s *Snapshot) {
	if s.older == nil && l.oldest != s {
		return
	}
	l.open--
	if s.older == nil {
		l.oldest = s.newer
	} else {
		s.older.newer = s.newer
	}
	if s.newer == nil {
		l.newest = s.older
	} else {
		s.newer.older = s.older
	}
	s.older, s.newer = nil, nil
}
