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
// In an array of width 0 all are zero. The type says where in the bytes of its
// block, guard included, an array lies.
type packed struct {
	offset uint32
	width  uint32
	mask   uint64
}

// at returns element i, which must be inside the array.
func (p *packed) at(block []byte, i int) uint64 {
	at := int(p.offset) + i*int(p.width)
	return binary.LittleEndian.Uint64(block[at:at+8:at+8]) & p.mask // cut so, it costs one bounds check
}

// int returns element i of an array that has been validated to hold lengths.
func (p *packed) int(block []byte, i int) int {
	return int(p.at(block, i))
}

// span returns elements i up to end as they are stored.
func (p *packed) span(block []byte, i, end int) []byte {
	return block[int(p.offset)+i*int(p.width) : int(p.offset)+end*int(p.width)]
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
