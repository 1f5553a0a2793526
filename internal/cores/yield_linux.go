package cores

import "syscall"

// YieldThread is Yield for threads alone. Before a goroutine yields, the runtime wakes a thread to look
// for work if one of its processors is idle; where there is none, two threads pass the goroutine
// that keeps yielding to and fro, for longer than the others took that it waits for.
//
// It is sched_yield(2). The runtime is not told, since to hand the thread's goroutines
// to another, as it may for calls that take long, costs more than the call. To it the thread is
// one that the kernel has interrupted: goroutines that stand in line there may be taken by
// other threads, if there are any, and what stops the world waits for it.
func YieldThread() { yieldThread() }

func yieldThread() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
