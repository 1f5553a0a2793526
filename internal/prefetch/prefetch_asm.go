//go:build (amd64 || arm64) && gc && !purego

package prefetch

import "unsafe"

// Lines prefetches the cache lines of the n bytes at p, without waiting. It reads nothing, so it is
// harmless if the memory at p is shorter. It does nothing on CPUs other than amd64 and arm64, and with
// the build tag purego.
//
//go:noescape
func Lines(p unsafe.Pointer, n int)
