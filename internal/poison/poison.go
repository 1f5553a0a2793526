// Package poison overwrites released memory, so that a test notices a use after release. Pooled memory
// often still looks right to a user who kept a part of it.
//
// It works under the race detector only. Overwriting is also a write for the detector: it reports a
// goroutine that reads the bytes at the same time, even if it ignores them. Other builds do nothing, at
// no cost.
package poison

// Byte fills released memory. It is invalid as UTF-8, and too large as a length or an offset.
const Byte = 0xdb
