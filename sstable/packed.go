package sstable

import (
	"encoding/binary"
	"math/bits"
)

// guard is how many readable bytes the buffer of a block has after its end. An
// element of a packed array is read as eight bytes, some of which may lie after
// the last element. Decompressors use the guard to copy in large steps.
const guard = 16

// A packed array holds unsigned numbers of the same width, 0 to 8 bytes. At
// width 0 all are zero. The type says where the array lies in its block, guard
// included.
type packed struct {
	offset uint32
	width  uint32
	mask   uint64
}

// at returns element i, which must be in the array.
func (p *packed) at(block []byte, i int) uint64 {
	at := int(p.offset) + i*int(p.width)
	return binary.LittleEndian.Uint64(block[at:at+8:at+8]) & p.mask // one bounds check
}

// int returns element i of an array that was validated to hold lengths.
func (p *packed) int(block []byte, i int) int {
	return int(p.at(block, i))
}

// span returns the stored bytes of elements i to end, end excluded.
func (p *packed) span(block []byte, i, end int) []byte {
	return block[int(p.offset)+i*int(p.width) : int(p.offset)+end*int(p.width)]
}

func widthMask(width int) uint64 {
	return 1<<(8*width) - 1 // at width 8 the shift gives 0
}

// widthOf returns the smallest width that holds max.
func widthOf(max uint64) int {
	return (bits.Len64(max) + 7) / 8
}

// appendPacked appends an element to an array.
func appendPacked(dst []byte, width int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, v)[:len(dst)+width]
}
