// Package prefetch asks the processor for memory before it is needed. A walk over data that
// is in no cache of the processor waits a tenth of a microsecond at each step, unless its
// memory was asked for while there was other work. That takes an instruction which Go has no
// name for.
package prefetch

import "unsafe"

// Bytes is Lines for all of p.
func Bytes(p []byte) { Lines(unsafe.Pointer(unsafe.SliceData(p)), len(p)) }
