// Package cores counts the CPUs that work is divided among, and offers them to others.
package cores

import "runtime"

// Count returns on how many CPUs Go code runs at once, at least 1.
func Count() int { return runtime.GOMAXPROCS(0) }
