package sstable

import (
	"encoding/binary"
	"errors"

	"github.com/colonnade-db/colonnade/cell"
)

var (
	errCellHeader  = errors.New("cell block: header does not fit its length")
	errRowArray    = errors.New("cell block: row offsets or starts out of order")
	errColumnArray = errors.New("cell block: column offsets out of order")
	errColumnID    = errors.New("cell block: column id outside the dictionary")
	errVersionID   = errors.New("cell block: version id out of range")
	errKind        = errors.New("cell block: unknown kind or type")
	errValueEnds   = errors.New("cell block: value ends out of order")
	errSmall       = errors.New("cell block: small blocks do not divide its values")
	errLarge       = errors.New("cell block: list of large cells out of order")
	errReference   = errors.New("cell block: reference to a value outside its value block")
)

// parse opens the block in raw, which must have the guard after it and is kept. It
// takes O(cells) and checks every number that later accesses rely on, whatever the
// checksum said. It does not check the order of keys: a wrong order can mislead a
// search but not break it (see Reader.Verify).
func (b *cellBlock) parse(raw []byte) error {
	n := uint64(len(raw))
	if n < cellHeaderSize {
		return errCellHeader
	}
	var h cellHeader
	h.parse(raw)
	if !h.fits(n) || h.size() != n {
		return errCellHeader
	}
	b.slice(&h, raw)
	return b.validate(&h)
}

// slice locates the arrays in raw, which has the length that the header implies.
func (b *cellBlock) slice(h *cellHeader, raw []byte) {
	*b = cellBlock{
		raw:   raw[:len(raw)+guard],
		cells: int(h.cells), rows: int(h.rows), columns: int(h.columns), valueBytes: int(h.valueBytes),
		smallBlocks: int(h.smallBlocks), largeBlocks: int(h.largeBlocks), largeCount: int(h.largeCells),
		timeBase: h.timeBase, seqBase: h.seqBase, valueLength: -1,
		kindPerCell: h.flags&flagKindPerCell != 0, versionPerCell: h.versions == h.cells,
	}
	s := slicer{raw, cellHeaderSize}
	b.rowOffsets = s.packed(b.rows+1, widthOf(h.rowBytes))
	b.rowStarts = s.packed(b.rows+1, widthOf(h.cells))
	if h.flags&flagValueLength == 0 {
		b.rowValues = s.packed(b.rows+1, widthOf(h.valueBytes))
	} else {
		b.valueLength = int(h.valueBytes / h.cells)
	}
	b.columnOffsets = s.packed(b.columns+1, widthOf(h.columnBytes))
	b.kinds = s.bytes(int(h.kinds()))
	b.allSmallSets = !b.kindPerCell && onlySmallSets(b.kinds)
	b.times = s.packed(int(h.versions), int(h.timeWidth))
	b.seqs = s.packed(int(h.versions), int(h.seqWidth))
	b.columnIDs = s.packed(b.cells, widthOf(h.columns-1))
	if !b.versionPerCell {
		b.versionIDs = s.packed(b.cells, widthOf(h.versions-1))
	}
	if b.valueLength < 0 {
		b.valueEnds = s.packed(b.cells, int(h.valueEndWidth))
	}
	b.largeCells = s.packed(b.largeCount, widthOf(h.cells))
	b.referencesAt = s.table(b.largeCount, referenceSize)
	b.smallAt = s.table(b.smallBlocks, smallEntrySize)
	b.largeAt = s.table(b.largeBlocks, handleSize)
	b.prefix = s.bytes(int(h.prefix))
	b.rowBytes = s.bytes(int(h.rowBytes))
	b.columnBytes = s.bytes(int(h.columnBytes))
	b.values = s.raw[s.at:] // empty if there are small blocks
}

// A slicer divides a block into its arrays.
type slicer struct {
	raw []byte
	at  int
}

func (s *slicer) table(n, size int) (at int) {
	at = s.at
	s.at += n * size
	return at
}

func (s *slicer) bytes(n int) []byte {
	at := s.table(n, 1)
	return s.raw[at:s.at:s.at]
}

func (s *slicer) packed(n, width int) packed {
	return packed{uint32(s.table(n, width)), uint32(width), widthMask(width)}
}

// validate checks the elements of the arrays.
func (b *cellBlock) validate(h *cellHeader) error {
	switch {
	case !b.ascends(&b.rowOffsets, b.rows, h.rowBytes, 0), !b.ascends(&b.rowStarts, b.rows, h.cells, 1):
		return errRowArray
	case !b.ascends(&b.columnOffsets, b.columns, h.columnBytes, 0):
		return errColumnArray
	case !b.below(&b.columnIDs, b.cells, h.columns):
		return errColumnID
	case !b.versionPerCell && !b.below(&b.versionIDs, b.cells, h.versions):
		return errVersionID
	case !kindsKnown(b.kinds, b.largeCount > 0):
		return errKind
	case b.valueLength < 0 && !b.valueEndsAscend(h.valueBytes):
		return errValueEnds
	case !b.smallAscend():
		return errSmall
	}
	return b.validateLarge()
}

// ascends reports whether the n+1 offsets begin with 0, grow by at least step, and end
// with total.
func (b *cellBlock) ascends(p *packed, n int, total, step uint64) bool {
	if p.at(b.raw, 0) != 0 || p.at(b.raw, n) != total {
		return false
	}
	var last, wrong uint64
	for i := 1; i <= n; i++ {
		v := p.at(b.raw, i)
		wrong |= v - last - step // if negative, the highest bit is set
		last = v
	}
	return wrong>>63 == 0
}

// below reports whether all n elements are below limit.
func (b *cellBlock) below(p *packed, n int, limit uint64) bool {
	switch p.width {
	case 0: // all are 0
		return limit > 0
	case 1:
		return bytesBelow(b.raw[p.offset:][:n], limit)
	}
	var wrong uint64
	for i := range n {
		wrong |= limit - 1 - p.at(b.raw, i)
	}
	return wrong>>63 == 0
}

// bytesBelow reports whether all bytes are below limit, which is 1 to 256. It handles
// eight at a time: it adds to the low seven bits of each what carries the limit, or
// its excess over 128, into the eighth bit. Most arrays have one-byte elements; with the
// shortcut in valueEndsAscend this saves 5 % of an uncached row read.
func bytesBelow(p []byte, limit uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	var wrong uint64
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		if limit <= 128 {
			wrong |= (v&^high + (128-limit)*ones) | v
		} else {
			wrong |= (v&^high + (256-limit)*ones) & v
		}
	}
	for _, v := range p {
		if uint64(v) >= limit {
			return false
		}
	}
	return wrong&high == 0
}

// valueEndsAscend reports whether the row values divide the values of the block, and
// the value ends of each row its values.
func (b *cellBlock) valueEndsAscend(total uint64) bool {
	if !b.ascends(&b.rowValues, b.rows, total, 0) {
		return false
	}
	raw, ends := b.raw, b.valueEnds
	var wrong uint64
	i, row := 0, uint64(0)
	for r := range b.rows {
		var last uint64
		end := b.rowStarts.int(raw, r+1)
		if ends.width == 1 { // the most common width
			for _, v := range raw[int(ends.offset)+i : int(ends.offset)+end] {
				wrong |= uint64(v) - last
				last = uint64(v)
			}
			i = end
		}
		for ; i < end; i++ {
			v := ends.at(raw, i)
			wrong |= v - last
			last = v
		}
		next := b.rowValues.at(raw, r+1)
		wrong |= next - row - last
		wrong |= last - (next - row)
		row = next
	}
	return wrong>>63 == 0
}

// smallAscend reports whether the ends of the small blocks divide the values.
func (b *cellBlock) smallAscend() bool {
	last := 0
	for k := range b.smallBlocks {
		end := b.smallEnd(k)
		if end <= last {
			return false
		}
		last = end
	}
	return b.smallBlocks == 0 || last == b.valueBytes
}

// validateLarge checks the list of large cells and their references.
func (b *cellBlock) validateLarge() error {
	last := -1
	for k := range b.largeCount {
		i := b.largeCells.int(b.raw, k)
		if i <= last || i >= b.cells {
			return errLarge
		}
		last = i
		if v := parseReference(b.raw[b.referencesAt+k*referenceSize:]); int64(v.block) >= int64(b.largeBlocks) {
			return errReference
		}
	}
	return nil
}

// knownKinds marks the kind bytes of cells without a large value.
var knownKinds = func() (known [256]bool) {
	for k := range cell.KindCount {
		for t := range cell.TypeCount {
			known[k<<kindShift|t] = true
		}
	}
	return known
}()

// kindsKnown reports whether all kind bytes are valid. Only Sets can be large, and only in
// a block that lists large cells.
func kindsKnown(kinds []byte, large bool) bool {
	for _, k := range kinds {
		if !knownKinds[k] && !(large && k&^typeMask == kindLarge && knownKinds[k&typeMask]) {
			return false
		}
	}
	return true
}

// onlySmallSets reports whether all kind bytes are of Sets with small values.
func onlySmallSets(kinds []byte) bool {
	all := byte(0)
	for _, k := range kinds {
		all |= k
	}
	return all>>kindShift == 0
}
