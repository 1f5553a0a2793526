package engine

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// Snapshot is one point in the order of batches, in a set of partitions. It holds the memtables and
// files of that moment. So later flushes, compactions and drops need not know of it, and the files
// that they replace are removed when the last snapshot with them is closed.
//
// It is safe for concurrent use, except Close.
type Snapshot struct {
	db    *DB
	seq   uint64
	pins  []pin
	first [1]pin // where pins begins, so that most snapshots allocate nothing for it

	opened int64  // when
	shard  uint32 // of the readers of states and of the open snapshots

	// Its neighbours in its list, whose lock guards them.
	older, newer *Snapshot
}

type pin struct {
	p     *partition
	state *readState
}

// NewSnapshot returns a snapshot of partitions. It sees every batch whose Commit has returned. The
// caller closes it. The error is ErrNoPartition if a partition does not exist, and ErrSnapshots if
// Options.Snapshots are open, or nearly as many while others are opened and closed.
func (db *DB) NewSnapshot(ids ...PartitionID) (*Snapshot, error) {
	s := new(Snapshot)
	if err := s.take(db, ids...); err != nil {
		return nil, err
	}
	return s, nil
}

// TakeEntered is NewSnapshot for an update of a row that depends on what the row has. It sees every entry
// that is in the memtables, durable or not. The caller reads rows only that no batch is about to change,
// see Batch.Inserted, and tells nobody what it has read before that is durable: either its own batch is,
// which comes later, or AwaitEntered has returned nil.
func (db *DB) TakeEntered(ids ...PartitionID) (*Snapshot, error) {
	s, err := db.NewSnapshot(ids...)
	if err == nil {
		s.seq = math.MaxUint64
	}
	return s, err
}

// take opens a zero Snapshot. On an error it leaves it closed.
func (s *Snapshot) take(db *DB, ids ...PartitionID) error {
	partitions, err := db.readablePartitions()
	if err != nil {
		return err
	}
	s.db, s.opened, s.shard, s.pins = db, db.opt.Clock.Now(), currentShard(), s.first[:0]
	for _, id := range ids {
		p := partitions[id]
		if p == nil {
			return ErrNoPartition
		}
		s.pins = append(s.pins, pin{p: p})
	}
	if !db.snapshots.add(s, db.opt.Snapshots) {
		return ErrSnapshots
	}
	for {
		ok := s.acquire()
		// A batch that is visible now is in a memtable that its partition had before. If the states
		// are still current, they have that memtable, so nothing is missing. Nothing is too old
		// either: what a flush or compaction has dropped from the acquired files was hidden by what
		// was visible when it began.
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

// readablePartitions returns the partitions, without a lock unless they have changed. One that was just
// dropped may be among them.
func (db *DB) readablePartitions() (map[PartitionID]*partition, error) {
	if found := db.readPartitions.Load(); found != nil {
		return *found, nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, ErrClosed
	}
	found := maps.Clone(db.partitions)
	db.readPartitions.Store(&found)
	return found, nil
}

// acquire takes a reference on the current state of every partition. It returns false if one was
// dropped.
func (s *Snapshot) acquire() bool {
	for i := range s.pins {
		pin := &s.pins[i]
		if pin.state = pin.p.acquire(s.shard); pin.state == nil {
			return false
		}
	}
	return true
}

// current reports whether the acquired states are still those of the partitions.
func (s *Snapshot) current() bool {
	for i := range s.pins {
		if s.pins[i].p.state.Load() != s.pins[i].state {
			return false
		}
	}
	return true
}

// Opened returns when the snapshot was opened, in microseconds since the Unix epoch.
func (s *Snapshot) Opened() int64 { return s.opened }

// Seq returns the sequence number of the last batch that the snapshot sees.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Shards is the number of shards of the counters that every read writes to.
const Shards = shards

// Shard returns a number below Shards, mostly the same on a CPU, for counters of reads of the snapshot.
func (s *Snapshot) Shard() int { return int(s.shard) }

// Close releases what the snapshot holds. Its scans must be closed before.
func (s *Snapshot) Close() {
	s.release()
	s.db.snapshots.remove(s)
}

func (s *Snapshot) release() {
	for i := range s.pins {
		if state := s.pins[i].state; state != nil {
			state.unref(s.shard)
			s.pins[i].state = nil
		}
	}
}

// pin returns the pin of a partition.
func (s *Snapshot) pin(id PartitionID) (pin, error) {
	for _, pin := range s.pins {
		if pin.p.id == id {
			return pin, nil
		}
	}
	return pin{}, fmt.Errorf("partition %d is not in the snapshot", id)
}

// snapshots are the open snapshots, in lists that share no lock. Options.Snapshots places are divided
// among the lists. A full list takes another place, first of those that no list has, then from
// another list. It keeps the place until another list needs it, so lists seldom have to ask.
type snapshots struct {
	places atomic.Int64 // those that lists have, or are about to have
	lists  [shards]snapshotList
}

// snapshotList is a list of open snapshots, in the order in which they were opened, except for those
// opened at the same time.
type snapshotList struct {
	mu             sync.Mutex
	oldest, newest *Snapshot
	open, places   int      // open <= places
	_              [88]byte // so that no two lists share a cache line, wherever the first begins
}

// add adds a snapshot, unless limit are open. Taking a place and using it is one step of the list, so
// no place is lost in between.
func (l *snapshots) add(s *Snapshot, limit int) bool {
	list := &l.lists[s.shard]
	return list.add(s, 0) || l.takePlace(limit) && list.add(s, 1)
}

// takePlace takes a place that no list has, or else a free one of a list. It asks one list after the
// other, so a place that becomes free meanwhile may be missed.
func (l *snapshots) takePlace(limit int) bool {
	if l.places.Add(1) <= int64(limit) {
		return true
	}
	l.places.Add(-1)
	for i := range l.lists {
		if l.lists[i].giveUpPlace() {
			return true
		}
	}
	return false
}

// giveUpPlace gives up a free place, and reports whether there was one.
func (l *snapshotList) giveUpPlace() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == l.places {
		return false
	}
	l.places--
	return true
}

// add grows the list by places and adds a snapshot if there is a free place.
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

// remove removes a snapshot, unless it is removed already.
func (l *snapshots) remove(s *Snapshot) {
	list := &l.lists[s.shard]
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

// stats counts the open snapshots, and finds the oldest.
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
