package lsmstore

import (
	"sync"

	"github.com/cespare/xxhash/v2"

	"colonnade/widecol"
)

// rowLocks keeps operations that read a row before they write it apart from all
// other writes of that row. Rows share locks by hash: 64, so that a set of them
// is a word. A plain write holds the locks of its rows for reading; writes do
// not get in each other's way.
type rowLocks [64]sync.RWMutex

// lock returns the lock of a row.
func (l *rowLocks) lock(row []byte) *sync.RWMutex { return &l[stripe(row)] }

func stripe(row []byte) uint64 { return xxhash.Sum64(row) % 64 }

// rlockAll takes the locks of all rows that the mutations write, in one order
// for everybody, and returns the set of them.
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
