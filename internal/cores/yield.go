package cores

import "runtime"

// Yield offers the caller's CPU to other goroutines and, on Linux, to threads of any process. Go's
// scheduler and the kernel decide which runs. It returns at once if none is waiting.
func Yield() {
	runtime.Gosched()
	yieldThread()
}
