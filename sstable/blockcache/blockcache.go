// Package blockcache keeps open blocks of sorted files in memory, within a
// budget of bytes that all files of a store share.
//
// Which blocks stay is decided by how often and how recently they were read
// (the W-TinyLFU policy of the library beneath), so a scan does not drive out
// what point reads need. Blocks are immutable and collected by the garbage
// collector: a block that leaves the cache lives on for those who still read it.
package blockcache

import (
	"math"

	"colonnade/sstable"

	"github.com/maypok86/otter/v2"
)

// overhead is what an entry takes beside its block: node, hash table and
// queues.
const overhead = 160

// Cache is a sstable.Cache with a budget. It is safe for concurrent use, starts
// no goroutines and needs no closing: what is over the budget goes before the
// call that put it there returns, unless other calls are at work on the cache.
type Cache struct {
	blocks *otter.Cache[sstable.Key, sstable.Block]
}

// New returns a cache for up to budget bytes.
func New(budget int64) *Cache {
	return &Cache{otter.Must(&otter.Options[sstable.Key, sstable.Block]{
		MaximumWeight: uint64(max(budget, 1)),
		Weigher:       weigh,
		Executor:      func(work func()) { work() },
	})}
}

func weigh(_ sstable.Key, b sstable.Block) uint32 {
	return uint32(min(uint64(b.Memory())+overhead, math.MaxUint32))
}

// Get returns the block put under the key, or nil.
func (c *Cache) Get(key sstable.Key) sstable.Block {
	b, _ := c.blocks.GetIfPresent(key)
	return b
}

// Put keeps the block, unless others are worth more.
func (c *Cache) Put(key sstable.Key, b sstable.Block) {
	c.blocks.Set(key, b)
}

// Drop forgets the blocks of a file, which nobody will ask for again once the
// file is deleted. It looks at every key: it is meant for deletions of files,
// not for reads. A reader that still has the file open may put blocks back; they
// leave by age.
func (c *Cache) Drop(file uint64) {
	for key := range c.blocks.Keys() {
		if key.File == file {
			c.blocks.Invalidate(key)
		}
	}
}

// Count is the number of blocks in the cache.
func (c *Cache) Count() int {
	return c.blocks.EstimatedSize()
}

// Bytes is the memory that the blocks in the cache take.
func (c *Cache) Bytes() int64 {
	return int64(c.blocks.WeightedSize())
}
