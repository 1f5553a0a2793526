package blockcache

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"colonnade/sstable"

	"github.com/cespare/xxhash/v2"
)

// doorkeeper lets blocks into a full cache when they are asked for a second time. What is
// read once in a long time would only be brought in, at the price of memory for it, and
// put out again. Remembering as many blocks as fit into the cache, it misses only those
// that would have been put out between the two.
//
// It is a table of marks, each block's at the place that its hash says, where it takes the
// place of another's. (A doorkeeper in front of a cache is of TinyLFU, Einziger, Friedman
// and Manes, 2017, who make it of a Bloom filter.)
type doorkeeper struct {
	marks   []atomic.Uint32
	lookups atomic.Uint32 // how often
	full    atomic.Bool   // what isFull said last, or true since, if a block has had to go
}

const (
	// usual is about what a block takes in the cache.
	typicalBlock = 8 << 10
	// leastMarks is what the smallest cache has.
	minMarks = 1 << 4
	// fullEvery is how many questions pass until the doorkeeper looks again whether the
	// cache is full, which takes the lock of that.
	checkEvery = 1 << 8
)

func newDoorkeeper(budget int64) doorkeeper {
	n := max(uint64(max(budget, 0))/typicalBlock, minMarks)
	return doorkeeper{marks: make([]atomic.Uint32, 1<<(bits.Len64(n)-1))}
}

// admits reports whether a block is let in, and remembers that it was asked for. isFull is
// asked now and then.
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
