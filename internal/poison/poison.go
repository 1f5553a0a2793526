// Package poison makes memory useless that was given back, so that a test sees who still
// uses it. Memory out of a pool looks right for a long time to whoever has kept a part of it:
// until others get it, and mostly they write much the same there.
//
// Under the race detector, released bytes are overwritten. That also is a write as far as
// the detector is concerned: a goroutine that reads them beside it is reported even if it
// makes nothing of them. In other builds nothing happens, at no cost.
package poison

// Byte is what released bytes are overwritten with: as text it is no UTF-8, and as a length
// or an offset it is too large.
const Byte = 0xdb
