package sstable

import (
	"encoding/binary"
	"errors"
	"math"
)

var errFolded = errors.New("cell block: its folded form does not make sense")

// An unfolder makes a cell block out of its folded form (see fold.go). It trusts nothing that it
// reads: measure finds out whether all that the numbers speak of is there, to the byte, before there
// is memory for the block. Whether what it has made is a block, parse says.
type unfolder struct {
	p  []byte // folded, with the guard inside its length
	n  int    // its length without
	at int    // what comes next in p

	h cellHeader

	rowSteps, columnSteps  steps  // in p
	rowCells, valueLengths packed // in p
	numbered               numberedValues

	block cellBlock // what is made, not open yet: where its arrays lie in raw
	raw   []byte    // of the block, with the guard inside its length
}

// steps are where the shares and lengths of keys lie.
type steps struct{ shares, lengths packed }

// numberedValues are the small values of a block with flagNumbered.
type numberedValues struct{ count, length int } // 0 of a block without

// size is how many bytes they and the numbers of so many cells take.
func (v *numberedValues) size(cells uint64) uint64 {
	return uint64(1+v.count*v.length) + (cells*uint64(numberBits(v.count))+7)/8
}

// unfold returns the block whose folded form is p, which must have the guard behind its length. It
// is put into dst, if that has the room, with the guard behind it, and is at most limit bytes long.
func unfold(dst, p []byte, limit uint32) ([]byte, error) {
	u := unfolder{p: p[: len(p)+guard : len(p)+guard], n: len(p)}
	size, ok := u.measure(uint64(limit))
	if !ok {
		return nil, errFolded
	}
	raw := sized(dst, size)
	u.raw = raw[:size+guard]
	u.block.slice(&u.h, raw)
	if !u.fill() {
		return nil, errFolded
	}
	return raw, nil
}

// measure finds out how long the block is, and reports whether it is at most limit and the folded
// form is as long as that of such a block.
func (u *unfolder) measure(limit uint64) (size int, ok bool) {
	h := &u.h
	if !u.readNumbers(limit) {
		return 0, false
	}
	rests := h.prefix
	if !u.keyBytes(&u.rowSteps, h.rows, &h.rowBytes, &rests) || !u.keyBytes(&u.columnSteps, h.columns, &h.columnBytes, &rests) {
		return 0, false
	}
	left := uint64(u.n - u.at)
	before := rests + h.kinds() + h.cells*uint64(widthOf(h.columns-1)) + h.lists() // the values
	if h.stamps != h.cells {
		before += h.cells * uint64(widthOf(h.stamps-1))
	}
	values := uint64(0)
	switch {
	case h.smallBlocks > 0:
	case u.numbered.length == 0:
		values = h.valueBytes
	default:
		if before >= left {
			return 0, false
		}
		u.numbered.count = int(u.p[u.at+int(before)])
		if u.numbered.count < 2 || u.numbered.count > mostNumbered {
			return 0, false
		}
		values = u.numbered.size(h.cells)
	}
	if before+values+h.stampBytes() != left {
		return 0, false
	}
	return int(h.size()), h.size() <= limit
}

// readNumbers reads all up to the keys.
func (u *unfolder) readNumbers(limit uint64) bool {
	h := &u.h
	for _, v := range [...]*uint64{&h.cells, &h.rows, &h.columns, &h.stamps, &h.prefix, &h.valueBytes,
		&h.smallBlocks, &h.largeBlocks, &h.largeCells, &h.timeBase, &h.seqBase} {
		*v = u.number()
	}
	widths := u.p[u.at:]
	if !u.skip(6) {
		return false
	}
	h.timeWidth, h.seqWidth, h.valueEndWidth, h.flags = widths[0], widths[1], widths[2], widths[5]
	numbered := h.flags&flagNumbered != 0
	h.flags &^= flagNumbered
	// What fits says of the block's length holds for the folded one too, so whatever is computed
	// from these numbers is small. Value bytes are another matter: they may stand elsewhere.
	switch {
	case !h.fits(uint64(u.n)), h.valueBytes > math.MaxUint32, h.smallBlocks == 0 && h.valueBytes > limit:
		return false
	case numbered:
		if h.flags&flagValueLength == 0 || h.smallBlocks > 0 || h.valueBytes == 0 {
			return false
		}
		u.numbered.length = int(h.valueBytes / h.cells)
	}
	return u.steps(&u.rowSteps, h.rows, widths[3]) &&
		u.array(&u.rowCells, h.rows, widthOf(h.cells-h.rows)) &&
		(h.flags&flagValueLength != 0 || u.array(&u.valueLengths, h.cells, int(h.valueEndWidth))) &&
		u.steps(&u.columnSteps, h.columns, widths[4])
}

// number reads a uvarint. Where there is none it goes to where skip fails.
func (u *unfolder) number() uint64 {
	v, n := binary.Uvarint(u.p[u.at:u.n])
	if n <= 0 {
		u.at = u.n
		return 0
	}
	u.at += n
	return v
}

// skip goes on by n bytes and reports whether they are there.
func (u *unfolder) skip(n uint64) bool {
	if n > uint64(u.n-u.at) {
		return false
	}
	u.at += int(n)
	return true
}

// array skips one of n elements, which cannot be more than p has bytes.
func (u *unfolder) array(p *packed, n uint64, width int) bool {
	*p = packed{uint32(u.at), uint32(width), widthMask(width)}
	return u.skip(n * uint64(width))
}

func (u *unfolder) steps(s *steps, n uint64, width byte) bool {
	return width <= 4 && u.array(&s.shares, n, int(width)) && u.array(&s.lengths, n, int(width))
}

// keyBytes finds how long n keys are together, and adds to rests what of that is in p. It reports
// whether none shares more than there is. The sums cannot overflow: there are at most as many keys
// as bytes in p, each of less than 2^33.
func (u *unfolder) keyBytes(s *steps, n uint64, sum, rests *uint64) bool {
	last := uint64(0)
	for i := range int(n) {
		share, length := s.shares.at(u.p, i), s.lengths.at(u.p, i)
		if share > last {
			return false
		}
		last = share + length
		*sum += last
		*rests += length
	}
	return true
}

// fill makes the block.
func (u *unfolder) fill() bool {
	h, b := &u.h, &u.block
	h.append(u.raw[:0])
	keys := b.largeAt + b.largeBlocks*handleSize
	rows := keys + int(h.prefix)
	columns := rows + int(h.rowBytes)
	u.copy(keys, int(h.prefix))
	u.fillKeys(rows, &u.rowSteps, &b.rowOffsets, b.rows)
	u.fillKeys(columns, &u.columnSteps, &b.columnOffsets, b.columns)
	if !u.fillStarts() {
		return false
	}
	u.copy(int(b.columnOffsets.offset)+(b.columns+1)*int(b.columnOffsets.width), int(h.kinds()))
	u.copy(int(b.columnIDs.offset), b.cells*int(b.columnIDs.width))
	u.fillStamps()
	u.fillValueEnds()
	u.copy(int(b.largeCells.offset), keys-int(b.largeCells.offset))
	if !u.fillValues(columns + int(h.columnBytes)) {
		return false
	}
	u.copy(int(b.times.offset), int(h.stamps)*int(h.timeWidth))
	u.copy(int(b.seqs.offset), int(h.stamps)*int(h.seqWidth))
	return true
}

// set sets element i of an array that holds lengths.
func (u *unfolder) set(p *packed, i int, v uint64) {
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

// copy takes the next n bytes as they are.
func (u *unfolder) copy(to, n int) {
	copy(u.raw[to:], u.p[u.at:u.at+n])
	u.at += n
}

// fillStarts makes the row starts, and reports whether the cells of rows are those of the block.
func (u *unfolder) fillStarts() bool {
	starts := &u.block.rowStarts
	start := uint64(0)
	u.set(starts, 0, 0)
	for r := range u.block.rows {
		start += u.rowCells.at(u.p, r) + 1
		u.set(starts, r+1, start)
	}
	return start == u.h.cells
}

// fillStamps makes the stamp ids out of the steps between them.
func (u *unfolder) fillStamps() {
	if u.block.stampPerCell {
		return
	}
	ids := &u.block.stampIDs
	steps := packed{uint32(u.at), ids.width, ids.mask}
	u.at += u.block.cells * int(ids.width)
	id := uint64(0)
	if ids.width == 1 { // as it is nearly always
		to := u.raw[ids.offset:]
		for i, step := range u.p[steps.offset:u.at] {
			id += uint64(step)
			to[i] = byte(id)
		}
		return
	}
	for i := range u.block.cells {
		id += steps.at(u.p, i)
		u.set(ids, i, id)
	}
}

// fillValueEnds makes row values and value ends out of the value lengths.
func (u *unfolder) fillValueEnds() {
	b, lengths := &u.block, &u.valueLengths
	if b.valueLength >= 0 {
		return
	}
	i, sum := 0, uint64(0)
	u.set(&b.rowValues, 0, 0)
	for r := range b.rows {
		end, next := uint64(0), b.rowStarts.int(u.raw, r+1)
		if lengths.width == 1 { // as it is nearly always
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

// fillKeys makes n keys, and where they lie.
func (u *unfolder) fillKeys(to int, s *steps, offsets *packed, n int) {
	p, raw := u.p, u.raw
	at, last, key := u.at, to, to
	u.set(offsets, 0, 0)
	for k := range n {
		share, length := s.shares.int(p, k), s.lengths.int(p, k)
		if share <= fixedMove && length <= fixedMove && key+2*fixedMove <= len(raw) && at+fixedMove <= len(p) {
			move(raw[key:], raw[last:])
			move(raw[key+share:], p[at:])
		} else {
			copy(raw[key:], raw[last:last+share])
			copy(raw[key+share:], p[at:at+length])
		}
		at, last, key = at+length, key, key+share+length
		u.set(offsets, k+1, uint64(key-to))
	}
	u.at = at
}

// fixedMove is how much move copies. Nearly all keys are short, and to copy more than there is, to
// where the next key or the values come, is faster than to ask how much that is.
const fixedMove = 32

func move(to, from []byte) {
	to, from = to[:fixedMove:fixedMove], from[:fixedMove:fixedMove]
	a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	c, d := binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
	binary.LittleEndian.PutUint64(to, a)
	binary.LittleEndian.PutUint64(to[8:], b)
	binary.LittleEndian.PutUint64(to[16:], c)
	binary.LittleEndian.PutUint64(to[24:], d)
}

// fillValues makes the small values, if they are here. It reports false for a value that is none of
// those numbered.
func (u *unfolder) fillValues(to int) bool {
	if u.numbered.count == 0 {
		if u.h.smallBlocks == 0 {
			u.copy(to, u.block.valueBytes)
		}
		return true
	}
	count, n := u.numbered.count, u.numbered.length
	values, width := u.at+1, numberBits(u.numbered.count)
	var words [mostNumbered]uint64 // the values, if they are that short
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
	u.at += int(u.numbered.size(u.h.cells))
	return true
}
