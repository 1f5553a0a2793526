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
	"sync"

	"colonnade/sstable"

	"github.com/maypok86/otter/v2"
)

// overhead is what an entry takes beside its block: node, hash table and
// queues.
const entryOverhead = 160

// Cache is a sstable.Cache with a budget. It is safe for concurrent use, starts
// no goroutines and needs no closing: what is over the budget goes before the
// call that put it there returns, unless other calls are at work on the cache.
type Cache struct {
	blocks *otter.Cache[sstable.Key, sstable.Block]
	door   doorkeeper

	mu       sync.Mutex
	budget   int64            // for blocks and what is reserved
	reserved map[uint64]int64 // bytes, by file
	total    int64            // of reserved
}

// New returns a cache for up to budget bytes.
func New(budget int64) *Cache {
	c := &Cache{budget: budget, reserved: make(map[uint64]int64), door: newDoorkeeper(budget)}
	c.blocks = otter.Must(&otter.Options[sstable.Key, sstable.Block]{
		MaximumWeight: uint64(max(budget, 1)),
		Weigher:       weigh,
		Executor:      func(work func()) { work() },
		OnDeletion: func(e otter.DeletionEvent[sstable.Key, sstable.Block]) {
			if e.WasEvicted() {
				c.door.full.Store(true)
			}
		},
	})
	return c
}

// Reserve takes bytes from the budget for what a reader of the file keeps itself, until
// Release. At most half of the budget can be reserved: the other half is for blocks,
// and Reserve reports false for what would be beyond.
func (c *Cache) Reserve(file uint64, bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total+int64(bytes) > c.budget/2 {
		return false
	}
	c.reserved[file] += int64(bytes)
	c.resizeLocked(int64(bytes))
	return true
}

// Release gives back what was reserved for a file, which nobody reads any more.
func (c *Cache) Release(file uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes := c.reserved[file]; bytes > 0 {
		delete(c.reserved, file)
		c.resizeLocked(-bytes)
	}
}

// resizeLocked leaves to the blocks what is not reserved.
func (c *Cache) resizeLocked(bytes int64) {
	c.total += bytes
	c.blocks.SetMaximum(uint64(c.budget - c.total))
}

func weigh(_ sstable.Key, b sstable.Block) uint32 {
	return uint32(min(uint64(b.Memory())+entryOverhead, math.MaxUint32))
}

// Get returns the block put under the key, or nil. While there is room, what is read is
// not taken note of: nothing has to go, and the notes would take a third of the time.
func (c *Cache) Get(key sstable.Key) sstable.Block {
	if !c.door.full.Load() {
		e, _ := c.blocks.GetEntryQuietly(key)
		return e.Value
	}
	b, _ := c.blocks.GetIfPresent(key)
	return b
}

// Admits reports whether to put the block under the key, which is not there: any as long as
// there is room, and then those that were asked for not long ago.
func (c *Cache) Admits(key sstable.Key) bool {
	return c.door.admits(key, c.full)
}

// full reports whether the cache has next to no room. It may say so early: a sixteenth is left
// to the doorkeeper's late look. Where blocks are larger than that, or come without a question,
// the first that has to go says so.
func (c *Cache) full() bool {
	size := c.blocks.WeightedSize()
	return size >= c.blocks.GetMaximum()/16*15
}

// Put keeps the block, unless others are worth more.
func (c *Cache) Put(key sstable.Key, b sstable.Block) {
	c.blocks.Set(key, b)
}

// Count is the number of blocks in the cache.
func (c *Cache) Count() int {
	return c.blocks.EstimatedSize()
}

// Bytes is the memory that the blocks in the cache take, with what is reserved.
func (c *Cache) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.blocks.WeightedSize()) + c.total
}
