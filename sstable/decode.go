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
	u := blockDecoder{p: p[: len(p)+guard : len(p)+guard], n: len(p)}
	size, ok := u.measure(uint64(limit))
	if !ok {
		return nil, errEncoding
	}
	raw := resize(dst, size)
	u.raw = raw[:size+guard]
	u.block.slice(&u.h, raw)
	if !u.fill() {
		return nil, errEncoding
	}
	return raw, nil
}

// measure returns the length of the plain block. It reports false if that is above
// limit, or if the encoded block does not have the length its numbers imply.
func (u *blockDecoder) measure(limit uint64) (size int, ok bool) {
	h := &u.h
	if !u.readHeader(limit) {
		return 0, false
	}
	keyBytes := h.prefix
	if !u.sumKeys(&u.rowKeys, h.rows, &h.rowBytes, &keyBytes) || !u.sumKeys(&u.columnKeys, h.columns, &h.columnBytes, &keyBytes) {
		return 0, false
	}
	left := uint64(u.n - u.at)
	before := keyBytes + h.kinds() + h.cells*uint64(widthOf(h.columns-1)) + h.lists() // bytes before the values
	if h.versions != h.cells {
		before += h.cells * uint64(widthOf(h.versions-1))
	}
	values := uint64(0)
	switch {
	case h.smallBlocks > 0:
	case u.dict.length == 0:
		values = h.valueBytes
	default:
		if before >= left {
			return 0, false
		}
		u.dict.count = int(u.p[u.at+int(before)])
		if u.dict.count < 2 || u.dict.count > maxDictValues {
			return 0, false
		}
		values = u.dict.size(h.cells)
	}
	if before+values+h.versionBytes() != left {
		return 0, false
	}
	return int(h.size()), h.size() <= limit
}

// readHeader reads everything before the keys.
func (u *blockDecoder) readHeader(limit uint64) bool {
	h := &u.h
	for _, v := range [...]*uint64{&h.cells, &h.rows, &h.columns, &h.versions, &h.prefix, &h.valueBytes,
		&h.smallBlocks, &h.largeBlocks, &h.largeCells, &h.timeBase, &h.seqBase} {
		*v = u.uvarint()
	}
	widths := u.p[u.at:]
	if !u.skip(6) {
		return false
	}
	h.timeWidth, h.seqWidth, h.valueEndWidth, h.flags = widths[0], widths[1], widths[2], widths[5]
	hasDict := h.flags&flagValueDict != 0
	h.flags &^= flagValueDict
	// The limits that fits sets for a plain block hold for an encoded one too, so
	// whatever is computed from these numbers is small. Value bytes are an
	// exception, since values may be in other blocks.
	switch {
	case !h.fits(uint64(u.n)), h.valueBytes > math.MaxUint32, h.smallBlocks == 0 && h.valueBytes > limit:
		return false
	case hasDict:
		if h.flags&flagValueLength == 0 || h.smallBlocks > 0 || h.valueBytes == 0 {
			return false
		}
		u.dict.length = int(h.valueBytes / h.cells)
	}
	return u.keyLengths(&u.rowKeys, h.rows, widths[3]) &&
		u.array(&u.rowCounts, h.rows, widthOf(h.cells-h.rows)) &&
		(h.flags&flagValueLength != 0 || u.array(&u.valueLengths, h.cells, int(h.valueEndWidth))) &&
		u.keyLengths(&u.columnKeys, h.columns, widths[4])
}

// uvarint reads a uvarint. If there is none it moves to the end, where skip fails.
func (u *blockDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(u.p[u.at:u.n])
	if n <= 0 {
		u.at = u.n
		return 0
	}
	u.at += n
	return v
}

// skip moves on by n bytes and reports whether they exist.
func (u *blockDecoder) skip(n uint64) bool {
	if n > uint64(u.n-u.at) {
		return false
	}
	u.at += int(n)
	return true
}

// array skips an array of n elements, at most as many as p has bytes.
func (u *blockDecoder) array(p *packed, n uint64, width int) bool {
	*p = packed{uint32(u.at), uint32(width), widthMask(width)}
	return u.skip(n * uint64(width))
}

func (u *blockDecoder) keyLengths(s *keyLengths, n uint64, width byte) bool {
	return width <= 4 && u.array(&s.shared, n, int(width)) && u.array(&s.suffixes, n, int(width))
}

// sumKeys adds the length of n keys to sum, and the length of their suffixes to
// suffixBytes. It reports false if a key shares more than the one before has. The sums
// cannot overflow: there are at most as many keys as bytes in p, each shorter than
// 2^33.
func (u *blockDecoder) sumKeys(s *keyLengths, n uint64, sum, suffixBytes *uint64) bool {
	last := uint64(0)
	for i := range int(n) {
		shared, suffix := s.shared.at(u.p, i), s.suffixes.at(u.p, i)
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
func (u *blockDecoder) fill() bool {
	h, b := &u.h, &u.block
	h.append(u.raw[:0])
	keys := b.largeAt + b.largeBlocks*handleSize
	rows := keys + int(h.prefix)
	columns := rows + int(h.rowBytes)
	u.copy(keys, int(h.prefix))
	u.decodeKeys(rows, &u.rowKeys, &b.rowOffsets, b.rows)
	u.decodeKeys(columns, &u.columnKeys, &b.columnOffsets, b.columns)
	if !u.decodeRowStarts() {
		return false
	}
	u.copy(int(b.columnOffsets.offset)+(b.columns+1)*int(b.columnOffsets.width), int(h.kinds()))
	u.copy(int(b.columnIDs.offset), b.cells*int(b.columnIDs.width))
	u.decodeVersionIDs()
	u.decodeValueEnds()
	u.copy(int(b.largeCells.offset), keys-int(b.largeCells.offset))
	if !u.decodeValues(columns + int(h.columnBytes)) {
		return false
	}
	u.copy(int(b.times.offset), int(h.versions)*int(h.timeWidth))
	u.copy(int(b.seqs.offset), int(h.versions)*int(h.seqWidth))
	return true
}

// set sets element i of an array of lengths.
func (u *blockDecoder) set(p *packed, i int, v uint64) {
	at := u.raw[int(p.offset)+i*int(p.width):]
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
func (u *blockDecoder) copy(to, n int) {
	copy(u.raw[to:], u.p[u.at:u.at+n])
	u.at += n
}

// decodeRowStarts fills the row starts, and reports whether the rows have as many cells
// as the block.
func (u *blockDecoder) decodeRowStarts() bool {
	starts := &u.block.rowStarts
	start := uint64(0)
	u.set(starts, 0, 0)
	for r := range u.block.rows {
		start += u.rowCounts.at(u.p, r) + 1
		u.set(starts, r+1, start)
	}
	return start == u.h.cells
}

// decodeVersionIDs fills the version ids from their deltas.
func (u *blockDecoder) decodeVersionIDs() {
	if u.block.versionPerCell {
		return
	}
	ids := &u.block.versionIDs
	deltas := packed{uint32(u.at), ids.width, ids.mask}
	u.at += u.block.cells * int(ids.width)
	id := uint64(0)
	if ids.width == 1 { // nearly always
		to := u.raw[ids.offset:]
		for i, delta := range u.p[deltas.offset:u.at] {
			id += uint64(delta)
			to[i] = byte(id)
		}
		return
	}
	for i := range u.block.cells {
		id += deltas.at(u.p, i)
		u.set(ids, i, id)
	}
}

// decodeValueEnds fills row values and value ends from the value lengths.
func (u *blockDecoder) decodeValueEnds() {
	b, lengths := &u.block, &u.valueLengths
	if b.valueLength >= 0 {
		return
	}
	i, sum := 0, uint64(0)
	u.set(&b.rowValues, 0, 0)
	for r := range b.rows {
		end, next := uint64(0), b.rowStarts.int(u.raw, r+1)
		if lengths.width == 1 { // nearly always
			to := u.raw[int(b.valueEnds.offset)+i:]
			for k, n := range lengths.span(u.p, i, next) {
				end += uint64(n)
				to[k] = byte(end)
			}
			i = next
		}
		for ; i < next; i++ {
			end += lengths.at(u.p, i)
			u.set(&b.valueEnds, i, end)
		}
		sum += end
		u.set(&b.rowValues, r+1, sum)
	}
}

// decodeKeys fills n keys and their offsets.
func (u *blockDecoder) decodeKeys(to int, s *keyLengths, offsets *packed, n int) {
	p, raw := u.p, u.raw
	at, last, key := u.at, to, to
	u.set(offsets, 0, 0)
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
		u.set(offsets, k+1, uint64(key-to))
	}
	u.at = at
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
func (u *blockDecoder) decodeValues(to int) bool {
	if u.dict.count == 0 {
		if u.h.smallBlocks == 0 {
			u.copy(to, u.block.valueBytes)
		}
		return true
	}
	count, n := u.dict.count, u.dict.length
	values, width := u.at+1, dictIndexBits(u.dict.count)
	var words [maxDictValues]uint64 // the values, if they have at most 8 bytes
	for id := range count {
		words[id] = binary.LittleEndian.Uint64(u.p[values+id*n:])
	}
	ids, raw := u.p[values+count*n:], u.raw
	for i := range u.block.cells {
		bit := i * width
		id := int(ids[bit/8]>>(bit%8)) & (1<<width - 1)
		if id >= count {
			return false
		}
		if n <= 8 {
			binary.LittleEndian.PutUint64(raw[to:], words[id])
		} else {
			copy(raw[to:], u.p[values+id*n:][:n])
		}
		to += n
	}
	u.at += int(u.dict.size(u.h.cells))
	return true
}
