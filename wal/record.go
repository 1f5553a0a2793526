package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes of a record, part of the format, which the package comment draws.
const (
	headSize  = 33 // before the payload
	footSize  = 4  // behind it
	frameSize = headSize + footSize
)

// Places of the fields in the head of a record, part of the format.
const (
	atSum    = 0
	atLength = 4
	atType   = 8
	atNumber = 9
	atSeq    = 17
	atSynced = 25
)

// recordType says what a record is. The numbers are part of the format. Zero
// is none, so that zeros are no record.
type recordType uint8

const (
	typeHeader recordType = 1
	typeBatch  recordType = 2
	typeSeal   recordType = 3
	typeFinal  recordType = 4
)

// sectorSize is the unit of disk writes, and the period of the scrambler.
const sectorSize = 512

// Overhead returns the bytes of a record beyond its payload of n bytes.
func Overhead(n int) int64 { return frameSize }

// head is the part of a record before its payload.
type head struct {
	sum    uint32
	length uint32
	typ    recordType
	number uint64
	seq    uint64
	synced uint64
}

// append appends the encoding of h to b.
func (h *head) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, h.sum)
	b = binary.LittleEndian.AppendUint32(b, h.length)
	b = append(b, byte(h.typ))
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, h.seq)
	return binary.LittleEndian.AppendUint64(b, h.synced)
}

// decodeHead decodes the first headSize bytes of b. Any bytes have a decoding.
func decodeHead(b []byte) head {
	_ = b[headSize-1]
	return head{
		sum:    binary.LittleEndian.Uint32(b[atSum:]),
		length: binary.LittleEndian.Uint32(b[atLength:]),
		typ:    recordType(b[atType]),
		number: binary.LittleEndian.Uint64(b[atNumber:]),
		seq:    binary.LittleEndian.Uint64(b[atSeq:]),
		synced: binary.LittleEndian.Uint64(b[atSynced:]),
	}
}

// fits reports whether a record with this head can stand at offset off of a segment: it belongs to
// the segment and ends inside the file. The record at offset 0 is the header, and may be that of an
// older segment.
func (h *head) fits(number uint64, off, size int64) bool {
	return (h.number == number || off == 0) && int64(h.length) <= size-off-frameSize
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums is the pair of checksums of a record, or of the first part of it.
type sums struct {
	head uint32 // Castagnoli
	foot uint32 // IEEE
}

// update returns the checksums of what s stands for, followed by b.
func (s sums) update(b []byte) sums {
	return sums{
		head: crc32.Update(s.head, castagnoli, b),
		foot: crc32.Update(s.foot, crc32.IEEETable, b),
	}
}
