package lsmstore

import (
	"sync"

	"github.com/cespare/xxhash/v2"

	"colonnade/widecol"
)

// rowLocks separate operations that read a row before they write it from all other writes of the row. Rows
// share 64 locks by hash, so a set of locks is one word. Plain writes hold the locks of their rows shared
// and do not block one another.
type rowLocks [64]sync.RWMutex

// lock returns the lock of a row.
func (l *rowLocks) lock(row []byte) *sync.RWMutex { return &l[stripe(row)] }

func stripe(row []byte) uint64 { return xxhash.Sum64(row) % 64 }

// rlockAll locks all rows of the mutations, in ascending order, and returns the set of locks.
func (l *rowLocks) rlockAll(mutations []widecol.Mutation) (set uint64) {
	var last []byte
	for i := range mutations {
		if row := mutations[i].Row; i == 0 || string(row) != string(last) {
			set |= 1 << stripe(row)
			last = row
		}
	}
	for i := range l {
		if set&(1<<i) != 0 {
			l[i].RLock()
		}
	}
	return set
}

func (l *rowLocks) runlockAll(set uint64) {
	for i := range l {
		if set&(1<<i) != 0 {
			l[i].RUnlock()
		}
	}
}
