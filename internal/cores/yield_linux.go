package cores

import "syscall"

// yieldThread is sched_yield(2). The runtime is not told, since to hand the thread's goroutines
// to another, as it may for calls that take long, costs more than the call. To it the thread is
// one that the kernel has interrupted: goroutines that stand in line there may be taken by
// other threads, if there are any, and what stops the world waits for it.
func yieldThread() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
