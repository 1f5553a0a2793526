package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"colonnade/vfs"
)

// handles bounds how many sorted files are open. A file is open while it is read
// and then as long as there is room: a scan over thousands of files holds one at a
// time, and one that is closed opens again at its next read.
//
// A read of an open file takes no lock. What to close is found as by a clock: the
// hand goes round the open files, passes those that were read since it came by,
// and takes the first that was not.
type handles struct {
	limit int

	mu      sync.Mutex
	free    *sync.Cond // a file may have become idle
	waiting atomic.Int32
	slots   int // open files, and those being opened
	open    []*handle
	hand    int
}

// handle is the place of one file among the open ones.
type handle struct {
	file vfs.File // while it is open
	// state is 0 for closed, or one more than the number of reads under way. It
	// goes from and to 0 under handles.mu.
	state  atomic.Int32
	recent atomic.Bool // read since the hand came by
	index  int         // in handles.open
}

func newHandles(limit int) *handles {
	h := &handles{limit: limit}
	h.free = sync.NewCond(&h.mu)
	return h
}

// enter returns the file if it is open, and counts a read, until leave.
func (t *handle) enter() (vfs.File, bool) {
	for n := t.state.Load(); n > 0; n = t.state.Load() {
		if t.state.CompareAndSwap(n, n+1) {
			if !t.recent.Load() {
				t.recent.Store(true)
			}
			return t.file, true
		}
	}
	return nil, false
}

// leave ends a read.
func (h *handles) leave(t *handle) {
	if t.state.Add(-1) == 1 && h.waiting.Load() > 0 {
		h.mu.Lock()
		h.free.Broadcast()
		h.mu.Unlock()
	}
}

// admit opens a file that is closed, and counts a read, until leave. It waits
// while as many files as may be open are being read. The caller sees to it that
// nobody else opens the same one. When the process is out of handles, admit closes
// idle files as long as that can help.
func (h *handles) admit(t *handle, open func() (vfs.File, error)) (vfs.File, error) {
	h.takeSlot()
	f, err := open()
	for outOfHandles(err) && h.closeIdle() {
		f, err = open()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.slots--
		h.free.Broadcast()
		return nil, err
	}
	t.file, t.index = f, len(h.open)
	h.open = append(h.open, t)
	t.recent.Store(true)
	t.state.Store(2)
	return f, nil
}

func outOfHandles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// takeSlot reserves the place of one open file.
func (h *handles) takeSlot() {
	h.waiting.Add(1) // before the search: a read that ends later wakes this up
	defer h.waiting.Add(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.slots >= h.limit {
		if f := h.evictLocked(); f != nil {
			h.closeUnlocked(f) // and its place is free
			return
		}
		h.free.Wait()
	}
	h.slots++
}

// closeIdle closes a file that nobody reads, and reports whether there was one.
func (h *handles) closeIdle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.evictLocked()
	if f == nil {
		return false
	}
	h.closeUnlocked(f)
	h.slots--
	h.free.Broadcast()
	return true
}

// closeUnlocked closes a file that is out of the list already, without the lock. The
// file was only read, so that an error is no loss.
func (h *handles) closeUnlocked(f vfs.File) error {
	h.mu.Unlock()
	defer h.mu.Lock()
	return f.Close()
}

// evictLocked takes a file that nobody reads out of the list, nil if all are being
// read.
func (h *handles) evictLocked() vfs.File {
	for range 2 * len(h.open) { // the first round may only find files read lately
		h.hand++
		if h.hand >= len(h.open) {
			h.hand = 0
		}
		t := h.open[h.hand]
		if !t.recent.Swap(false) && t.state.CompareAndSwap(1, 0) {
			return h.removeLocked(t)
		}
	}
	return nil
}

// removeLocked takes a closed handle out of the list.
func (h *handles) removeLocked(t *handle) vfs.File {
	last := h.open[len(h.open)-1]
	h.open[t.index], last.index = last, t.index
	h.open = h.open[:len(h.open)-1]
	f := t.file
	t.file = nil
	return f
}

// close closes a file if it is open. Nobody reads it any more.
func (h *handles) close(t *handle) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !t.state.CompareAndSwap(1, 0) {
		return nil
	}
	err := h.closeUnlocked(h.removeLocked(t))
	h.slots--
	h.free.Broadcast()
	return err
}

// count returns how many files are open.
func (h *handles) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}
