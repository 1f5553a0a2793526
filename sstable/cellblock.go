package sstable

import (
	"bytes"
	"encoding/binary"

	"colonnade/cell"
)

// A cell block keeps the cells of neighbouring rows as arrays. The header says
// how many elements each array has and how wide they are; the arrays follow in
// this order, each packed (see packed.go), without padding:
//
//	header, 56 bytes
//	+---------+--------+-----------+----------+----------------+--------------+
//	| cells 4 | rows 4 | columns 4 | stamps 4 | value blocks 4 | row prefix 4 |
//	+---------+--------+-----------+----------+----------------+--------------+
//	| row bytes 4 | column bytes 4 | value bytes 4 | time base 8 | seq base 8  |
//	+-------------+----------------+---------------+-------------+------------+
//	| time width 1 | seq width 1 | value end width 1 | flags 1 |
//	+--------------+-------------+-------------------+---------+
//
//	array            elements       width of an element
//	+----------------+--------------+--------------------------------------+
//	| row offsets    | rows + 1     | holds row bytes                      |
//	| row starts     | rows + 1     | holds cells                          |
//	| row values     | rows + 1     | holds value bytes       [not flag 2] |
//	| column offsets | columns + 1  | holds column bytes                   |
//	| kinds          | columns, or cells with flag 1 | 1                   |
//	| times          | stamps       | time width                           |
//	| seqs           | stamps       | seq width                            |
//	| value blocks   | value blocks | 12, a handle                         |
//	| column ids     | cells        | holds columns - 1                    |
//	| stamp ids      | cells        | holds stamps - 1  [not stamps=cells] |
//	| value ends     | cells        | value end width         [not flag 2] |
//	+----------------+--------------+--------------------------------------+
//	| row prefix     | bytes that all row keys begin with                  |
//	| row bytes      | the rest of each row key, back to back              |
//	| column bytes   | the columns, back to back, in ascending order       |
//	| values         | back to back, in the order of the cells             |
//	+----------------+-----------------------------------------------------+
//
// "Holds n" is the smallest width that holds the number n. Offsets begin with 0
// and end with the length of what they divide; row starts with the number of
// cells. The columns are a dictionary: a cell names its column by its place
// there.
//
// A stamp is a time and a sequence number that occur together. Cells written
// by one batch share both, so most blocks have far fewer stamps than cells. When
// every cell has a stamp of its own there are no stamp ids: cell i has stamp i.
// A stamp's time is time base plus its element of times, its sequence number seq
// base plus its element of seqs. Column, family and row tombstones have no time
// of their own: it is cell.TombstoneTime whatever the stamp says, which keeps
// them from widening the times of all others.
//
// A kind is one byte, for the cell, or for the column if all cells of each
// column have the same:
//
//	+------------+--------+--------+
//	| separate 1 | kind 3 | type 4 |  bits, from the highest
//	+------------+--------+--------+
//
// Value ends count from the first value of the row. With flag 2 all values
// have the same length, value bytes divided by cells, and there are no value
// ends and no row values. The value of a cell marked separate is not the value
// but a reference to a value block, see valueblock.go.

// Constants that are part of the format.
const (
	cellHeaderSize = 56

	flagKindPerCell = 1 << 0
	flagValueLength = 1 << 1 // all values have one length
	flagsKnown      = flagKindPerCell | flagValueLength

	kindSeparate = 1 << 7
	kindShift    = 4
	kindMask     = 7
	typeMask     = 1<<kindShift - 1
)

// A cellBlock is an open cell block: views into the decompressed bytes. Once
// parse has accepted it, every access with a row below rows, a cell below cells
// or a column below columns stays inside.
type cellBlock struct {
	cells, rows, columns int

	prefix        []byte
	rowOffsets    packed
	rowStarts     packed
	rowValues     packed
	columnOffsets packed
	columnIDs     packed
	stampIDs      packed
	times, seqs   packed
	valueEnds     packed
	kinds         []byte
	kindPerCell   bool
	stampPerCell  bool
	valueLength   int // of every value, or -1
	timeBase      uint64
	seqBase       uint64

	rowBytes, columnBytes, values []byte
	valueBlocks                   []byte // handles

	raw []byte // all of it
}

// Memory is what the block counts for in a cache.
func (b *cellBlock) Memory() int {
	const fixed = 512 // the views
	return fixed + cap(b.raw)
}

// rowSuffix returns what row r has after the prefix of the block.
func (b *cellBlock) rowSuffix(r int) []byte {
	return b.rowBytes[b.rowOffsets.int(r):b.rowOffsets.int(r+1)]
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

// findRow returns the first row whose key is at least key, or rows.
func (b *cellBlock) findRow(key []byte) int {
	n := len(b.prefix)
	if !bytes.HasPrefix(key, b.prefix) {
		if bytes.Compare(key, b.prefix) < 0 {
			return 0
		}
		return b.rows
	}
	key = key[n:]
	low, high := 0, b.rows
	for low < high {
		mid := int(uint(low+high) >> 1)
		if bytes.Compare(b.rowSuffix(mid), key) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// column returns column id of the dictionary.
func (b *cellBlock) column(id int) []byte {
	from, to := b.columnOffsets.int(id), b.columnOffsets.int(id+1)
	return b.columnBytes[from:to:to]
}

// kind returns the kind byte of cell i, whose column is id.
func (b *cellBlock) kind(i, id int) byte {
	if b.kindPerCell {
		return b.kinds[i]
	}
	return b.kinds[id]
}

// stamp returns the number of cell i's stamp.
func (b *cellBlock) stamp(i int) int {
	if b.stampPerCell {
		return i
	}
	return b.stampIDs.int(i)
}

// rowValuesFrom returns the values of row r, whose first cell is first, and where
// the value of cell i begins in them.
func (b *cellBlock) rowValuesFrom(r, first, i int) (values []byte, start int) {
	if b.valueLength >= 0 {
		end := b.rowStarts.int(r + 1)
		return b.values[first*b.valueLength : end*b.valueLength], (i - first) * b.valueLength
	}
	values = b.values[b.rowValues.int(r):b.rowValues.int(r+1)]
	if i > first {
		start = b.valueEnds.int(i - 1)
	}
	return values, start
}

// valueEnd returns where the value of cell i ends that begins at start, both
// counted from the first value of the row.
func (b *cellBlock) valueEnd(i, start int) int {
	if b.valueLength >= 0 {
		return start + b.valueLength
	}
	return b.valueEnds.int(i)
}

func (b *cellBlock) columnLength(id int) int {
	return b.columnOffsets.int(id+1) - b.columnOffsets.int(id)
}

// cellAt puts cell i together from what the caller has looked up already.
func (b *cellBlock) cellAt(i, id int, kind byte, value []byte) cell.Cell {
	stamp := b.stamp(i)
	c := cell.Cell{
		Column: b.column(id),
		Value:  value,
		Time:   int64(b.timeBase + b.times.at(stamp)),
		Seq:    b.seqBase + b.seqs.at(stamp),
		Kind:   cell.Kind(kind >> kindShift & kindMask),
		Type:   cell.Type(kind & typeMask),
	}
	if c.Kind >= cell.DeleteColumn {
		c.Time = cell.TombstoneTime
	}
	return c
}

// cellOf returns cell i, which is one of row r. Its value may be a reference.
func (b *cellBlock) cellOf(r, i int) cell.Cell {
	id := b.columnIDs.int(i)
	values, start := b.rowValuesFrom(r, b.rowStarts.int(r), i)
	return b.cellAt(i, id, b.kind(i, id), values[start:b.valueEnd(i, start)])
}

// valueBlock returns the handle of value block v.
func (b *cellBlock) valueBlock(v int) handle {
	return parseHandle(b.valueBlocks[v*handleSize:])
}

func (b *cellBlock) valueBlockCount() int {
	return len(b.valueBlocks) / handleSize
}

// header is the decoded header of a cell block. Its lengths are uint64 so that
// sums and products of them cannot overflow.
type cellHeader struct {
	cells, rows, columns, stamps, valueBlocks uint64
	prefix, rowBytes, columnBytes, valueBytes uint64
	timeBase, seqBase                         uint64
	timeWidth, seqWidth, endWidth, flags      byte
}

func (h *cellHeader) append(dst []byte) []byte {
	for _, v := range []uint64{h.cells, h.rows, h.columns, h.stamps, h.valueBlocks,
		h.prefix, h.rowBytes, h.columnBytes, h.valueBytes} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	dst = binary.LittleEndian.AppendUint64(dst, h.timeBase)
	dst = binary.LittleEndian.AppendUint64(dst, h.seqBase)
	return append(dst, h.timeWidth, h.seqWidth, h.endWidth, h.flags)
}

func (h *cellHeader) parse(p []byte) {
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(p[at:])) }
	*h = cellHeader{
		cells: u32(0), rows: u32(4), columns: u32(8), stamps: u32(12), valueBlocks: u32(16),
		prefix: u32(20), rowBytes: u32(24), columnBytes: u32(28), valueBytes: u32(32),
		timeBase: binary.LittleEndian.Uint64(p[36:]), seqBase: binary.LittleEndian.Uint64(p[44:]),
		timeWidth: p[52], seqWidth: p[53], endWidth: p[54], flags: p[55],
	}
}
