package sstable

import (
	"encoding/binary"
	"errors"
)

// Values of separateFrom bytes and more are kept out of the cell block, in
// value blocks, so that a read that does not return them does not read them
// either. A value block is nothing but values, back to back:
//
//	+---------+---------+-----+---------+
//	| value 1 | value 2 | ... | value n |
//	+---------+---------+-----+---------+
//
// A block takes values until it has the file's block size; a value above
// loneFrom gets a block of its own, and is a whole block. The value blocks of a
// cell block stand before it in the file, and the cell block lists their
// handles. In place of the value, the cell block has a reference:
//
//	+---------+---------+----------+
//	| block 4 | start 4 | length 4 |  place in the list, bytes in the raw block
//	+---------+---------+----------+

const (
	// separateFrom is the shortest value that is kept apart: a reference costs
	// it about one percent. It is the Writer's choice, not part of the format.
	separateFrom = 1 << 10
	// loneFrom is the longest value that shares a block.
	loneFrom = 64 << 10

	referenceSize = 12 // part of the format
)

var errReference = errors.New("cell block: reference to a value outside its value block")

// A reference is what stands in the place of a value that is kept apart.
type reference struct {
	block, start, length uint32
}

func (v reference) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, v.block)
	dst = binary.LittleEndian.AppendUint32(dst, v.start)
	return binary.LittleEndian.AppendUint32(dst, v.length)
}

// parseReference reads a reference and checks it against the number of value
// blocks of its cell block.
func parseReference(p []byte, blocks int) (v reference, ok bool) {
	if len(p) != referenceSize {
		return v, false
	}
	v = reference{binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint32(p[8:])}
	return v, int64(v.block) < int64(blocks)
}

// in returns the value out of the raw bytes of its block.
func (v reference) in(raw []byte) ([]byte, bool) {
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
