package sstable

import "encoding/binary"

// A value block is nothing but values, back to back:
//
//	+---------+---------+-----+---------+
//	| value 1 | value 2 | ... | value n |
//	+---------+---------+-----+---------+
//
// The values of a cell block stand apart from it, in value blocks before it,
// unless they are so few that another block is not worth it. So a read that
// needs no values, or those of one row, decompresses no others; and cell blocks
// are small enough that most of them stay in the cache.
//
//	+-------------------------+---------------------------+------------+
//	| large blocks, if any    | small blocks, if any      | cell block |
//	+-------------------------+---------------------------+------------+
//
// Small values are cut into small blocks between rows, or between cells where a
// row does not fit. The cell block lists the small blocks, in order:
//
//	+-----------+-------+
//	| handle 12 | end 4 |   end: where its values end, among all small values
//	+-----------+-------+
//
// A value of largeFrom bytes or more is large: it goes to a large block, so that
// reads of other columns do not pass over it. A large block takes values until
// it has the file's block size; a value above aloneFrom has a block of its own.
// A large value is found by its reference:
//
//	+---------+---------+----------+
//	| block 4 | start 4 | length 4 |  place among the large blocks, bytes in it
//	+---------+---------+----------+

// Constants that are part of the format.
const (
	smallEntrySize = handleSize + 4
	referenceSize  = 12
)

// Choices of the Writer, not part of the format.
const (
	// largeFrom is the shortest large value: what it takes beside its bytes is
	// little more than a hundredth.
	minLargeValue = 1 << 10
	// aloneFrom is the longest value that shares a block.
	maxSharedValue = 64 << 10
	// fewValues is the most bytes of small values that stay in a cell block.
	maxInlineValues = 2 << 10
)

// A reference is where a large value is.
type reference struct {
	block, start, length uint32
}

func (v reference) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, v.block)
	dst = binary.LittleEndian.AppendUint32(dst, v.start)
	return binary.LittleEndian.AppendUint32(dst, v.length)
}

// parseReference reads a reference from the first referenceSize bytes of p.
func parseReference(p []byte) reference {
	return reference{binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint32(p[8:])}
}

// in returns the value out of the raw bytes of its block.
func (v reference) slice(raw []byte) ([]byte, bool) {
	from, to := uint64(v.start), uint64(v.start)+uint64(v.length)
	if to > uint64(len(raw)) {
		return nil, false
	}
	return raw[from:to:to], true
}

// valueBlock is an open value block.
type valueBlock []byte

// Memory is what the block counts for in a cache.
func (v valueBlock) Memory() int { return cap(v) + 24 }
