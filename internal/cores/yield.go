package cores

import "runtime"

// Yield offers the caller's processor to what waits for it: other goroutines, and on Linux
// threads of any process. Who is next is for Go's scheduler and the kernel to decide. It
// returns when it is the caller's turn again, which is at once if nothing waits.
func Yield() {
	runtime.Gosched()
	yieldThread()
}
