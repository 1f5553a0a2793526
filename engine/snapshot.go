package engine

import (
	"sync"
	"sync/atomic"
)

// snapshots is the list of the live ones, oldest first.
type snapshots struct {
	mu   sync.Mutex
	head Snapshot // of a ring: head.next is the oldest
}

// Snapshot is one point in the order of batches, in all partitions. What it
// sees is not removed until it is closed. It is safe for concurrent use, save
// Close.
type Snapshot struct {
	db         *DB
	seq        uint64
	prev, next *Snapshot
}

// NewSnapshot returns a snapshot that sees every batch whose Commit has
// returned. The caller closes it.
func (db *DB) NewSnapshot() *Snapshot {
	s := &Snapshot{db: db}
	db.snapshots.add(s, &db.visible)
	return s
}

// Seq returns the sequence number of the last batch that the snapshot sees.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Close lets go of what only this snapshot sees.
func (s *Snapshot) Close() { s.db.snapshots.remove(s) }

func (l *snapshots) init() { l.head.prev, l.head.next = &l.head, &l.head }

// add takes the visible sequence number under the lock: so no compaction can
// find a higher oldest one between the two steps.
func (l *snapshots) add(s *Snapshot, visible *atomic.Uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.seq = visible.Load()
	s.prev, s.next = l.head.prev, &l.head
	s.prev.next, l.head.prev = s, s
}

func (l *snapshots) remove(s *Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
}

// oldest returns a sequence number that every snapshot sees, now and later.
func (l *snapshots) oldest(visible *atomic.Uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.next == &l.head {
		return visible.Load()
	}
	return l.head.next.seq
}
