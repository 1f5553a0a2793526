package sstable

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A cell block is encoded before it is compressed: redundant arrays are omitted, and
// ascending numbers become deltas and lengths, in which a compressor finds
// repetition. Readers decode it to the plain form of cellblock.go before any use. An
// encoded block is, without padding:
//
//	numbers, each as a uvarint (encoding/binary)
//	+-------+------+---------+----------+------------+-------------+
//	| cells | rows | columns | versions | row prefix | value bytes |
//	+-------+------+-------+-+--------+-+----------+-+---+---------+--+
//	| small blocks | large blocks | large cells | time base | seq base |
//	+--------------+--------------+-------------+-----------+----------+
//
//	bytes
//	+------------+-----------+-----------------+------------------+---------------------+-------+
//	| time width | seq width | value end width | row length width | column length width | flags |
//	+------------+-----------+-----------------+------------------+---------------------+-------+
//
//	array                   elements   width of an element
//	+-----------------------+----------+------------------------------------------+
//	| row shared lengths    | rows     | row length width: how many bytes of each |
//	|                       |          | are those of the row before              |
//	| row suffix lengths    | rows     | row length width: how many bytes follow  |
//	| row cells             | rows     | holds cells - rows: cells, less one      |
//	| value lengths         | cells    | value end width             [not flag 2] |
//	| column shared lengths | columns  | column length width, likewise            |
//	| column suffix lengths | columns  | column length width, likewise            |
//	+-----------------------+----------+------------------------------------------+
//	| row prefix            | bytes that all row keys begin with                  |
//	| row suffix bytes      | of each row, what follows the shared bytes          |
//	| column suffix bytes   | of each column, likewise                            |
//	+-----------------------+-----------------------------------------------------+
//	| kinds, column ids     | as in the plain form                                |
//	| version deltas        | cells    | holds versions - 1: version id less that |
//	|                       |          | of the cell before [not versions=cells]  |
//	| large cells, references, small blocks, large blocks | as in the plain form  |
//	| values                | the small values            [only no small blocks]  |
//	| times, seqs           | as in the plain form                                |
//	+-----------------------+-----------------------------------------------------+
//
// Times and sequence numbers are last because most do not compress: S2 takes larger
// steps the longer it finds no match, and would skip much of what follows.
//
// Shared bytes of rows count from the end of the row prefix; the first row and the
// first column share nothing. Version deltas are modulo their width.
//
// With flag 4, which plain blocks never have, the small values are dictionary encoded:
// there are 2 to 16 distinct ones, of one length, none in small blocks. Instead of the
// values there is
//
//	+---------+---------------------------------+-------------------------+
//	| count 1 | the distinct ones, back to back | an index for each cell  |
//	+---------+---------------------------------+-------------------------+
//
// An index takes 1 bit for two values, 2 bits for up to four and 4 bits for more, from
// the lowest bits of each byte up. Shared prefixes of keys are as in LevelDB's blocks;
// the rest is usual in column stores (Abadi, Madden, Ferreira: Integrating Compression
// and Execution in Column-Oriented Database Systems, 2006).

// Constants that are part of the format.
const (
	flagValueDict = 1 << 2 // in encoded blocks only
	maxDictValues = 16
)

// dictIndexBits returns the bits of an index among count values: 1, 2 or 4.
func dictIndexBits(count int) int {
	switch {
	case count <= 2:
		return 1
	case count <= 4:
		return 2
	}
	return 4
}

// appendEncoded appends the block in encoded form. The builder must have a cell.
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

// appendEncodedHeader appends the numbers that an encoded block begins with.
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

// A prefixCoder encodes ascending keys by the prefix each shares with the one before.
type prefixCoder struct {
	shared, suffixes []int  // lengths of the shared prefix and the rest of each key
	maxLength        int    // of these lengths
	suffixBytes      []byte // back to back
	prev             []byte
}

func (c *prefixCoder) reset() {
	c.shared, c.suffixes, c.maxLength, c.suffixBytes, c.prev = c.shared[:0], c.suffixes[:0], 0, c.suffixBytes[:0], nil
}

// add adds a key, which must not change before the next add.
func (c *prefixCoder) add(key []byte) {
	shared := commonPrefix(c.prev, key)
	suffix := len(key) - shared
	c.shared, c.suffixes = append(c.shared, shared), append(c.suffixes, suffix)
	c.maxLength = max(c.maxLength, shared, suffix)
	c.suffixBytes = append(c.suffixBytes, key[shared:]...)
	c.prev = key
}

func (c *prefixCoder) width() byte { return byte(widthOf(uint64(c.maxLength))) }

func (c *prefixCoder) append(dst []byte) []byte {
	width := int(c.width())
	return appendAll(appendAll(dst, width, c.shared), width, c.suffixes)
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

// appendRowCounts appends the number of cells of each row.
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

// buildValueDict builds the dictionary of the small values. It reports false if there
// are not 2 to 16 distinct ones, they differ in length, some are in small blocks, or
// the dictionary form is not shorter.
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

// appendDictValues appends the dictionary and the indexes.
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

// commonPrefix returns the length of the longest common prefix of two keys.
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
