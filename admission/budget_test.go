package admission

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestBudget: goroutines together never hold more than there is, and all comes back.
func TestBudget(t *testing.T) {
	const size = 10
	b := NewBudget(size)
	var held, taken atomic.Int64
	var all sync.WaitGroup
	for n := range int64(4) {
		all.Go(func() {
			for range 10_000 {
				if !b.Take(n + 1) {
					continue
				}
				taken.Add(1)
				if h := held.Add(n + 1); h > size {
					t.Errorf("%d are held of %d", h, size)
				}
				held.Add(-n - 1)
				b.Give(n + 1)
			}
		})
	}
	all.Wait()
	if b.Free() != size || b.Size() != size || taken.Load() == 0 {
		t.Errorf("got %d of %d free after %d times", b.Free(), b.Size(), taken.Load())
	}
	if b.Take(size+1) || !b.Take(size) || b.Take(1) {
		t.Error("it is not all or nothing")
	}
	b.Resize(size - 3)
	if b.Free() != -3 || b.Take(1) {
		t.Errorf("got %d free after a Resize below what is taken", b.Free())
	}
}
