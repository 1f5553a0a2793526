// Package cores counts the CPUs that work is divided among, and offers them to others.
package cores

import (
	"runtime"
	"sync/atomic"
)

var spares atomic.Int32 // 0 or 1

// Count returns on how many CPUs Go code runs at once, at least 1. It does not count the spare one.
func Count() int { return max(1, runtime.GOMAXPROCS(0)-int(spares.Load())) }

// AddSpare raises GOMAXPROCS by one, once. It is for the start of a program in which one thread is
// mostly in a system call that blocks, such as a sync: the runtime takes back that thread's CPU
// only after 20 µs to 10 ms. It does nothing on one CPU or under a CPU quota. After it, the runtime
// ignores CPUs added or removed.
//
// Without it, 64 HTTP clients write and read at 0.89 to 0.98 of the rate (docs/performance.md#machinery).
func AddSpare() {
	if n := runtime.GOMAXPROCS(0); spareHelps(n, runtime.NumCPU()) && spares.CompareAndSwap(0, 1) {
		runtime.GOMAXPROCS(n + 1)
	}
}

// spareHelps reports whether a spare CPU helps where Go uses n of a machine's CPUs. On one CPU the
// threads only compete. Fewer than the machine has means a quota, which more threads use up sooner.
func spareHelps(n, machine int) bool { return n > 1 && n >= machine }
