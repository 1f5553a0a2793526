// Package cores counts the processors that work is divided among, and offers them to others.
package cores

import (
	"runtime"
	"sync/atomic"
)

var spares atomic.Int32 // 0 or 1

// Count returns on how many processors Go code runs at once, at least 1. The spare one
// is not among them.
func Count() int { return max(1, runtime.GOMAXPROCS(0)-int(spares.Load())) }

// AddSpare has Go code run on one processor more than before, once, for where one is
// mostly kept by a system call that blocks. It is for the start of a program, and does
// nothing where it would do harm. With a spare one the runtime no longer follows changes
// of what the process may use.
func AddSpare() {
	if n := runtime.GOMAXPROCS(0); worthwhile(n, runtime.NumCPU()) && spares.CompareAndSwap(0, 1) {
		runtime.GOMAXPROCS(n + 1)
	}
}

// worthwhile reports whether a spare processor beside n is, on a machine of so many. With
// one, the threads would only compete. And if the runtime uses less than all, there is a
// quota: that is a sum over all threads, and more of them only use it up sooner. (The
// runtime uses two at least, and all where the quota is more than all but one.)
func worthwhile(n, machine int) bool { return n > 1 && n >= machine }
