package sstable

import (
	"errors"

	"colonnade/cell"
)

var (
	errCellHeader  = errors.New("cell block: header does not fit its length")
	errCellArrays  = errors.New("cell block: arrays do not fill it")
	errRowArray    = errors.New("cell block: row offsets or starts out of order")
	errColumnArray = errors.New("cell block: column offsets out of order")
	errColumnID    = errors.New("cell block: column id outside the dictionary")
	errStampID     = errors.New("cell block: stamp id out of range")
	errKind        = errors.New("cell block: unknown kind or type")
	errValueEnds   = errors.New("cell block: value ends out of order")
)

// parse opens the block in raw, which must have the guard behind its length.
// The block keeps raw. It is O(cells) and checks every number that later
// accesses rely on, whatever the checksum said; it does not check the order of
// keys, which can mislead a search but not break it (see Reader.Verify).
func (b *cellBlock) parse(raw []byte) error {
	n := uint64(len(raw))
	if n < cellHeaderSize {
		return errCellHeader
	}
	var h cellHeader
	h.parse(raw)
	if !h.fits(n) {
		return errCellHeader
	}
	if !b.slice(&h, raw) {
		return errCellArrays
	}
	return b.validate(&h)
}

// fits checks the header by itself, in a block of n bytes. No honest block has
// more cells than bytes: cells of one row differ in column or stamp, and rows in
// their keys, and each difference takes a byte. This bounds the work of parse.
func (h *cellHeader) fits(n uint64) bool {
	for _, v := range []uint64{h.rows, h.columns, h.stamps} {
		if v == 0 || v > h.cells {
			return false
		}
	}
	for _, v := range []uint64{h.cells, h.valueBlocks, h.prefix, h.rowBytes, h.columnBytes, h.valueBytes} {
		if v > n {
			return false
		}
	}
	if h.timeWidth > 8 || h.seqWidth > 8 || h.endWidth > 4 || h.flags&^flagsKnown != 0 {
		return false
	}
	return h.flags&flagValueLength == 0 || h.endWidth == 0 && h.valueBytes%h.cells == 0
}

// slice lays the arrays over raw, and reports whether they fill it exactly.
func (b *cellBlock) slice(h *cellHeader, raw []byte) bool {
	*b = cellBlock{
		cells: int(h.cells), rows: int(h.rows), columns: int(h.columns),
		kindPerCell:  h.flags&flagKindPerCell != 0,
		stampPerCell: h.stamps == h.cells,
		valueLength:  -1,
		timeBase:     h.timeBase, seqBase: h.seqBase, raw: raw,
	}
	s := slicer{b: raw[:len(raw)+guard], limit: len(raw), at: cellHeaderSize}
	b.rowOffsets = s.packed(b.rows+1, widthOf(h.rowBytes))
	b.rowStarts = s.packed(b.rows+1, widthOf(h.cells))
	if h.flags&flagValueLength == 0 {
		b.rowValues = s.packed(b.rows+1, widthOf(h.valueBytes))
	} else {
		b.valueLength = int(h.valueBytes / h.cells)
	}
	b.columnOffsets = s.packed(b.columns+1, widthOf(h.columnBytes))
	if b.kindPerCell {
		b.kinds = s.bytes(b.cells)
	} else {
		b.kinds = s.bytes(b.columns)
	}
	b.times = s.packed(int(h.stamps), int(h.timeWidth))
	b.seqs = s.packed(int(h.stamps), int(h.seqWidth))
	b.valueBlocks = s.bytes(int(h.valueBlocks) * handleSize)
	b.columnIDs = s.packed(b.cells, widthOf(h.columns-1))
	if !b.stampPerCell {
		b.stampIDs = s.packed(b.cells, widthOf(h.stamps-1))
	}
	if b.valueLength < 0 {
		b.valueEnds = s.packed(b.cells, int(h.endWidth))
	}
	b.prefix = s.bytes(int(h.prefix))
	b.rowBytes = s.bytes(int(h.rowBytes))
	b.columnBytes = s.bytes(int(h.columnBytes))
	b.values = s.bytes(int(h.valueBytes))
	return s.at == s.limit
}

// A slicer cuts a block into its arrays. Past the end it returns empty arrays
// and only counts on.
type slicer struct {
	b         []byte // the block and its guard
	limit, at int
}

func (s *slicer) take(n int) (from int, ok bool) {
	from = s.at
	s.at += n
	return from, s.at <= s.limit
}

func (s *slicer) bytes(n int) []byte {
	if from, ok := s.take(n); ok {
		return s.b[from : from+n : from+n]
	}
	return nil
}

func (s *slicer) packed(n, width int) packed {
	if from, ok := s.take(n * width); ok {
		return packed{s.b[from:], width, widthMask(width)}
	}
	return packed{}
}

// validate checks the contents of the arrays.
func (b *cellBlock) validate(h *cellHeader) error {
	switch {
	case !ascends(&b.rowOffsets, b.rows, h.rowBytes, 0), !ascends(&b.rowStarts, b.rows, h.cells, 1):
		return errRowArray
	case !ascends(&b.columnOffsets, b.columns, h.columnBytes, 0):
		return errColumnArray
	case !below(&b.columnIDs, b.cells, h.columns):
		return errColumnID
	case !b.stampPerCell && !below(&b.stampIDs, b.cells, h.stamps):
		return errStampID
	case !kindsKnown(b.kinds, h.valueBlocks > 0):
		return errKind
	case b.valueLength < 0 && !b.valueEndsAscend(h.valueBytes):
		return errValueEnds
	}
	return nil
}

// ascends reports whether the n+1 offsets begin with 0, go up by at least step
// and end with total.
func ascends(p *packed, n int, total, step uint64) bool {
	if p.at(0) != 0 || p.at(n) != total {
		return false
	}
	var last, wrong uint64
	for i := 1; i <= n; i++ {
		v := p.at(i)
		wrong |= v - last - step // negative: the highest bit is set
		last = v
	}
	return wrong>>63 == 0
}

// below reports whether all n elements are below limit.
func below(p *packed, n int, limit uint64) bool {
	var wrong uint64
	if p.width == 1 {
		for _, v := range p.b[:n] {
			wrong |= limit - 1 - uint64(v)
		}
		return wrong>>63 == 0
	}
	for i := range n {
		wrong |= limit - 1 - p.at(i)
	}
	return wrong>>63 == 0
}

// valueEndsAscend reports whether the values of the rows divide the values of
// the block, and the value ends of each row its values.
func (b *cellBlock) valueEndsAscend(total uint64) bool {
	if !ascends(&b.rowValues, b.rows, total, 0) {
		return false
	}
	var wrong uint64
	i, row := 0, uint64(0)
	for r := range b.rows {
		var last uint64
		for end := b.rowStarts.int(r + 1); i < end; i++ {
			v := b.valueEnds.at(i)
			wrong |= v - last
			last = v
		}
		next := b.rowValues.at(r + 1)
		if next-row != last {
			return false
		}
		row = next
	}
	return wrong>>63 == 0
}

// knownKinds are the kind bytes of cells that have their value in the block.
var knownKinds = func() (known [256]bool) {
	for k := range cell.KindCount {
		for t := range cell.TypeCount {
			known[k<<kindShift|t] = true
		}
	}
	return known
}()

// kindsKnown reports whether all kind bytes make sense. Only values can be kept
// apart, and only in a block that has value blocks.
func kindsKnown(kinds []byte, separate bool) bool {
	for _, k := range kinds {
		if !knownKinds[k] && !(separate && k&^typeMask == kindSeparate && knownKinds[k&typeMask]) {
			return false
		}
	}
	return true
}
