package sstable

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Every block is stored in an envelope. The offset and length of a block are
// those of its stored bytes; the trailer follows directly:
//
//	+---------------------+---------------+--------------+------------+
//	| stored bytes        | compression 1 | raw length 4 | checksum 4 |
//	+---------------------+---------------+--------------+------------+
//
// The checksum is a CRC-32C over
//
//	+-------------+----------------+----------+--------------+---------------+--------------+
//	| store id 16 | file number 8  | offset 8 | stored bytes | compression 1 | raw length 4 |
//	+-------------+----------------+----------+--------------+---------------+--------------+
//
// so that a block which is whole but lies in the wrong place, in the wrong file
// or in the file of another store does not pass. The raw length is known, and
// checked against the limit of its kind of block, before anything is
// decompressed.
//
// A block is named by a handle wherever another structure refers to it:
//
//	+----------+----------+
//	| offset 8 | length 4 |
//	+----------+----------+

// Sizes that are part of the format.
const (
	trailerSize = 9
	handleSize  = 12
	encodedBit  = 1 << 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A handle says where the stored bytes of a block lie.
type handle struct {
	offset uint64
	length uint32
}

func (h handle) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, h.offset)
	return binary.LittleEndian.AppendUint32(dst, h.length)
}

// parseHandle reads a handle from the first handleSize bytes of p.
func parseHandle(p []byte) handle {
	return handle{binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint32(p[8:])}
}

// end is the offset after the trailer of the block.
func (h handle) end() uint64 {
	return h.offset + uint64(h.length) + trailerSize
}

// within reports whether the block ends at limit or before it.
func (h handle) within(limit uint64) bool {
	return h.offset <= math.MaxInt64 && h.end() <= limit
}

// ID names a file for ever: its store and its number there, which is never
// used again. It is part of every checksum.
type ID struct {
	Store  [16]byte
	Number uint64
}

// checksums computes the checksums of one file's blocks.
type checksums struct {
	seed uint32 // the checksum of store id and file number
}

func newChecksums(id ID) checksums {
	p := binary.LittleEndian.AppendUint64(id.Store[:], id.Number)
	return checksums{crc32.Checksum(p, castagnoli)}
}

// of returns the checksum of a block at offset; p holds the stored bytes and
// the trailer up to the checksum.
//
// The eight bytes of the offset are taken one by one, because an array of them
// would be allocated for crc32.Update.
func (s checksums) of(offset uint64, p []byte) uint32 {
	sum := ^s.seed
	for range 8 {
		sum = castagnoli[byte(sum)^byte(offset)] ^ sum>>8
		offset >>= 8
	}
	return crc32.Update(^sum, castagnoli, p)
}

// appendTrailer completes a block that begins at offset: its stored bytes are those of dst from
// the given place on.
func (s checksums) appendTrailer(dst []byte, from int, offset uint64, t trailer) []byte {
	c := byte(t.compression)
	if t.encoded {
		c |= encodedBit
	}
	dst = append(dst, c)
	dst = binary.LittleEndian.AppendUint32(dst, t.rawLength)
	return binary.LittleEndian.AppendUint32(dst, s.of(offset, dst[from:]))
}

// A trailer is what follows the stored bytes of a block.
type trailer struct {
	compression Compression
	encoded     bool
	rawLength   uint32
}

// split checks the checksum of a block read at offset with its trailer, and
// takes the two apart.
func (s checksums) split(block []byte, offset uint64) (stored []byte, t trailer, ok bool) {
	n := len(block) - trailerSize
	if s.of(offset, block[:n+5]) != binary.LittleEndian.Uint32(block[n+5:]) {
		return nil, t, false
	}
	c := block[n]
	return block[:n], trailer{Compression(c &^ encodedBit), c&encodedBit != 0, binary.LittleEndian.Uint32(block[n+1:])}, true
}
