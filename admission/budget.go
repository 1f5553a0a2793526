package admission

import "sync"

// Budget is an amount that requests share, such as bytes. It never makes anyone wait: what does
// not fit is refused. It is safe for concurrent use.
type Budget struct {
	mu   sync.Mutex
	size int64 // guarded by mu
	free int64 // guarded by mu; negative after a Resize below what is taken
}

// NewBudget returns a Budget of n.
func NewBudget(n int64) *Budget { return &Budget{size: n, free: n} }

// Take takes n, all or nothing, and reports whether it did.
func (b *Budget) Take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

// Give gives n back.
func (b *Budget) Give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
}

// Resize makes it a Budget of n. What is taken stays taken.
func (b *Budget) Resize(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n - b.size
	b.size = n
}

// Size returns how much it is of.
func (b *Budget) Size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// Free returns what is left, negative after a Resize below what is taken.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}
