package server

import "sync"

// budget is a number of bytes that requests share. It never makes anybody wait:
// what does not fit is refused.
type budget struct {
	mu   sync.Mutex
	free int64 // guarded by mu
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
}
