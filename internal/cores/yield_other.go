//go:build !linux

package cores

import "runtime"

func yieldThread() {}

// YieldThread yields to goroutines: there is no call for threads.
func YieldThread() { runtime.Gosched() }
