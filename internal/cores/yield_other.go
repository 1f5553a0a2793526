//go:build !linux

package cores

import "runtime"

func yieldThread() {}

// YieldThread offers the processor to goroutines, as there is no call for threads.
func YieldThread() { runtime.Gosched() }
