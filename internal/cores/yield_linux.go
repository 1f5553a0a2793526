package cores

import "syscall"

// YieldThread is Yield for threads alone. When a goroutine yields and a CPU is idle, the runtime wakes a
// thread to look for work. Without other work, two threads pass the yielding goroutine to and fro, which
// takes longer than the wait.
//
// It is sched_yield(2). The runtime does not know of the call, because handing over the thread's
// goroutines, as it may do in long system calls, costs more than the call. To the runtime the kernel
// has preempted the thread: other threads may steal its runnable goroutines, and a stop of the world
// waits for it.
func YieldThread() { yieldThread() }

func yieldThread() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
