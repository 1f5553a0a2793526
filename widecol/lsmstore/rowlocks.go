package lsmstore

import (
	"runtime"
	"sync"

	"github.com/cespare/xxhash/v2"

	"colonnade/widecol"
)

// rowLocks keep the other writes of a row apart from one that reads the row first. Rows share 64 locks by hash,
// so a set of locks is one word. A write holds the locks of its rows until its batch is in the memtables, not
// until it is durable: the next one then sees it by engine.DB.TakeEntered. A plain write shares the locks,
// one that reads has those of the rows that it reads alone.
type rowLocks [64]sync.RWMutex

// lockSet is the locks of a write.
type lockSet struct{ shared, alone uint64 }

func lockOf(row []byte) uint64 { return 1 << (xxhash.Sum64(row) % 64) }

// share adds the rows of mutations.
func (s *lockSet) share(mutations []widecol.Mutation) {
	var last []byte
	for i := range mutations {
		if row := mutations[i].Row; i == 0 || string(row) != string(last) {
			s.shared |= lockOf(row)
			last = row
		}
	}
}

// takeAlone adds a row that is read first.
func (s *lockSet) takeAlone(row []byte) { s.alone |= lockOf(row) }

// lock takes the locks of a set, in ascending order.
func (l *rowLocks) lock(s lockSet, insertEntered func()) {
	for i := range l {
		switch bit := uint64(1) << i; {
		case s.alone&bit != 0:
			l.lockAlone(i, insertEntered)
		case s.shared&bit != 0:
			l[i].RLock()
		}
	}
}

// lockAlone takes a lock alone. Those who share it may wait until the log has been synced, before their batches
// are inserted, so this has the batches inserted at once. A batch that enters meanwhile is inserted by the
// next attempt; after a few this waits for its turn, so that it does not starve.
func (l *rowLocks) lockAlone(i int, insertEntered func()) {
	const attempts = 16
	for range attempts {
		if l[i].TryLock() {
			return
		}
		insertEntered()
		runtime.Gosched()
	}
	l[i].Lock()
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
