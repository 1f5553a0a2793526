package lsmstore

import (
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/widecol"
)

// rowLocks keep the other writes of a row apart from one that reads the row first. Rows share 64 locks by hash,
// so a set of locks is one word. A write holds the locks of its rows until its batch is in the memtables, not
// until it is durable: the next one then sees it by engine.DB.TakeEntered. A plain write shares the locks,
// one that reads has those of the rows that it reads alone.
type rowLocks [64]sync.RWMutex

// lockSet is the locks of a write.
type lockSet struct{ shared, alone uint64 }

func lockOf(row []byte) uint64 { return 1 << (xxhash.Sum64(row) % 64) }

// share adds the rows of mutations, and returns how many these are. One that comes back after another counts again.
func (s *lockSet) share(mutations []widecol.Mutation) (rows int) {
	var last []byte
	for i := range mutations {
		if row := mutations[i].Row; i == 0 || string(row) != string(last) {
			s.shared |= lockOf(row)
			last = row
			rows++
		}
	}
	return rows
}

// takeAlone adds a row that is read first.
func (s *lockSet) takeAlone(row []byte) { s.alone |= lockOf(row) }

// lock takes the locks of a set, in ascending order. Where it has to wait for a lock that it takes alone, it does
// so within await, see engine.DB.AwaitRows: those who share the lock may be waiting for the disk.
func (l *rowLocks) lock(s lockSet, await func(wait func())) {
	for i := range l {
		switch bit := uint64(1) << i; {
		case s.alone&bit != 0:
			if !l[i].TryLock() {
				await(l[i].Lock)
			}
		case s.shared&bit != 0:
			l[i].RLock()
		}
	}
}

func (l *rowLocks) unlock(s lockSet) {
	for i := range l {
		switch bit := uint64(1) << i; {
		case s.alone&bit != 0:
			l[i].Unlock()
		case s.shared&bit != 0:
			l[i].RUnlock()
		}
	}
}
