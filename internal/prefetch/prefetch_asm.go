//go:build (amd64 || arm64) && gc && !purego

package prefetch

import "unsafe"

// Lines asks for the lines of the processor's cache that hold the n bytes at p, and waits for
// none. It reads nothing: that what p points to ends earlier does no harm. On processors other
// than amd64 and arm64, and with the build tag purego, it does nothing.
//
//go:noescape
func Lines(p unsafe.Pointer, n int)
