package sstable

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Every block is followed by a trailer. The offset and length of a block are those
// of its stored bytes:
//
//	+---------------------+---------------+--------------+------------+
//	| stored bytes        | compression 1 | raw length 4 | checksum 4 |
//	+---------------------+---------------+--------------+------------+
//
// 16 is added to the compression if the block is an encoded cell block (encode.go).
// The raw length is that of the decompressed block. It is checked against the limit
// of the kind of block before anything is decompressed. The checksum is a CRC-32C
// over
//
//	+-------------+----------------+----------+--------------+---------------+--------------+
//	| store id 16 | file number 8  | offset 8 | stored bytes | compression 1 | raw length 4 |
//	+-------------+----------------+----------+--------------+---------------+--------------+
//
// so a block in the wrong place, in the wrong file or in the file of another store
// does not pass.
//
// Other structures refer to a block by its handle:
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

// A handle locates the stored bytes of a block.
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

// end returns the offset after the trailer of the block.
func (h handle) end() uint64 {
	return h.offset + uint64(h.length) + trailerSize
}

// within reports whether the block ends at or before limit.
func (h handle) within(limit uint64) bool {
	return h.offset <= math.MaxInt64 && h.end() <= limit
}

// ID names a file: the id of its store and its number there, which is never reused.
// It is part of every checksum.
type ID struct {
	Store  [16]byte
	Number uint64
}

// checksums computes the checksums of one file's blocks.
type checksums struct {
	seed uint32 // checksum of store id and file number
}

func newChecksums(id ID) checksums {
	p := binary.LittleEndian.AppendUint64(id.Store[:], id.Number)
	return checksums{crc32.Checksum(p, castagnoli)}
}

// of returns the checksum of a block at offset; p holds the stored bytes and
// the trailer up to the checksum.
//
// It hashes the eight bytes of the offset one by one: an array of them would
// be allocated for crc32.Update.
func (s checksums) of(offset uint64, p []byte) uint32 {
	sum := ^s.seed
	for range 8 {
		sum = castagnoli[byte(sum)^byte(offset)] ^ sum>>8
		offset >>= 8
	}
	return crc32.Update(^sum, castagnoli, p)
}

// appendTrailer completes the block at offset whose stored bytes are dst[from:].
func (s checksums) appendTrailer(dst []byte, from int, offset uint64, t trailer) []byte {
	c := byte(t.compression)
	if t.encoded {
		c |= encodedBit
	}
	dst = append(dst, c)
	dst = binary.LittleEndian.AppendUint32(dst, t.rawLength)
	return binary.LittleEndian.AppendUint32(dst, s.of(offset, dst[from:]))
}

// A trailer follows the stored bytes of a block.
type trailer struct {
	compression Compression
	encoded     bool
	rawLength   uint32
}

// split checks the checksum of a block that was read at offset, and separates
// stored bytes and trailer.
func (s checksums) split(block []byte, offset uint64) (stored []byte, t trailer, ok bool) {
	n := len(block) - trailerSize
	if s.of(offset, block[:n+5]) != binary.LittleEndian.Uint32(block[n+5:]) {
		return nil, t, false
	}
	c := block[n]
	return block[:n], trailer{Compression(c &^ encodedBit), c&encodedBit != 0, binary.LittleEndian.Uint32(block[n+1:])}, true
}
