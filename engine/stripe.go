package engine

import (
	"sync"
	"sync/atomic"
)

// stripes is how many parts there are of what every read writes to: the count of a read
// state's readers, the list of open snapshots. So processors mostly write to lines of their
// own. While they did not, two that looked for absent rows took longer than one, since each
// waited for the lines that the other had just written. Each read state pays for all of them.
const stripes = 8

// ownStripe returns the stripe for what begins now. On one processor it is mostly the same:
// a sync.Pool gives back what was put into it there.
func ownStripe() uint32 {
	s := stripePool.Get().(*uint32)
	defer stripePool.Put(s)
	return *s
}

var (
	stripePool = sync.Pool{New: func() any {
		s := lastStripe.Add(1) % stripes
		return &s
	}}
	lastStripe atomic.Uint32
)

// stripedCount is one stripe of a count. The line before it may be that of another, or of
// what all processors read.
type stripedCount struct {
	_ [56]byte
	atomic.Int64
}
