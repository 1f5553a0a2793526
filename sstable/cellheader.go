package sstable

import "encoding/binary"

// A cellHeader is the decoded header of a cell block. Lengths are uint64, so that
// their sums and products cannot overflow.
type cellHeader struct {
	cells, rows, columns, versions            uint64
	prefix, rowBytes, columnBytes             uint64
	valueBytes                                uint64
	smallBlocks, largeBlocks, largeCells      uint64
	timeBase, seqBase                         uint64
	timeWidth, seqWidth, valueEndWidth, flags byte
}

func (h *cellHeader) append(dst []byte) []byte {
	for _, v := range [...]uint64{h.cells, h.rows, h.columns, h.versions, h.prefix, h.rowBytes,
		h.columnBytes, h.valueBytes, h.smallBlocks, h.largeBlocks, h.largeCells} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	dst = binary.LittleEndian.AppendUint64(dst, h.timeBase)
	dst = binary.LittleEndian.AppendUint64(dst, h.seqBase)
	return append(dst, h.timeWidth, h.seqWidth, h.valueEndWidth, h.flags)
}

func (h *cellHeader) parse(p []byte) {
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(p[at:])) }
	*h = cellHeader{
		cells: u32(0), rows: u32(4), columns: u32(8), versions: u32(12),
		prefix: u32(16), rowBytes: u32(20), columnBytes: u32(24), valueBytes: u32(28),
		smallBlocks: u32(32), largeBlocks: u32(36), largeCells: u32(40),
		timeBase: binary.LittleEndian.Uint64(p[44:]), seqBase: binary.LittleEndian.Uint64(p[52:]),
		timeWidth: p[60], seqWidth: p[61], valueEndWidth: p[62], flags: p[63],
	}
}

// fits reports whether a block of n bytes can have the header. No valid block has more
// cells than bytes: cells of one row differ in column or version and rows differ in
// their keys, and each difference takes a byte. This bounds the work of opening a
// block.
func (h *cellHeader) fits(n uint64) bool {
	for _, v := range [...]uint64{h.rows, h.columns, h.versions} {
		if v == 0 || v > h.cells {
			return false
		}
	}
	for _, v := range [...]uint64{h.cells, h.prefix, h.rowBytes, h.columnBytes, h.smallBlocks, h.largeBlocks, h.largeCells} {
		if v > n {
			return false
		}
	}
	if h.timeWidth > 8 || h.seqWidth > 8 || h.valueEndWidth > 4 || h.flags&^flagsKnown != 0 {
		return false
	}
	if h.valueBytes == 0 && h.smallBlocks > 0 || h.largeBlocks > h.largeCells {
		return false
	}
	return h.flags&flagValueLength == 0 || h.valueEndWidth == 0 && h.valueBytes%h.cells == 0
}

// size returns the length of the plain block. No product overflows, since fits limits
// both factors.
func (h *cellHeader) size() uint64 {
	n := cellHeaderSize + (h.rows+1)*uint64(widthOf(h.rowBytes)+widthOf(h.cells))
	n += (h.columns + 1) * uint64(widthOf(h.columnBytes))
	n += h.kinds() + h.versionBytes() + h.cells*uint64(widthOf(h.columns-1))
	if h.versions != h.cells {
		n += h.cells * uint64(widthOf(h.versions-1))
	}
	if h.flags&flagValueLength == 0 {
		n += (h.rows+1)*uint64(widthOf(h.valueBytes)) + h.cells*uint64(h.valueEndWidth)
	}
	n += h.lists() + h.prefix + h.rowBytes + h.columnBytes
	if h.smallBlocks == 0 {
		n += h.valueBytes
	}
	return n
}

// kinds returns the number of kind bytes.
func (h *cellHeader) kinds() uint64 {
	if h.flags&flagKindPerCell != 0 {
		return h.cells
	}
	return h.columns
}

// versionBytes returns the length of times and sequence numbers.
func (h *cellHeader) versionBytes() uint64 { return h.versions * uint64(h.timeWidth+h.seqWidth) }

// lists returns the length of the lists of large cells and value blocks.
func (h *cellHeader) lists() uint64 {
	return h.largeCells*uint64(widthOf(h.cells)+referenceSize) + h.smallBlocks*smallEntrySize + h.largeBlocks*handleSize
}
