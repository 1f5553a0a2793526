package sstable

import "encoding/binary"

// A value block holds values, back to back, and nothing else:
//
//	+---------+---------+-----+---------+
//	| value 1 | value 2 | ... | value n |
//	+---------+---------+-----+---------+
//
// The values of a cell block are in value blocks before it, unless they are few
// enough to be inline. So a read without values decompresses none, a read of one row
// few, and cell blocks are small enough for most to stay in the cache.
//
//	+-------------------------+---------------------------+------------+
//	| large blocks, if any    | small blocks, if any      | cell block |
//	+-------------------------+---------------------------+------------+
//
// Small values are split into small blocks between rows, or between cells if a row
// does not fit. The cell block lists its small blocks, in order:
//
//	+-----------+-------+
//	| handle 12 | end 4 |   end: where its values end, among all small values
//	+-----------+-------+
//
// Values of LargeValue bytes or more are large. They go to large blocks, which
// reads of other columns skip. A large block takes values until it has the block
// size of the file; a value above maxSharedValue has a block of its own. A
// reference locates a large value:
//
//	+---------+---------+----------+
//	| block 4 | start 4 | length 4 |  index of the large block, bytes in it
//	+---------+---------+----------+

// Constants that are part of the format.
const (
	smallEntrySize = handleSize + 4
	referenceSize  = 12
)

// Choices of the Writer, not part of the format.
const (
	// LargeValue is the length of the shortest large value, whose reference
	// takes little more than 1 %. 512 bytes and 4 KiB scan equally fast.
	LargeValue = 1 << 10
	// maxSharedValue is the length of the longest value that shares a block.
	maxSharedValue = 64 << 10
	// maxInlineValues is the most bytes of small values in a cell block: without
	// inline values scans take 10 % longer, and above 2 KiB there is no gain.
	maxInlineValues = 2 << 10
)

// A reference locates a large value.
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

// slice returns the value from the raw bytes of its block.
func (v reference) slice(raw []byte) ([]byte, bool) {
	from, to := uint64(v.start), uint64(v.start)+uint64(v.length)
	if to > uint64(len(raw)) {
		return nil, false
	}
	return raw[from:to:to], true
}

// valueBlock is an open value block.
type valueBlock []byte

// Memory returns the bytes that count in a cache.
func (v valueBlock) Memory() int { return cap(v) + 24 }
