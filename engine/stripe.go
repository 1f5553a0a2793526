package engine

import (
	"sync"
	"sync/atomic"
)

// stripes is how many parts there are of what every read writes to: counts of
// references, lists of snapshots. Each part has a line of the processor's cache of its
// own. With one part for all, two cores that looked for absent rows took longer than one,
// since each read waited for the lines that the other core had just written.
const stripes = 16

// stripe returns which part to use. On one processor it is mostly the same: a sync.Pool
// gives back what was put into it there. Pooled scans keep theirs.
func stripe() uint32 {
	home := homes.Get().(*uint32)
	n := *home
	homes.Put(home)
	return n
}

var (
	homes = sync.Pool{New: func() any {
		home := lastHome.Add(1) % stripes
		return &home
	}}
	lastHome atomic.Uint32
)

// stripedCount is one part of a count. What is before it may be another part, or what
// all processors read.
type stripedCount struct {
	_ [56]byte
	atomic.Int64
}
