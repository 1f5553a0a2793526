package sstable

import (
	"bytes"
	"math"
	"slices"

	"colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// A cellBuilder collects the cells of one cell block, in order, and writes it.
// It is used again for the next block.
type cellBuilder struct {
	rowKeys   []byte // whole keys, back to back
	rowEnds   []int  // in rowKeys
	rowStarts []int  // first cell of each row
	rowValues []int  // first value of each row, in values
	prefix    int    // bytes that all row keys have in common

	columnIDs []uint32 // in order of appearance, until finish sorts them
	stampIDs  []uint32
	kinds     []byte
	valueEnds []uint32 // from the first value of the row
	values    []byte
	maxEnd    uint32

	columns columnTable
	stamps  stampTable

	kindPerCell bool // a column has cells of different kinds
	valueLength int  // of all values, or -1
	valueBlocks []handle

	order []uint32 // scratch: column ids in order of their names
	place []uint32 // scratch: the inverse of order
}

func (b *cellBuilder) reset() {
	b.rowKeys, b.rowEnds = b.rowKeys[:0], b.rowEnds[:0]
	b.rowStarts, b.rowValues = b.rowStarts[:0], b.rowValues[:0]
	b.columnIDs, b.stampIDs, b.kinds = b.columnIDs[:0], b.stampIDs[:0], b.kinds[:0]
	b.valueEnds, b.values = b.valueEnds[:0], b.values[:0]
	b.prefix, b.maxEnd = 0, 0
	b.columns.reset()
	b.stamps.reset()
	b.kindPerCell, b.valueLength = false, -1
	b.valueBlocks = b.valueBlocks[:0]
}

// cells is the number of cells added.
func (b *cellBuilder) cells() int { return len(b.columnIDs) }

// row returns the key of row r.
func (b *cellBuilder) row(r int) []byte {
	from := 0
	if r > 0 {
		from = b.rowEnds[r-1]
	}
	return b.rowKeys[from:b.rowEnds[r]]
}

// addRow begins a row, above all rows before it. At least one cell must follow.
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
}

// addCell adds a cell to the last row. Its value is stored as it is, marked as a
// reference to a value block if separate is set.
func (b *cellBuilder) addCell(c *cell.Cell, value []byte, separate bool) {
	kind := byte(c.Kind)<<kindShift | byte(c.Type)
	if separate {
		kind |= kindSeparate
	}
	id, fresh := b.columns.id(c.Column)
	if fresh {
		b.columns.kinds = append(b.columns.kinds, kind)
	} else if b.columns.kinds[id] != kind {
		b.kindPerCell = true
	}
	if b.cells() == 0 {
		b.valueLength = len(value)
	} else if b.valueLength != len(value) {
		b.valueLength = -1
	}
	b.columnIDs = append(b.columnIDs, id)
	b.stampIDs = append(b.stampIDs, b.stamps.id(c.Time, c.Seq))
	b.kinds = append(b.kinds, kind)
	b.values = append(b.values, value...)
	end := uint32(len(b.values) - b.rowValues[len(b.rowValues)-1])
	b.valueEnds = append(b.valueEnds, end)
	b.maxEnd = max(b.maxEnd, end)
}

// header describes the block as it stands.
func (b *cellBuilder) header() cellHeader {
	rows := len(b.rowEnds)
	h := cellHeader{
		cells: uint64(b.cells()), rows: uint64(rows),
		columns: uint64(len(b.columns.ends)), stamps: uint64(len(b.stamps.list)),
		valueBlocks: uint64(len(b.valueBlocks)),
		prefix:      uint64(b.prefix), rowBytes: uint64(len(b.rowKeys) - rows*b.prefix),
		columnBytes: uint64(len(b.columns.names)), valueBytes: uint64(len(b.values)),
		endWidth: byte(widthOf(uint64(b.maxEnd))),
	}
	h.timeBase, h.timeWidth = b.stamps.times()
	h.seqBase, h.seqWidth = b.stamps.seqs()
	if b.kindPerCell {
		h.flags |= flagKindPerCell
	}
	if b.valueLength >= 0 {
		h.flags |= flagValueLength
		h.endWidth = 0
	}
	return h
}

// size is the length of the block if it were finished now.
func (b *cellBuilder) size() int {
	h := b.header()
	n := (h.rows + 1) * uint64(widthOf(h.rowBytes)+widthOf(h.cells))
	n += (h.columns+1)*uint64(widthOf(h.columnBytes)) + h.columns
	n += h.stamps*uint64(h.timeWidth+h.seqWidth) + h.valueBlocks*handleSize
	n += h.cells * uint64(widthOf(h.columns-1)+int(h.endWidth))
	if h.stamps != h.cells {
		n += h.cells * uint64(widthOf(h.stamps-1))
	}
	if h.flags&flagKindPerCell != 0 {
		n += h.cells - h.columns
	}
	if h.flags&flagValueLength == 0 {
		n += (h.rows + 1) * uint64(widthOf(h.valueBytes))
	}
	return cellHeaderSize + int(n+h.prefix+h.rowBytes+h.columnBytes+h.valueBytes)
}

// roughSize is a cheap guess of size, and rather too large when rows share a
// prefix.
func (b *cellBuilder) roughSize() int {
	return cellHeaderSize + len(b.rowKeys) + len(b.columns.names) + len(b.values) +
		4*b.cells() + 6*len(b.rowEnds) + 3*len(b.columns.ends) + 8*len(b.stamps.list)
}

// finish appends the block to dst. The builder must have a cell.
func (b *cellBuilder) finish(dst []byte) []byte {
	h := b.header()
	dst = slices.Grow(dst, b.size()+8) // appendPacked writes 8 bytes for every element
	b.sortColumns()
	dst = h.append(dst)
	dst = b.appendRows(dst, &h)
	dst = b.appendColumns(dst, &h)
	for _, s := range b.stamps.list {
		dst = appendPacked(dst, int(h.timeWidth), s.timeAbove(h.timeBase))
	}
	for _, s := range b.stamps.list {
		dst = appendPacked(dst, int(h.seqWidth), s.seq-h.seqBase)
	}
	for _, v := range b.valueBlocks {
		dst = v.append(dst)
	}
	for _, id := range b.columnIDs {
		dst = appendPacked(dst, widthOf(h.columns-1), uint64(b.place[id]))
	}
	if h.stamps != h.cells {
		dst = appendAll(dst, widthOf(h.stamps-1), b.stampIDs)
	}
	dst = appendAll(dst, int(h.endWidth), b.valueEnds)
	dst = append(dst, b.row(0)[:b.prefix]...)
	for r := range b.rowEnds {
		dst = append(dst, b.row(r)[b.prefix:]...)
	}
	for _, id := range b.order {
		dst = append(dst, b.columns.name(id)...)
	}
	return append(dst, b.values...)
}

// sortColumns finds the places of the columns in the dictionary.
func (b *cellBuilder) sortColumns() {
	n := len(b.columns.ends)
	b.order, b.place = slices.Grow(b.order[:0], n)[:n], slices.Grow(b.place[:0], n)[:n]
	for i := range b.order {
		b.order[i] = uint32(i)
	}
	slices.SortFunc(b.order, func(x, y uint32) int {
		return bytes.Compare(b.columns.name(x), b.columns.name(y))
	})
	for place, id := range b.order {
		b.place[id] = uint32(place)
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

func (b *cellBuilder) appendColumns(dst []byte, h *cellHeader) []byte {
	width, end := widthOf(h.columnBytes), 0
	dst = appendPacked(dst, width, 0)
	for _, id := range b.order {
		end += len(b.columns.name(id))
		dst = appendPacked(dst, width, uint64(end))
	}
	if b.kindPerCell {
		return append(dst, b.kinds...)
	}
	for _, id := range b.order {
		dst = append(dst, b.columns.kinds[id])
	}
	return dst
}

func appendAll[T int | uint32](dst []byte, width int, list []T) []byte {
	for _, v := range list {
		dst = appendPacked(dst, width, uint64(v))
	}
	return dst
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// A columnTable gives the columns of a block numbers in order of appearance.
type columnTable struct {
	names []byte // back to back
	ends  []int
	kinds []byte            // the kind of each column's first cell
	next  []uint32          // which column came after each column, when it last appeared
	last  uint32            // the column asked for last
	byKey map[uint64]uint32 // by hash; a column whose key is taken has the next free one
}

func (t *columnTable) reset() {
	t.names, t.ends, t.kinds, t.next = t.names[:0], t.ends[:0], t.kinds[:0], t.next[:0]
	t.last = 0
	if t.byKey == nil {
		t.byKey = make(map[uint64]uint32)
	}
	clear(t.byKey)
}

func (t *columnTable) name(id uint32) []byte {
	from := 0
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.names[from:t.ends[id]]
}

// id returns the number of a column, and whether it is new. Rows tend to have
// the same columns in the same order, so the column that followed the last one
// in an earlier row is tried first.
func (t *columnTable) id(column []byte) (id uint32, fresh bool) {
	if len(t.ends) > 0 {
		if guess := t.next[t.last]; bytes.Equal(t.name(guess), column) {
			t.last = guess
			return guess, false
		}
	}
	id, fresh = t.find(column)
	t.next[t.last] = id
	t.last = id
	return id, fresh
}

func (t *columnTable) find(column []byte) (id uint32, fresh bool) {
	key := xxhash.Sum64(column)
	for {
		id, ok := t.byKey[key]
		if !ok {
			break
		}
		if bytes.Equal(t.name(id), column) {
			return id, false
		}
		key++
	}
	id = uint32(len(t.ends))
	t.byKey[key] = id
	t.names = append(t.names, column...)
	t.ends = append(t.ends, len(t.names))
	t.next = append(t.next, 0)
	return id, true
}

// A stamp is a time and sequence number that occur together.
type stamp struct {
	time int64
	seq  uint64
}

// timeAbove is what the block stores for the time: nothing for a tombstone that
// has none of its own.
func (s stamp) timeAbove(base uint64) uint64 {
	if s.time == cell.TombstoneTime {
		return 0
	}
	return uint64(s.time) - base
}

// A stampTable gives the stamps of a block numbers in order of appearance.
type stampTable struct {
	list             []stamp
	byStamp          map[stamp]uint32
	last             uint32 // the stamp asked for last
	minTime, maxTime int64
	minSeq, maxSeq   uint64
}

func (t *stampTable) reset() {
	*t = stampTable{list: t.list[:0], byStamp: t.byStamp,
		minTime: math.MaxInt64, maxTime: -1, minSeq: math.MaxUint64}
	if t.byStamp == nil {
		t.byStamp = make(map[stamp]uint32)
	}
	clear(t.byStamp)
}

func (t *stampTable) id(time int64, seq uint64) uint32 {
	s := stamp{time, seq}
	if len(t.list) > 0 && t.list[t.last] == s {
		return t.last
	}
	id, ok := t.byStamp[s]
	if !ok {
		id = uint32(len(t.list))
		t.list = append(t.list, s)
		t.byStamp[s] = id
		t.minSeq, t.maxSeq = min(t.minSeq, seq), max(t.maxSeq, seq)
		if time != cell.TombstoneTime {
			t.minTime, t.maxTime = min(t.minTime, time), max(t.maxTime, time)
		}
	}
	t.last = id
	return id
}

// times returns the base of the stored times and their width.
func (t *stampTable) times() (base uint64, width byte) {
	if t.maxTime < 0 {
		return 0, 0 // no stamp has a time of its own
	}
	return uint64(t.minTime), byte(widthOf(uint64(t.maxTime) - uint64(t.minTime)))
}

// seqs returns the base of the stored sequence numbers and their width.
func (t *stampTable) seqs() (base uint64, width byte) {
	return t.minSeq, byte(widthOf(t.maxSeq - t.minSeq))
}
