// Package cores counts the processors that work is divided among.
package cores

import (
	"runtime"
	"sync/atomic"
)

var spares atomic.Int32

// Count returns on how many processors Go code runs at once, at least 1. The spare one
// is not among them.
func Count() int { return max(1, runtime.GOMAXPROCS(0)-int(spares.Load())) }

// AddSpare has Go code run on one processor more than before, for where one is mostly
// kept by a system call that blocks. Then the runtime no longer follows changes of what the
// process may use. It does nothing where there is one processor, for which the threads would only
// compete; and if the process may use less than the processors that it sees: its quota is a
// sum over all threads, and with more of them only used up sooner.
func AddSpare() {
	n := runtime.GOMAXPROCS(0)
	if n == 1 || n < runtime.NumCPU() {
		return
	}
	spares.Add(1)
	runtime.GOMAXPROCS(n + 1)
}
