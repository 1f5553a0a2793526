package sstable

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
)

// A cell block holds the cells of neighbouring rows as columnar arrays. Their values
// are in value blocks (valueblock.go) unless they are few. The header gives the
// number of elements of each array and their widths. The arrays follow in this
// order, packed (packed.go), without padding. This is the plain form, in which
// blocks are searched and cached; encode.go draws the form in which they are
// compressed.
//
//	header, 64 bytes
//	+---------+--------+-----------+------------+--------------+-------------+
//	| cells 4 | rows 4 | columns 4 | versions 4 | row prefix 4 | row bytes 4 |
//	+---------+------+-+-----------+-+----------+-----+--------+-------------+
//	| column bytes 4 | value bytes 4 | small blocks 4 | large blocks 4        |
//	+---------------++------------+--+----------+-----+----------------------+
//	| large cells 4 | time base 8 | seq base 8  |
//	+--------------++-------------+-------------+-----+---------+
//	| time width 1 | seq width 1 | value end width 1 | flags 1 |
//	+--------------+-------------+-------------------+---------+
//
//	array            elements       width of an element
//	+----------------+--------------+-------------------------------------+
//	| row offsets    | rows + 1     | holds row bytes                     |
//	| row starts     | rows + 1     | holds cells                         |
//	| row values     | rows + 1     | holds value bytes      [not flag 2] |
//	| column offsets | columns + 1  | holds column bytes                  |
//	| kinds          | columns, or cells with flag 1 | 1                  |
//	| times          | versions     | time width                          |
//	| seqs           | versions     | seq width                           |
//	| column ids     | cells        | holds columns - 1                   |
//	| version ids    | cells        | holds versions - 1                  |
//	|                |              |               [not versions=cells]  |
//	| value ends     | cells        | value end width        [not flag 2] |
//	| large cells    | large cells  | holds cells                         |
//	| references     | large cells  | 12, see valueblock.go               |
//	| small blocks   | small blocks | 16, see valueblock.go               |
//	| large blocks   | large blocks | 12, a handle                        |
//	+----------------+--------------+-------------------------------------+
//	| row prefix     | bytes that all row keys begin with                 |
//	| row bytes      | the rest of each row key, back to back             |
//	| column bytes   | the columns, back to back, in ascending order      |
//	| values         | the small values            [only no small blocks] |
//	+----------------+----------------------------------------------------+
//
// "Holds n" is the smallest width that holds the number n. Offsets begin with 0 and
// end with the length of what they divide; row starts end with the number of cells.
// The columns are a dictionary: a column id is an index in it.
//
// A version is a time and a sequence number that occur together. The versions are a
// dictionary, too: the cells of a batch share one, so most blocks have far fewer
// versions than cells. If every cell has its own there are no version ids, and cell i
// has version i. Times and sequence numbers are deltas above time base and seq base.
// Column, family and row tombstones have the time cell.TombstoneTime whatever their
// version says, so that they do not widen the times of others.
//
// A kind is one byte for each cell, or for each column if all cells of each column
// have the same:
//
//	+---------+--------+--------+
//	| large 1 | kind 3 | type 4 |  bits, from the highest
//	+---------+--------+--------+
//
// The small values of the block count as one string, in the order of the cells.
// Row values are offsets in it; value ends count from the first value of the row.
// With flag 2 all small values have the same length, value bytes divided by cells,
// and there are neither value ends nor row values. A cell marked large has no small
// value; it is listed in large cells, and its reference locates the value.

// Constants that are part of the format.
const (
	cellHeaderSize = 64

	flagKindPerCell = 1 << 0
	flagValueLength = 1 << 1 // all small values have one length
	flagsKnown      = flagKindPerCell | flagValueLength

	kindLarge = 1 << 7
	kindShift = 4
	kindMask  = 7
	typeMask  = 1<<kindShift - 1
)

// A cellBlock is an open cell block: views into the decompressed bytes. It is
// immutable. After parse has accepted it, every access with a row below rows, a
// cell below cells or a column below columns stays inside.
type cellBlock struct {
	raw []byte // the block with its guard

	cells, rows, columns, valueBytes     int
	smallBlocks, largeBlocks, largeCount int
	smallAt, largeAt, referencesAt       int // offsets of their lists

	rowOffsets, rowStarts, rowValues packed
	columnOffsets                    packed
	times, seqs                      packed
	columnIDs, versionIDs            packed
	valueEnds                        packed
	largeCells                       packed
	timeBase, seqBase                uint64
	valueLength                      int // of each small value, or -1 if they differ
	kindPerCell, versionPerCell      bool
	allSmallSets                     bool // a kind for each column, and all are of small values

	kinds, prefix, rowBytes, columnBytes []byte

	// values are the small values if they are loaded: inline in raw, or from the
	// one small block that was read with the cell block.
	values []byte
}

// Memory returns the bytes that count in a cache.
func (b *cellBlock) Memory() int {
	const views = 512 // the size class of this struct
	n := views + cap(b.raw)
	if b.smallBlocks > 0 {
		n += cap(b.values)
	}
	return n
}

// hasValues reports whether all small values are loaded.
func (b *cellBlock) hasValues() bool {
	return len(b.values) == b.valueBytes
}

// rowSuffix returns the key of row r without the prefix of the block.
func (b *cellBlock) rowSuffix(r int) []byte {
	return b.rowBytes[b.rowOffsets.int(b.raw, r):b.rowOffsets.int(b.raw, r+1)]
}

// appendRow appends the key of row r to dst.
func (b *cellBlock) appendRow(dst []byte, r int) []byte {
	dst = append(dst, b.prefix...)
	return append(dst, b.rowSuffix(r)...)
}

// isRow reports whether row r has this key.
func (b *cellBlock) isRow(r int, key []byte) bool {
	return bytes.HasPrefix(key, b.prefix) && bytes.Equal(key[len(b.prefix):], b.rowSuffix(r))
}

// findRow returns the first row whose key is at least key, or rows if there is none.
func (b *cellBlock) findRow(key []byte) int {
	if !bytes.HasPrefix(key, b.prefix) {
		if bytes.Compare(key, b.prefix) < 0 {
			return 0
		}
		return b.rows
	}
	low, _ := b.narrow(key[len(b.prefix):], 0, b.rows, 0)
	return low
}

// narrow is a binary search for the first row whose suffix is at least this one. It
// must be in [low, high]; the search stops when at most most rows are left.
func (b *cellBlock) narrow(suffix []byte, low, high, most int) (int, int) {
	for high-low > most {
		mid := int(uint(low+high) >> 1)
		if bytes.Compare(b.rowSuffix(mid), suffix) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, high
}

// rowCells returns the range of row r's cells.
func (b *cellBlock) rowCells(r int) (first, end int) {
	return b.rowStarts.int(b.raw, r), b.rowStarts.int(b.raw, r+1)
}

// column returns entry id of the column dictionary.
func (b *cellBlock) column(id int) []byte {
	from, to := b.columnOffsets.int(b.raw, id), b.columnOffsets.int(b.raw, id+1)
	return b.columnBytes[from:to:to]
}

// dictionary returns the stored column offsets and the columns, back to back.
func (b *cellBlock) dictionary() (offsets, names []byte) {
	o := &b.columnOffsets
	return b.raw[o.offset : int(o.offset)+(b.columns+1)*int(o.width)], b.columnBytes
}

func (b *cellBlock) columnLength(id int) int {
	return b.columnOffsets.int(b.raw, id+1) - b.columnOffsets.int(b.raw, id)
}

// columnID returns the index of cell i's column in the dictionary.
func (b *cellBlock) columnID(i int) int {
	return b.columnIDs.int(b.raw, i)
}

// kind returns the kind byte of cell i, whose column has this id.
func (b *cellBlock) kind(i, id int) byte {
	if b.kindPerCell {
		return b.kinds[i]
	}
	return b.kinds[id]
}

// versionID returns the index of cell i's version.
func (b *cellBlock) versionID(i int) int {
	if b.versionPerCell {
		return i
	}
	return b.versionIDs.int(b.raw, i)
}

// sameVersion reports whether the cells from first to end, at least one, have the
// same version.
func (b *cellBlock) sameVersion(first, end int) bool {
	if b.versionPerCell {
		return end-first == 1
	}
	ids := b.versionIDs.span(b.raw, first, end)
	n := len(ids) - int(b.versionIDs.width)
	return len(ids) == 0 || bytes.Equal(ids[:n], ids[len(ids)-n:])
}

// rowValue returns the offset of row r's small values. first is its first cell.
func (b *cellBlock) rowValue(r, first int) int {
	if b.valueLength >= 0 {
		return first * b.valueLength
	}
	return b.rowValues.int(b.raw, r)
}

// valueStart returns where the small value of cell i begins, relative to its row's
// values. first is the first cell of the row.
func (b *cellBlock) valueStart(first, i int) int {
	switch {
	case b.valueLength >= 0:
		return (i - first) * b.valueLength
	case i > first:
		return b.valueEnds.int(b.raw, i-1)
	}
	return 0
}

// valueEnd returns where the small value of cell i ends, if it begins at start.
// Both are relative to the row's values.
func (b *cellBlock) valueEnd(i, start int) int {
	if b.valueLength >= 0 {
		return start + b.valueLength
	}
	return b.valueEnds.int(b.raw, i)
}

// cellAt returns cell i, given what the caller has looked up.
func (b *cellBlock) cellAt(i, id int, kind byte, value []byte) cell.Cell {
	version := b.versionID(i)
	c := cell.Cell{
		Column:   b.column(id),
		Value:    value,
		Time:     int64(b.timeBase + b.times.at(b.raw, version)),
		Seq:      b.seqBase + b.seqs.at(b.raw, version),
		Kind:     cell.Kind(kind >> kindShift & kindMask),
		Type:     cell.Type(kind & typeMask),
		ColumnID: uint32(id) + 1,
	}
	if c.Kind >= cell.DeleteColumn {
		c.Time = cell.TombstoneTime
	}
	return c
}

// small returns the handle of small block k and the range of small values in it.
func (b *cellBlock) small(k int) (h handle, from, to int) {
	if k > 0 {
		from = b.smallEnd(k - 1)
	}
	return parseHandle(b.raw[b.smallAt+k*smallEntrySize:]), from, b.smallEnd(k)
}

// smallEnd returns the end of the values of small block k.
func (b *cellBlock) smallEnd(k int) int {
	return int(binary.LittleEndian.Uint32(b.raw[b.smallAt+k*smallEntrySize+handleSize:]))
}

// findSmall returns the small block with the value that begins at offset.
func (b *cellBlock) findSmall(offset int) int {
	return sort.Search(b.smallBlocks-1, func(k int) bool { return b.smallEnd(k) > offset })
}

// large returns the handle of large block k.
func (b *cellBlock) large(k int) handle {
	return parseHandle(b.raw[b.largeAt+k*handleSize:])
}

// reference returns the reference of cell i, which is marked large.
func (b *cellBlock) reference(i int) (v reference, ok bool) {
	k := sort.Search(b.largeCount, func(k int) bool { return b.largeCells.int(b.raw, k) >= i })
	if k == b.largeCount || b.largeCells.int(b.raw, k) != i {
		return v, false
	}
	return parseReference(b.raw[b.referencesAt+k*referenceSize:]), true
}
