package sstable

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A cell block that is compressed is folded first: what its neighbours or its other arrays say is
// left out, and what a compressor does not see, such as that numbers ascend, is put so that it does.
// It is unfolded when it is read, into the form that is drawn in cellblock.go, and only that is
// ever searched. A folded block is, without padding:
//
//	numbers, each as a uvarint (encoding/binary)
//	+-------+------+---------+--------+------------+-------------+
//	| cells | rows | columns | stamps | row prefix | value bytes |
//	+-------+------+-------+-+--------+----+-------+-----+-------+--+
//	| small blocks | large blocks | large cells | time base | seq base |
//	+--------------+--------------+-------------+-----------+----------+
//
//	bytes
//	+------------+-----------+-----------------+----------------+-------------------+-------+
//	| time width | seq width | value end width | row step width | column step width | flags |
//	+------------+-----------+-----------------+----------------+-------------------+-------+
//
//	array            elements       width of an element
//	+----------------+--------------+----------------------------------------------+
//	| row shares     | rows         | row step width: how many bytes of each are   |
//	|                |              | those of the row before                      |
//	| row lengths    | rows         | row step width: how many bytes follow those  |
//	| row cells      | rows         | holds cells - rows: cells of each, less one  |
//	| value lengths  | cells        | value end width                 [not flag 2] |
//	| column shares  | columns      | column step width, likewise                  |
//	| column lengths | columns      | column step width, likewise                  |
//	+----------------+--------------+----------------------------------------------+
//	| row prefix     | bytes that all row keys begin with                          |
//	| row rests      | of each row, what follows the shared bytes, back to back    |
//	| column rests   | of each column, likewise                                    |
//	+----------------+-------------------------------------------------------------+
//	| kinds, column ids             | as they are                                  |
//	| stamp steps    | cells        | holds stamps - 1: stamp id less that of the  |
//	|                |              | cell before               [not stamps=cells] |
//	| large cells, references, small blocks, large blocks | as they are             |
//	| values                        | the small values      [only no small blocks] |
//	| times, seqs                   | as they are                                  |
//	+-------------------------------+----------------------------------------------+
//
// Times and sequence numbers are last since most do not compress: S2 makes larger steps the longer it
// finds nothing, and would miss much of what follows them.
//
// Row shares are counted behind the row prefix; the first row and the first column share nothing.
// What is left out follows from the rest. Stamp steps are modulo their width.
//
// With flag 4, which only a folded block has, small values are numbered: 2 to 16 different ones, of
// one length, none of which stand in small blocks. In place of the values there is
//
//	+---------+----------------------------------+--------------------------+
//	| count 1 | the different ones, back to back | which one, for each cell |
//	+---------+----------------------------------+--------------------------+
//
// where the last takes 1 bit for two values, 2 for up to four and 4 for more, from the lowest of
// each byte on. Front coding of keys is that of LevelDB's blocks; the rest is what column stores
// do (Abadi, Madden, Ferreira: Integrating Compression and Execution in Column-Oriented Database
// Systems, 2006).

// Constants that are part of the format.
const (
	flagValueDict = 1 << 2 // of a folded block
	maxDictValues = 16
)

// numberBits is how many bits tell so many values apart, 1, 2 or 4.
func dictIndexBits(count int) int {
	switch {
	case count <= 2:
		return 1
	case count <= 4:
		return 2
	}
	return 4
}

// fold appends the folded block to dst. The builder must have a cell.
func (b *cellBuilder) appendEncoded(dst []byte) []byte {
	h := b.header()
	b.rankColumns()
	hasDict := b.buildValueDict(&h)
	b.encodeKeys()
	dst = b.appendEncodedHeader(dst, &h, hasDict)
	dst = b.rowKeyCoder.append(dst)
	dst = b.appendRowCounts(dst, &h)
	dst = b.appendValueLengths(dst, &h)
	dst = b.columnCoder.append(dst)
	dst = append(dst, b.row(0)[:b.prefix]...)
	dst = append(dst, b.rowKeyCoder.suffixBytes...)
	dst = append(dst, b.columnCoder.suffixBytes...)
	dst = b.appendKinds(dst)
	dst = b.appendColumnIDs(dst, &h)
	dst = b.appendVersionDeltas(dst, &h)
	dst = b.appendLists(dst, &h)
	switch {
	case len(b.smallBlocks) > 0:
	case hasDict:
		dst = b.appendDictValues(dst)
	default:
		dst = append(dst, b.values...)
	}
	return b.appendVersions(dst, &h)
}

// appendFolded appends the numbers that a folded block begins with.
func (b *cellBuilder) appendEncodedHeader(dst []byte, h *cellHeader, hasDict bool) []byte {
	for _, v := range [...]uint64{h.cells, h.rows, h.columns, h.versions, h.prefix, h.valueBytes,
		h.smallBlocks, h.largeBlocks, h.largeCells, h.timeBase, h.seqBase} {
		dst = binary.AppendUvarint(dst, v)
	}
	flags := h.flags
	if hasDict {
		flags |= flagValueDict
	}
	return append(dst, h.timeWidth, h.seqWidth, h.valueEndWidth, b.rowKeyCoder.width(), b.columnCoder.width(), flags)
}

// keySteps are keys in order, each by what it shares with the one before.
type prefixCoder struct {
	shared, suffixes []int  // how many bytes are those of the key before, and how many follow them
	maxLength        int    // of these numbers
	suffixBytes      []byte // what follows, back to back
	prev             []byte
}

func (s *prefixCoder) reset() {
	s.shared, s.suffixes, s.maxLength, s.suffixBytes, s.prev = s.shared[:0], s.suffixes[:0], 0, s.suffixBytes[:0], nil
}

// add adds a key, and keeps it until the next.
func (s *prefixCoder) add(key []byte) {
	shared := commonPrefix(s.prev, key)
	suffix := len(key) - shared
	s.shared, s.suffixes = append(s.shared, shared), append(s.suffixes, suffix)
	s.maxLength = max(s.maxLength, shared, suffix)
	s.suffixBytes = append(s.suffixBytes, key[shared:]...)
	s.prev = key
}

func (s *prefixCoder) width() byte { return byte(widthOf(uint64(s.maxLength))) }

func (s *prefixCoder) append(dst []byte) []byte {
	width := int(s.width())
	return appendAll(appendAll(dst, width, s.shared), width, s.suffixes)
}

func (b *cellBuilder) encodeKeys() {
	b.rowKeyCoder.reset()
	for r := range b.rowEnds {
		b.rowKeyCoder.add(b.row(r)[b.prefix:])
	}
	b.columnCoder.reset()
	for _, id := range b.columns.sorted {
		b.columnCoder.add(b.columns.name(id))
	}
}

// foldRowCells appends how many cells rows have.
func (b *cellBuilder) appendRowCounts(dst []byte, h *cellHeader) []byte {
	width := widthOf(h.cells - h.rows)
	for r, start := range b.rowStarts {
		end := b.cells()
		if r+1 < len(b.rowStarts) {
			end = b.rowStarts[r+1]
		}
		dst = appendPacked(dst, width, uint64(end-start-1))
	}
	return dst
}

func (b *cellBuilder) appendValueLengths(dst []byte, h *cellHeader) []byte {
	if h.flags&flagValueLength != 0 {
		return dst
	}
	next, last := 0, uint32(0)
	for i, end := range b.valueEnds {
		if next < len(b.rowStarts) && i == b.rowStarts[next] {
			next, last = next+1, 0
		}
		dst = appendPacked(dst, int(h.valueEndWidth), uint64(end-last))
		last = end
	}
	return dst
}

func (b *cellBuilder) appendVersionDeltas(dst []byte, h *cellHeader) []byte {
	if h.versions == h.cells {
		return dst
	}
	width, last := widthOf(h.versions-1), uint32(0)
	for _, id := range b.versionIDs {
		dst = appendPacked(dst, width, uint64(id-last))
		last = id
	}
	return dst
}

// findNumbered notes the small values in numbered and numbers, if there are 2 to 16 different ones,
// of one length, none in small blocks, and they are shorter so.
func (b *cellBuilder) buildValueDict(h *cellHeader) bool {
	n := b.valueLength
	if h.flags&flagValueLength == 0 || n == 0 || len(b.smallBlocks) > 0 {
		return false
	}
	b.dictValues, b.dictIndexes = b.dictValues[:0], b.dictIndexes[:0]
	for values := b.values; len(values) > 0; values = values[n:] {
		id := 0
		for id*n < len(b.dictValues) && !bytes.Equal(b.dictValues[id*n:][:n], values[:n]) {
			id++
		}
		if id*n == len(b.dictValues) {
			if id == maxDictValues {
				return false
			}
			b.dictValues = append(b.dictValues, values[:n]...)
		}
		b.dictIndexes = append(b.dictIndexes, byte(id))
	}
	v := valueDict{len(b.dictValues) / n, n}
	return v.count > 1 && v.size(h.cells) < h.valueBytes
}

// foldValues appends what findNumbered has noted.
func (b *cellBuilder) appendDictValues(dst []byte) []byte {
	count := len(b.dictValues) / b.valueLength
	dst = append(append(dst, byte(count)), b.dictValues...)
	width := dictIndexBits(count)
	for ids := b.dictIndexes; len(ids) > 0; {
		var packed byte
		n := min(8/width, len(ids))
		for i, id := range ids[:n] {
			packed |= id << (i * width)
		}
		dst, ids = append(dst, packed), ids[n:]
	}
	return dst
}

// commonPrefix is how many bytes two keys have in common before they differ.
func commonPrefix(a, b []byte) int {
	n, i := min(len(a), len(b)), 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
