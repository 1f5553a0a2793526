package sstable

import (
	"encoding/binary"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// A cellBuilder collects the cells of a cell block, in order, and encodes it. It is
// reused for the next block.
type cellBuilder struct {
	rowKeys   []byte // back to back
	rowEnds   []int  // in rowKeys
	rowStarts []int  // first cell of each row
	rowValues []int  // offset of each row's values in values
	prefix    int    // length of the common prefix of all rows

	columnIDs  []uint32 // in order of appearance; rankColumns maps them
	versionIDs []uint32
	kinds      []byte
	valueEnds  []uint32 // relative to the row's values
	values     []byte   // small values, back to back

	columns  columnDict
	versions versionDict

	kindPerCell bool   // some column has cells of different kinds
	valueLength int    // of each small value, or -1 if they differ
	maxValueEnd uint32 // of all valueEnds

	largeCells  []int
	references  []reference // of the large cells
	largeBlocks []handle
	smallBlocks []smallBlock

	columnRank []uint32 // scratch: dictionary index by column id

	// Scratch of appendEncoded.
	rowKeyCoder, columnCoder prefixCoder
	dictValues, dictIndexes  []byte // distinct values, and the index of each cell's
}

// A smallBlock is an entry in a cell block's list of small blocks.
type smallBlock struct {
	handle
	end int
}

func (b *cellBuilder) reset() {
	b.rowKeys, b.rowEnds = b.rowKeys[:0], b.rowEnds[:0]
	b.rowStarts, b.rowValues = b.rowStarts[:0], b.rowValues[:0]
	b.columnIDs, b.versionIDs, b.kinds = b.columnIDs[:0], b.versionIDs[:0], b.kinds[:0]
	b.valueEnds, b.values = b.valueEnds[:0], b.values[:0]
	b.prefix, b.maxValueEnd = 0, 0
	b.columns.reset()
	b.versions.reset()
	b.kindPerCell, b.valueLength = false, -1
	b.largeCells, b.references = b.largeCells[:0], b.references[:0]
	b.largeBlocks, b.smallBlocks = b.largeBlocks[:0], b.smallBlocks[:0]
}

// cells returns the number of cells.
func (b *cellBuilder) cells() int { return len(b.columnIDs) }

// row returns the key of row r.
func (b *cellBuilder) row(r int) []byte {
	from := 0
	if r > 0 {
		from = b.rowEnds[r-1]
	}
	return b.rowKeys[from:b.rowEnds[r]]
}

// addRow begins a row, which must be above all others. At least one cell must
// follow.
func (b *cellBuilder) addRow(row []byte) {
	b.rowKeys = append(b.rowKeys, row...)
	b.rowEnds = append(b.rowEnds, len(b.rowKeys))
	b.rowStarts = append(b.rowStarts, b.cells())
	b.rowValues = append(b.rowValues, len(b.values))
	if len(b.rowEnds) == 1 {
		b.prefix = len(row)
	} else {
		b.prefix = min(b.prefix, commonPrefix(b.row(0), row))
	}
	b.columns.beginRow()
}

// addPredicted adds a cell to the last row if it looks like those of earlier rows:
// its column is the predicted one and above the last cell's, it has a small value of
// the type of the column's first cell, and time and sequence number are in bounds. No
// other check is needed then.
func (b *cellBuilder) addPredicted(c *cell.Cell) bool {
	id, ok := b.columns.predict(c.Column)
	if !ok || c.Kind != cell.Set || c.Type >= cell.TypeCount || b.columns.kinds[id] != byte(c.Type) || len(c.Value) >= LargeValue ||
		uint64(c.Time) > uint64(cell.MaxTime) || c.Seq == headSeq {
		return false
	}
	b.columns.setLast(id)
	b.add(id, byte(c.Type), c)
	b.addValue(c.Value)
	return true
}

// addCell adds a cell to the last row, with a small value. It reports whether the
// column is the first of its family in the block.
func (b *cellBuilder) addCell(c *cell.Cell) (newFamily bool) {
	newFamily = b.addColumn(c, byte(c.Kind)<<kindShift|byte(c.Type))
	b.addValue(c.Value)
	return newFamily
}

// addLarge is addCell for a cell with a large value.
func (b *cellBuilder) addLarge(c *cell.Cell, v reference) (newFamily bool) {
	b.largeCells = append(b.largeCells, b.cells())
	b.references = append(b.references, v)
	newFamily = b.addColumn(c, kindLarge|byte(c.Type))
	b.addValue(nil)
	return newFamily
}

// addColumn adds a cell without its value.
func (b *cellBuilder) addColumn(c *cell.Cell, kind byte) (newFamily bool) {
	id, fresh := b.columns.id(c.Column)
	if fresh {
		b.columns.kinds = append(b.columns.kinds, kind)
	} else if b.columns.kinds[id] != kind {
		b.kindPerCell = true
	}
	b.add(id, kind, c)
	return fresh && b.columns.beganFamily()
}

func (b *cellBuilder) add(id uint32, kind byte, c *cell.Cell) {
	b.columnIDs = append(b.columnIDs, id)
	b.versionIDs = append(b.versionIDs, b.versions.id(c.Time, c.Seq))
	b.kinds = append(b.kinds, kind)
}

// addValue adds the small value of the last cell.
func (b *cellBuilder) addValue(value []byte) {
	if len(b.valueEnds) == 0 {
		b.valueLength = len(value)
	} else if b.valueLength != len(value) {
		b.valueLength = -1
	}
	b.values = append(b.values, value...)
	end := uint32(len(b.values) - b.rowValues[len(b.rowValues)-1])
	b.valueEnds = append(b.valueEnds, end)
	b.maxValueEnd = max(b.maxValueEnd, end)
}

// header returns the header of the block so far.
func (b *cellBuilder) header() cellHeader {
	rows := len(b.rowEnds)
	h := cellHeader{
		cells: uint64(b.cells()), rows: uint64(rows),
		columns: uint64(len(b.columns.ends)), versions: uint64(len(b.versions.list)),
		prefix: uint64(b.prefix), rowBytes: uint64(len(b.rowKeys) - rows*b.prefix),
		columnBytes: uint64(len(b.columns.names)), valueBytes: uint64(len(b.values)),
		smallBlocks: uint64(len(b.smallBlocks)), largeBlocks: uint64(len(b.largeBlocks)),
		largeCells:    uint64(len(b.largeCells)),
		valueEndWidth: byte(widthOf(uint64(b.maxValueEnd))),
	}
	h.timeBase, h.timeWidth = b.versions.times()
	h.seqBase, h.seqWidth = b.versions.seqs()
	if b.kindPerCell {
		h.flags |= flagKindPerCell
	}
	if b.valueLength >= 0 {
		h.flags |= flagValueLength
		h.valueEndWidth = 0
	}
	return h
}

// size returns the length of the plain block so far, with inline values.
func (b *cellBuilder) size() int {
	h := b.header()
	return int(h.size())
}

// estimatedSize is a cheap upper estimate of size; it is too large if rows share a prefix.
func (b *cellBuilder) estimatedSize() int {
	return cellHeaderSize + len(b.rowKeys) + len(b.columns.names) + len(b.values) +
		4*b.cells() + 6*len(b.rowEnds) + 3*len(b.columns.ends) + 8*len(b.versions.list)
}

// largeEntryBytes is the most that a large value takes in its cell block: an index, a
// reference, and a block of its own.
const largeEntryBytes = 4 + referenceSize + handleSize

// maxKeyBytes returns an upper bound of the block without values after the given number of
// further cells, not counting their columns' bytes: all numbers at full width, and a version
// and a column for each of the cells.
func (b *cellBuilder) maxKeyBytes(more int) int {
	const (
		row     = 4 + 4 + 4     // end, first cell, first value
		column  = 4 + 1         // end, kind
		entry   = 4 + 4 + 4 + 1 // column, version, value end, kind
		version = 8 + 8
	)
	return cellHeaderSize + len(b.rowKeys) + row*(len(b.rowEnds)+1) + // rows and columns have one more end
		len(b.columns.names) + column*(len(b.columns.ends)+1+more) +
		entry*(b.cells()+more) + version*(len(b.versions.list)+more) +
		largeEntryBytes*len(b.largeCells)
}

// splitValues splits the small values into parts of about this size, between rows, or
// between cells if a row is longer than a part. It appends the ends of the parts to
// cuts.
func (b *cellBuilder) splitValues(size int, cuts []int) []int {
	from := 0
	for r, start := range b.rowValues {
		end := len(b.values)
		if r+1 < len(b.rowValues) {
			end = b.rowValues[r+1]
		}
		if start > from && end-from > size {
			cuts = append(cuts, start)
			from = start
		}
		if end-from <= size {
			continue
		}
		cells := b.valueEnds[b.rowStarts[r]:]
		if r+1 < len(b.rowStarts) {
			cells = cells[:b.rowStarts[r+1]-b.rowStarts[r]]
		}
		for _, e := range cells {
			if at := start + int(e); at-from >= size {
				cuts = append(cuts, at)
				from = at
			}
		}
	}
	if from < len(b.values) {
		cuts = append(cuts, len(b.values))
	}
	return cuts
}

// appendPlain appends the block in plain form. The builder must have a cell.
func (b *cellBuilder) appendPlain(dst []byte) []byte {
	h := b.header()
	dst = slices.Grow(dst, int(h.size())+8) // appendPacked writes 8 bytes for each element
	b.rankColumns()
	dst = h.append(dst)
	dst = b.appendRows(dst, &h)
	dst = b.appendColumns(dst, &h)
	dst = b.appendKinds(dst)
	dst = b.appendVersions(dst, &h)
	dst = b.appendColumnIDs(dst, &h)
	if h.versions != h.cells {
		dst = appendAll(dst, widthOf(h.versions-1), b.versionIDs)
	}
	dst = appendAll(dst, int(h.valueEndWidth), b.valueEnds)
	dst = b.appendLists(dst, &h)
	dst = append(dst, b.row(0)[:b.prefix]...)
	for r := range b.rowEnds {
		dst = append(dst, b.row(r)[b.prefix:]...)
	}
	for _, id := range b.columns.sorted {
		dst = append(dst, b.columns.name(id)...)
	}
	if len(b.smallBlocks) == 0 {
		dst = append(dst, b.values...)
	}
	return dst
}

// rankColumns finds the dictionary index of each column.
func (b *cellBuilder) rankColumns() {
	b.columns.sort()
	n := len(b.columns.sorted)
	b.columnRank = slices.Grow(b.columnRank[:0], n)[:n]
	for rank, id := range b.columns.sorted {
		b.columnRank[id] = uint32(rank)
	}
}

func (b *cellBuilder) appendRows(dst []byte, h *cellHeader) []byte {
	width := widthOf(h.rowBytes)
	dst = appendPacked(dst, width, 0)
	for r, end := range b.rowEnds {
		dst = appendPacked(dst, width, uint64(end-(r+1)*b.prefix))
	}
	dst = appendAll(dst, widthOf(h.cells), b.rowStarts)
	dst = appendPacked(dst, widthOf(h.cells), h.cells)
	if h.flags&flagValueLength != 0 {
		return dst
	}
	dst = appendAll(dst, widthOf(h.valueBytes), b.rowValues)
	return appendPacked(dst, widthOf(h.valueBytes), h.valueBytes)
}

// appendColumns appends the column offsets.
func (b *cellBuilder) appendColumns(dst []byte, h *cellHeader) []byte {
	width, end := widthOf(h.columnBytes), 0
	dst = appendPacked(dst, width, 0)
	for _, id := range b.columns.sorted {
		end += len(b.columns.name(id))
		dst = appendPacked(dst, width, uint64(end))
	}
	return dst
}

func (b *cellBuilder) appendKinds(dst []byte) []byte {
	if b.kindPerCell {
		return append(dst, b.kinds...)
	}
	for _, id := range b.columns.sorted {
		dst = append(dst, b.columns.kinds[id])
	}
	return dst
}

// appendVersions appends times and sequence numbers.
func (b *cellBuilder) appendVersions(dst []byte, h *cellHeader) []byte {
	for _, s := range b.versions.list {
		dst = appendPacked(dst, int(h.timeWidth), s.timeDelta(h.timeBase))
	}
	for _, s := range b.versions.list {
		dst = appendPacked(dst, int(h.seqWidth), s.seq-h.seqBase)
	}
	return dst
}

func (b *cellBuilder) appendColumnIDs(dst []byte, h *cellHeader) []byte {
	for _, id := range b.columnIDs {
		dst = appendPacked(dst, widthOf(h.columns-1), uint64(b.columnRank[id]))
	}
	return dst
}

// appendLists appends the lists of large cells and value blocks.
func (b *cellBuilder) appendLists(dst []byte, h *cellHeader) []byte {
	dst = appendAll(dst, widthOf(h.cells), b.largeCells)
	for _, v := range b.references {
		dst = v.append(dst)
	}
	for _, s := range b.smallBlocks {
		dst = binary.LittleEndian.AppendUint32(s.handle.append(dst), uint32(s.end))
	}
	for _, v := range b.largeBlocks {
		dst = v.append(dst)
	}
	return dst
}

func appendAll[T int | uint32](dst []byte, width int, list []T) []byte {
	for _, v := range list {
		dst = appendPacked(dst, width, uint64(v))
	}
	return dst
}
