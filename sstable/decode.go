package sstable

import (
	"encoding/binary"
	"errors"
	"math"
)

var errEncoding = errors.New("cell block: its encoded form does not make sense")

// A blockDecoder makes a plain cell block from an encoded one (encode.go). It trusts
// nothing it reads: measure checks that the input has exactly the bytes that its
// numbers imply, before memory for the block is allocated. Whether the result is a
// valid block is for parse to check.
type blockDecoder struct {
	p  []byte // encoded block, guard included in its length
	n  int    // length without the guard
	at int    // next byte of p

	h cellHeader

	rowKeys, columnKeys     keyLengths // in p
	rowCounts, valueLengths packed     // in p
	dict                    valueDict

	block cellBlock // offsets of the arrays in raw; not parsed
	raw   []byte    // plain block, guard included in its length
}

// keyLengths locates the lengths of keys in the input.
type keyLengths struct{ shared, suffixes packed }

// valueDict describes the value dictionary of a block with flagValueDict.
type valueDict struct{ count, length int } // both 0 without the flag

// size returns the bytes of the dictionary and of the indexes of the given number of cells.
func (v *valueDict) size(cells uint64) uint64 {
	return uint64(1+v.count*v.length) + (cells*uint64(dictIndexBits(v.count))+7)/8
}

// decodeCellBlock decodes p, which must have the guard after it. The result is in dst,
// if that has the capacity, with the guard after it, and has at most limit bytes.
func decodeCellBlock(dst, p []byte, limit uint32) ([]byte, error) {
	d := blockDecoder{p: p[: len(p)+guard : len(p)+guard], n: len(p)}
	size, ok := d.measure(uint64(limit))
	if !ok {
		return nil, errEncoding
	}
	raw := resize(dst, size)
	d.raw = raw[:size+guard]
	d.block.slice(&d.h, raw)
	if !d.fill() {
		return nil, errEncoding
	}
	return raw, nil
}

// measure returns the length of the plain block. It reports false if that is above
// limit, or if the encoded block does not have the length its numbers imply.
func (d *blockDecoder) measure(limit uint64) (size int, ok bool) {
	h := &d.h
	if !d.readHeader(limit) {
		return 0, false
	}
	keyBytes := h.prefix
	if !d.sumKeys(&d.rowKeys, h.rows, &h.rowBytes, &keyBytes) || !d.sumKeys(&d.columnKeys, h.columns, &h.columnBytes, &keyBytes) {
		return 0, false
	}
	left := uint64(d.n - d.at)
	before := keyBytes + h.kinds() + h.cells*uint64(widthOf(h.columns-1)) + h.lists() // bytes before the values
	if h.versions != h.cells {
		before += h.cells * uint64(widthOf(h.versions-1))
	}
	values := uint64(0)
	switch {
	case h.smallBlocks > 0:
	case d.dict.length == 0:
		values = h.valueBytes
	default:
		if before >= left {
			return 0, false
		}
		d.dict.count = int(d.p[d.at+int(before)])
		if d.dict.count < 2 || d.dict.count > maxDictValues {
			return 0, false
		}
		values = d.dict.size(h.cells)
	}
	if before+values+h.versionBytes() != left {
		return 0, false
	}
	return int(h.size()), h.size() <= limit
}

// readHeader reads everything before the keys.
func (d *blockDecoder) readHeader(limit uint64) bool {
	h := &d.h
	for _, v := range [...]*uint64{&h.cells, &h.rows, &h.columns, &h.versions, &h.prefix, &h.valueBytes,
		&h.smallBlocks, &h.largeBlocks, &h.largeCells, &h.timeBase, &h.seqBase} {
		*v = d.uvarint()
	}
	widths := d.p[d.at:]
	if !d.skip(6) {
		return false
	}
	h.timeWidth, h.seqWidth, h.valueEndWidth, h.flags = widths[0], widths[1], widths[2], widths[5]
	hasDict := h.flags&flagValueDict != 0
	h.flags &^= flagValueDict
	// The limits that fits sets for a plain block hold for an encoded one too, so
	// whatever is computed from these numbers is small. Value bytes are an
	// exception, since values may be in other blocks.
	switch {
	case !h.fits(uint64(d.n)), h.valueBytes > math.MaxUint32, h.smallBlocks == 0 && h.valueBytes > limit:
		return false
	case hasDict:
		if h.flags&flagValueLength == 0 || h.smallBlocks > 0 || h.valueBytes == 0 {
			return false
		}
		d.dict.length = int(h.valueBytes / h.cells)
	}
	return d.keyLengths(&d.rowKeys, h.rows, widths[3]) &&
		d.array(&d.rowCounts, h.rows, widthOf(h.cells-h.rows)) &&
		(h.flags&flagValueLength != 0 || d.array(&d.valueLengths, h.cells, int(h.valueEndWidth))) &&
		d.keyLengths(&d.columnKeys, h.columns, widths[4])
}

// uvarint reads a uvarint. If there is none it moves to the end, where skip fails.
func (d *blockDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.p[d.at:d.n])
	if n <= 0 {
		d.at = d.n
		return 0
	}
	d.at += n
	return v
}

// skip moves on by n bytes and reports whether they exist.
func (d *blockDecoder) skip(n uint64) bool {
	if n > uint64(d.n-d.at) {
		return false
	}
	d.at += int(n)
	return true
}

// array skips an array of n elements, at most as many as p has bytes.
func (d *blockDecoder) array(p *packed, n uint64, width int) bool {
	*p = packed{uint32(d.at), uint32(width), widthMask(width)}
	return d.skip(n * uint64(width))
}

func (d *blockDecoder) keyLengths(s *keyLengths, n uint64, width byte) bool {
	return width <= 4 && d.array(&s.shared, n, int(width)) && d.array(&s.suffixes, n, int(width))
}

// sumKeys adds the length of n keys to sum, and the length of their suffixes to
// suffixBytes. It reports false if a key shares more than the one before has. The sums
// cannot overflow: there are at most as many keys as bytes in p, each shorter than
// 2^33.
func (d *blockDecoder) sumKeys(s *keyLengths, n uint64, sum, suffixBytes *uint64) bool {
	last := uint64(0)
	for i := range int(n) {
		shared, suffix := s.shared.at(d.p, i), s.suffixes.at(d.p, i)
		if shared > last {
			return false
		}
		last = shared + suffix
		*sum += last
		*suffixBytes += suffix
	}
	return true
}

// fill decodes the block into raw.
func (d *blockDecoder) fill() bool {
	h, b := &d.h, &d.block
	h.append(d.raw[:0])
	keys := b.largeAt + b.largeBlocks*handleSize
	rows := keys + int(h.prefix)
	columns := rows + int(h.rowBytes)
	d.copy(keys, int(h.prefix))
	d.decodeKeys(rows, &d.rowKeys, &b.rowOffsets, b.rows)
	d.decodeKeys(columns, &d.columnKeys, &b.columnOffsets, b.columns)
	if !d.decodeRowStarts() {
		return false
	}
	d.copy(int(b.columnOffsets.offset)+(b.columns+1)*int(b.columnOffsets.width), int(h.kinds()))
	d.copy(int(b.columnIDs.offset), b.cells*int(b.columnIDs.width))
	d.decodeVersionIDs()
	d.decodeValueEnds()
	d.copy(int(b.largeCells.offset), keys-int(b.largeCells.offset))
	if !d.decodeValues(columns + int(h.columnBytes)) {
		return false
	}
	d.copy(int(b.times.offset), int(h.versions)*int(h.timeWidth))
	d.copy(int(b.seqs.offset), int(h.versions)*int(h.seqWidth))
	return true
}

// set sets element i of an array of lengths.
func (d *blockDecoder) set(p *packed, i int, v uint64) {
	at := d.raw[int(p.offset)+i*int(p.width):]
	switch p.width {
	case 1:
		at[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(at, uint16(v))
	default:
		for k := range p.width {
			at[k] = byte(v >> (8 * k))
		}
	}
}

// copy copies the next n bytes.
func (d *blockDecoder) copy(to, n int) {
	copy(d.raw[to:], d.p[d.at:d.at+n])
	d.at += n
}

// decodeRowStarts fills the row starts, and reports whether the rows have as many cells
// as the block.
func (d *blockDecoder) decodeRowStarts() bool {
	starts := &d.block.rowStarts
	start := uint64(0)
	d.set(starts, 0, 0)
	if starts.width == 2 { // nearly always
		to := d.raw[starts.offset+2:][:2*d.block.rows]
		for r := 0; len(to) >= 2; r, to = r+1, to[2:] {
			start += d.rowCounts.at(d.p, r) + 1
			binary.LittleEndian.PutUint16(to, uint16(start))
		}
		return start == d.h.cells
	}
	for r := range d.block.rows {
		start += d.rowCounts.at(d.p, r) + 1
		d.set(starts, r+1, start)
	}
	return start == d.h.cells
}

// decodeVersionIDs fills the version ids from their deltas.
func (d *blockDecoder) decodeVersionIDs() {
	if d.block.versionPerCell {
		return
	}
	ids := &d.block.versionIDs
	deltas := packed{uint32(d.at), ids.width, ids.mask}
	d.at += d.block.cells * int(ids.width)
	id := uint64(0)
	if ids.width == 1 { // nearly always
		to := d.raw[ids.offset:]
		for i, delta := range d.p[deltas.offset:d.at] {
			id += uint64(delta)
			to[i] = byte(id)
		}
		return
	}
	for i := range d.block.cells {
		id += deltas.at(d.p, i)
		d.set(ids, i, id)
	}
}

// decodeValueEnds fills row values and value ends from the value lengths.
func (d *blockDecoder) decodeValueEnds() {
	b, lengths := &d.block, &d.valueLengths
	if b.valueLength >= 0 {
		return
	}
	i, sum := 0, uint64(0)
	d.set(&b.rowValues, 0, 0)
	for r := range b.rows {
		end, next := uint64(0), b.rowStarts.int(d.raw, r+1)
		if lengths.width == 1 { // nearly always
			to := d.raw[int(b.valueEnds.offset)+i:]
			for k, n := range lengths.span(d.p, i, next) {
				end += uint64(n)
				to[k] = byte(end)
			}
			i = next
		}
		for ; i < next; i++ {
			end += lengths.at(d.p, i)
			d.set(&b.valueEnds, i, end)
		}
		sum += end
		d.set(&b.rowValues, r+1, sum)
	}
}

// decodeKeys fills n keys and their offsets.
func (d *blockDecoder) decodeKeys(to int, s *keyLengths, offsets *packed, n int) {
	p, raw := d.p, d.raw
	at, last, key := d.at, to, to
	d.set(offsets, 0, 0)
	for k := range n {
		shared, suffix := s.shared.int(p, k), s.suffixes.int(p, k)
		if shared <= copySize && suffix <= copySize && key+2*copySize <= len(raw) && at+copySize <= len(p) {
			copyFixed(raw[key:], raw[last:])
			copyFixed(raw[key+shared:], p[at:])
		} else {
			copy(raw[key:], raw[last:last+shared])
			copy(raw[key+shared:], p[at:at+suffix])
		}
		at, last, key = at+suffix, key, key+shared+suffix
		d.set(offsets, k+1, uint64(key-to))
	}
	d.at = at
}

// copySize is how much copyFixed copies. Nearly all keys are short, and copying too much,
// over bytes that are filled later, is faster than a copy of variable length.
const copySize = 32

func copyFixed(to, from []byte) {
	to, from = to[:copySize:copySize], from[:copySize:copySize]
	a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	c, d := binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
	binary.LittleEndian.PutUint64(to, a)
	binary.LittleEndian.PutUint64(to[8:], b)
	binary.LittleEndian.PutUint64(to[16:], c)
	binary.LittleEndian.PutUint64(to[24:], d)
}

// decodeValues fills the small values if they are inline. It reports false for an
// index that is not in the dictionary.
func (d *blockDecoder) decodeValues(to int) bool {
	if d.dict.count == 0 {
		if d.h.smallBlocks == 0 {
			d.copy(to, d.block.valueBytes)
		}
		return true
	}
	count, n := d.dict.count, d.dict.length
	values, width := d.at+1, dictIndexBits(d.dict.count)
	var words [maxDictValues]uint64 // the values, if they have at most 8 bytes
	for id := range count {
		words[id] = binary.LittleEndian.Uint64(d.p[values+id*n:])
	}
	ids, raw := d.p[values+count*n:], d.raw
	for i := range d.block.cells {
		bit := i * width
		id := int(ids[bit/8]>>(bit%8)) & (1<<width - 1)
		if id >= count {
			return false
		}
		if n <= 8 {
			binary.LittleEndian.PutUint64(raw[to:], words[id])
		} else {
			copy(raw[to:], d.p[values+id*n:][:n])
		}
		to += n
	}
	d.at += int(d.dict.size(d.h.cells))
	return true
}
