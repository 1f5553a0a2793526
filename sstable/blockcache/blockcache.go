// Package blockcache keeps open blocks of sorted files in memory, within a byte
// budget shared by all files of a store.
//
// How often and how recently a block was read decides whether it stays (W-TinyLFU),
// so a scan does not evict the blocks of point reads. Blocks are immutable and
// garbage collected: an evicted block lives on for its readers.
package blockcache

import (
	"math"
	"sync"

	"github.com/colonnade-db/colonnade/sstable"

	"github.com/maypok86/otter/v2"
)

// entryOverhead is about what an entry takes besides its block: node, hash table and
// queues.
const entryOverhead = 160

// Cache is a sstable.Cache with a byte budget. It is safe for concurrent use, starts no
// goroutines and needs no closing. Put evicts what exceeds the budget before it returns,
// unless other calls are working on the cache.
type Cache struct {
	blocks *otter.Cache[sstable.Key, sstable.Block]
	door   doorkeeper

	mu       sync.Mutex
	budget   int64            // for blocks and reservations
	reserved map[uint64]int64 // bytes by file number
	total    int64            // sum of reserved
}

// New returns a cache for at most budget bytes.
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

// Reserve takes bytes from the budget for what a reader of the file holds itself, until
// Release. At most half of the budget can be reserved, since blocks need the rest;
// beyond that Reserve reports false.
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

// Release returns what was reserved for a file that is no longer read.
func (c *Cache) Release(file uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes := c.reserved[file]; bytes > 0 {
		delete(c.reserved, file)
		c.resizeLocked(-bytes)
	}
}

// resizeLocked reserves bytes more, or returns them if negative.
func (c *Cache) resizeLocked(bytes int64) {
	c.total += bytes
	c.blocks.SetMaximum(uint64(c.budget - c.total))
}

func weigh(_ sstable.Key, b sstable.Block) uint32 {
	return uint32(min(uint64(b.Memory())+entryOverhead, math.MaxUint32))
}

// Get returns the block put under the key, or nil. While there is room it does not record
// the access, which saves a third of its time: nothing will be evicted.
func (c *Cache) Get(key sstable.Key) sstable.Block {
	if !c.door.full.Load() {
		e, _ := c.blocks.GetEntryQuietly(key)
		return e.Value
	}
	b, _ := c.blocks.GetIfPresent(key)
	return b
}

// Admits reports whether to put the block under the key, which is not in the cache: any
// block while there is room, and after that those asked for recently.
func (c *Cache) Admits(key sstable.Key) bool {
	return c.door.admits(key, c.full)
}

// full reports whether the cache has almost no room. It may do so early: a sixteenth is left
// because the doorkeeper checks late. If blocks are larger than that, or are put without
// Admits, the first eviction reports it.
func (c *Cache) full() bool {
	size := c.blocks.WeightedSize()
	return size >= c.blocks.GetMaximum()/16*15
}

// Put keeps the block unless others are worth more.
func (c *Cache) Put(key sstable.Key, b sstable.Block) {
	c.blocks.Set(key, b)
}

// Count returns the number of blocks.
func (c *Cache) Count() int {
	return c.blocks.EstimatedSize()
}

// Bytes returns the memory of the blocks and the reservations.
func (c *Cache) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(c.blocks.WeightedSize()) + c.total
}
