package sstable

import (
	"encoding/binary"
	"math/bits"
)

// guard is how many bytes behind its end the buffer of a block must have. An
// element of a packed array is read as eight bytes, of which some may lie
// behind the last element; decompressors use the rest to copy in large steps.
const guard = 16

// A packed array holds unsigned numbers in 0 to 8 bytes each, the same for all.
// In an array of width 0 all are zero.
type packed struct {
	b     []byte // the array and all that follows it, with the guard
	width int
	mask  uint64
}

// at returns element i, which must be inside the array.
func (p *packed) at(i int) uint64 {
	return binary.LittleEndian.Uint64(p.b[i*p.width:]) & p.mask
}

// int returns element i of an array that has been validated to hold lengths.
func (p *packed) int(i int) int {
	return int(p.at(i))
}

func widthMask(width int) uint64 {
	return 1<<(8*width) - 1 // at width 8 the shift leaves 0
}

// widthOf is the smallest width that holds max.
func widthOf(max uint64) int {
	return (bits.Len64(max) + 7) / 8
}

// appendPacked appends one element of an array.
func appendPacked(dst []byte, width int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, v)[:len(dst)+width]
}
