package sstable

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/colonnade-db/colonnade/internal/prefetch"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/cespare/xxhash/v2"
)

// The filter tells whether a row key may be in the file. It is a blocked Bloom
// filter, stored without compression:
//
//	+-----------+----------+--------+---------+------------------+
//	| version 1 | probes 1 | zero 2 | lines 4 | lines x 64 bytes |
//	+-----------+----------+--------+---------+------------------+
//
// Version 1: a row key is hashed once, with 64-bit xxHash. The hash selects a
// line of 512 bits, and in it probes bits, at most seven. All of them are set if
// the key is in the file. Bit i of a line is bit i%64 of the line's word i/64. A
// line is a cache line of the CPU, so a lookup costs one cache miss, at the price
// of a few more false positives in a thousand.
//
//	line    = high 64 bits of hash * lines
//	bit i   = bits 9i to 9i+8 of hash * filterMix, 64-bit arithmetic
//
// A reader that does not know the version uses no filter.

// Constants that are part of the format.
const (
	filterVersion    = 1
	filterHeaderSize = 8
	lineBits         = 512
	lineSize         = lineBits / 8
	maxProbes        = 7
	filterMix        = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: odd, well mixed
)

// maxFilter limits the stored size. In a file with more rows each gets fewer
// bits, so there are more false positives.
const maxFilter = 64 << 20

var (
	errFilterHeader = errors.New("filter: header does not fit its length")
	errFilterProbes = errors.New("filter: impossible number of probes")
)

// A Filter is an open filter. It is immutable.
type Filter struct {
	bits   *bloom.BloomFilter // nil if the version is unknown
	probes int
	lines  uint64
}

// Memory returns the bytes that count in a cache.
func (f *Filter) Memory() int {
	return int(f.lines)*lineSize + 96
}

// newFilter returns an empty filter for a number of rows.
func newFilter(rows, bitsPerRow int) *Filter {
	lines := (uint64(rows)*uint64(bitsPerRow) + lineBits - 1) / lineBits
	lines = min(max(lines, 1), (maxFilter-filterHeaderSize)/lineSize)
	probes := min(max(bitsPerRow*3/5, 1), maxProbes)
	return &Filter{bloom.New(uint(lines)*lineBits, uint(probes)), probes, lines}
}

// line returns the line of a key with this hash.
func (f *Filter) line(hash uint64) uint64 {
	line, _ := bits.Mul64(hash, f.lines)
	return line
}

// locations returns the bits of a key with this hash.
func (f *Filter) locations(hash uint64) (l [maxProbes]uint64) {
	line := f.line(hash)
	mix := hash * filterMix
	for i := range l {
		l[i] = line*lineBits + mix>>(9*i)&(lineBits-1)
	}
	return l
}

func (f *Filter) add(hash uint64) {
	l := f.locations(hash)
	set := f.bits.BitSet()
	for _, bit := range l[:f.probes] {
		set.Set(uint(bit))
	}
}

// HashRow returns the hash of a row key, for the methods of Filter.
func HashRow(row []byte) uint64 { return xxhash.Sum64(row) }

// Ask prefetches the line that MayContain will read, and does not wait. A caller
// with several filters asks all of them first, then waits once.
func (f *Filter) Ask(hash uint64) {
	if f.bits == nil {
		return
	}
	prefetch.Lines(unsafe.Pointer(&f.bits.BitSet().Words()[f.line(hash)*(lineSize/8)]), lineSize)
}

// MayContain reports whether the file may have cells of the row with this hash.
// False is certain.
func (f *Filter) MayContain(hash uint64) bool {
	if f.bits == nil {
		return true
	}
	l := f.locations(hash)
	return f.bits.TestLocations(l[:f.probes])
}

// append appends the stored filter.
func (f *Filter) append(dst []byte) []byte {
	dst = append(dst, filterVersion, byte(f.probes), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f.lines))
	for _, word := range f.bits.BitSet().Words() {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// parse opens a stored filter. It does not keep raw.
func (f *Filter) parse(raw []byte) error {
	if len(raw) < filterHeaderSize {
		return errFilterHeader
	}
	if raw[0] != filterVersion {
		*f = Filter{}
		return nil
	}
	lines := uint64(binary.LittleEndian.Uint32(raw[4:]))
	if lines == 0 || filterHeaderSize+lines*lineSize != uint64(len(raw)) || raw[2] != 0 || raw[3] != 0 {
		return errFilterHeader
	}
	if raw[1] == 0 || raw[1] > maxProbes {
		return errFilterProbes
	}
	words := make([]uint64, lines*lineSize/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(raw[filterHeaderSize+8*i:])
	}
	*f = Filter{bloom.FromWithM(words, uint(lines)*lineBits, uint(raw[1])), int(raw[1]), lines}
	return nil
}
