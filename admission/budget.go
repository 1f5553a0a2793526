package admission

import "sync/atomic"

// Budget is an amount that requests share, such as bytes. It never makes anyone wait: what does
// not fit is refused. It is safe for concurrent use.
type Budget struct {
	size atomic.Int64
	free atomic.Int64 // negative after a Resize below what is taken
}

// NewBudget returns a Budget of n.
func NewBudget(n int64) *Budget {
	b := new(Budget)
	b.Resize(n)
	return b
}

// Take takes n, all or nothing, and reports whether it did.
func (b *Budget) Take(n int64) bool {
	for {
		free := b.free.Load()
		if n > free {
			return false
		}
		if b.free.CompareAndSwap(free, free-n) {
			return true
		}
	}
}

// Give gives n back.
func (b *Budget) Give(n int64) { b.free.Add(n) }

// Resize makes it a Budget of n. What is taken stays taken.
func (b *Budget) Resize(n int64) { b.free.Add(n - b.size.Swap(n)) }

// Size returns how much it is of.
func (b *Budget) Size() int64 { return b.size.Load() }

// Free returns what is left, negative after a Resize below what is taken.
func (b *Budget) Free() int64 { return b.free.Load() }
