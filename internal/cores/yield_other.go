//go:build !linux

package cores

import "runtime"

// YieldThread is Yield: there is no call for threads alone.
func YieldThread() { runtime.Gosched() }
