package engine

import (
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/vfs"
)

// tableCache keeps sorted files open, up to a limit. A file is opened by a read and stays open as long
// as there is room. A scan over thousands of files reads one at a time, and a file that was closed is
// opened again by its next read.
//
// A read of an open file takes no lock. The clock algorithm chooses the file to close: a hand goes
// round the open files, skips those that were read since it last passed, and takes the first other.
type tableCache struct {
	limit int

	mu      sync.Mutex
	idle    *sync.Cond // a file may have become idle, or a slot free
	waiting atomic.Int32
	slots   int // files that are open or being opened
	opened  uint64
	open    []*tableHandle
	hand    int
}

// tableHandle is a sorted file in the table cache, open or closed.
type tableHandle struct {
	file vfs.File // while it is open
	// state is 0 when the file is closed, else one more than the number of reads under way. It
	// changes from and to 0 under tableCache.mu.
	state  atomic.Int32
	recent atomic.Bool // read since the hand passed
	index  int         // in tableCache.open
}

func newTableCache(limit int) *tableCache {
	c := &tableCache{limit: limit}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// acquire starts a read if the file is open. The caller ends it with tableCache.release.
func (h *tableHandle) acquire() (vfs.File, bool) {
	for n := h.state.Load(); n > 0; n = h.state.Load() {
		if h.state.CompareAndSwap(n, n+1) {
			if !h.recent.Load() {
				h.recent.Store(true)
			}
			return h.file, true
		}
	}
	return nil, false
}

// release ends a read.
func (c *tableCache) release(h *tableHandle) {
	if h.state.Add(-1) == 1 && c.waiting.Load() > 0 {
		c.mu.Lock()
		c.idle.Broadcast()
		c.mu.Unlock()
	}
}

// openFile opens a closed file and starts a read, until release. It waits while limit files are being
// read. When the process is out of file descriptors, it closes idle files as long as that can help.
// The caller prevents concurrent calls for the same handle.
func (c *tableCache) openFile(h *tableHandle, open func() (vfs.File, error)) (vfs.File, error) {
	c.reserveSlot()
	f, err := open()
	for outOfDescriptors(err) && c.closeIdle() {
		f, err = open()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.slots--
		c.idle.Broadcast()
		return nil, err
	}
	c.opened++
	h.file, h.index = f, len(c.open)
	c.open = append(c.open, h)
	h.recent.Store(true)
	h.state.Store(2)
	return f, nil
}

// counts returns how many files are open, and how many times one was opened.
func (c *tableCache) counts() (open int, opened uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.opened
}

// reserveSlot reserves the slot of one open file. It closes an idle file if none is free.
func (c *tableCache) reserveSlot() {
	c.waiting.Add(1) // before the search: a read that ends later wakes this up
	defer c.waiting.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.slots >= c.limit {
		if f := c.evictLocked(); f != nil {
			c.closeFileUnlocked(f) // its slot is taken over
			return
		}
		c.idle.Wait()
	}
	c.slots++
}

// closeIdle closes an idle file, and reports whether there was one.
func (c *tableCache) closeIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.evictLocked()
	if f == nil {
		return false
	}
	c.closeFileUnlocked(f)
	c.slots--
	c.idle.Broadcast()
	return true
}

// closeFileUnlocked closes a file that is not in the list any more, with mu released. The file was
// only read, so an error loses nothing.
func (c *tableCache) closeFileUnlocked(f vfs.File) error {
	c.mu.Unlock()
	defer c.mu.Lock()
	return f.Close()
}

// evictLocked removes an idle file from the list. It returns nil if all are being read.
func (c *tableCache) evictLocked() vfs.File {
	for range 2 * len(c.open) { // the first round may only clear recent
		c.hand++
		if c.hand >= len(c.open) {
			c.hand = 0
		}
		h := c.open[c.hand]
		if !h.recent.Swap(false) && h.state.CompareAndSwap(1, 0) {
			return c.removeLocked(h)
		}
	}
	return nil
}

// removeLocked removes a handle, whose state is 0 by now, from the list.
func (c *tableCache) removeLocked(h *tableHandle) vfs.File {
	last := c.open[len(c.open)-1]
	c.open[h.index], last.index = last, h.index
	c.open = c.open[:len(c.open)-1]
	f := h.file
	h.file = nil
	return f
}

// close closes a file if it is open. No read of it is under way or follows.
func (c *tableCache) close(h *tableHandle) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !h.state.CompareAndSwap(1, 0) {
		return nil
	}
	err := c.closeFileUnlocked(c.removeLocked(h))
	c.slots--
	c.idle.Broadcast()
	return err
}

// count returns how many files are open.
func (c *tableCache) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}
