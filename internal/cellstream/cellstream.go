// Package cellstream is the format in which sorted cells are sent to be loaded (POST /v1/table/{table}/bulk). It is written
// in few bytes and read in few steps: no text is parsed.
//
//	stream   magic, frames, an empty frame. Without the empty frame it was cut off.
//	+-------+-------+-------+-------+---+
//	| magic | frame | frame | …     | 0 |
//	+-------+-------+-------+-------+---+
//	  8
//
//	frame
//	+--------+------+------+-------+----------+
//	| length | cell | cell | …     | checksum |
//	+--------+------+------+-------+----------+
//	  uvarint                        4
//
//	length    of the cells, at most MaxFrame; 0 for the empty frame, which has no checksum
//	checksum  CRC-32C of the cells
//
//	cell
//	+-------+------------+-----+---------------+--------+------------------+-----------+
//	| flags | row length | row | family length | family | qualifier length | qualifier |
//	+-------+------------+-----+---------------+--------+------------------+-----------+
//	  1       uvarint *    *     uvarint **      **       uvarint **         **
//	+------+--------------+-------+
//	| time | value length | value |
//	+------+--------------+-------+
//	  8 ***  uvarint
//
//	flags  bits 0 to 3 the type of the value, as cell.Type; bit 4: the row is that of the cell before, * is left out; bit 5:
//	       so is the column, ** is left out; bit 6: so is the time, *** is left out. The first cell of a frame has none
//	       of the three bits.
//
// Fixed-width numbers are little endian.
package cellstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/colonnade-db/colonnade/cell"
)

// MediaType is the Content-Type of a stream.
const MediaType = "application/x-colonnade-cells"

// Magic begins a stream.
const Magic = "COLCELL\x01"

// MaxFrame bounds the cells of a frame in bytes. FrameBytes is the size at which a Writer ends one.
const (
	MaxFrame   = 64 << 20
	FrameBytes = 256 << 10
)

const (
	typeMask   = 0x0f
	sameRow    = 0x10
	sameColumn = 0x20
	sameTime   = 0x40
)

// Cell is a version of a cell.
type Cell struct {
	Row, Family, Qualifier, Value []byte
	Time                          int64
	Type                          cell.Type
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encoder makes a frame.
type Encoder struct {
	buf   []byte
	cells int
	fresh bool // the cell before is not in last
	last  Cell // its slices are in buf, in which earlier ones stay valid
}

// headRoom is the room for the length of a frame.
const headRoom = binary.MaxVarintLen32

// Add appends a cell. It copies everything.
func (e *Encoder) Add(c *Cell) {
	if e.cells == 0 {
		e.buf = append(e.buf[:0], make([]byte, headRoom)...)
	}
	flags, first := byte(c.Type), e.cells == 0 || e.fresh
	e.fresh = false
	if !first && bytes.Equal(c.Row, e.last.Row) {
		flags |= sameRow
	}
	if !first && bytes.Equal(c.Qualifier, e.last.Qualifier) && bytes.Equal(c.Family, e.last.Family) {
		flags |= sameColumn
	}
	if !first && c.Time == e.last.Time {
		flags |= sameTime
	}
	e.buf = append(e.buf, flags)
	if flags&sameRow == 0 {
		e.last.Row = e.bytes(c.Row)
	}
	if flags&sameColumn == 0 {
		e.last.Family = e.bytes(c.Family)
		e.last.Qualifier = e.bytes(c.Qualifier)
	}
	if flags&sameTime == 0 {
		e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(c.Time))
	}
	e.last.Time = c.Time
	e.bytes(c.Value)
	e.cells++
}

func (e *Encoder) bytes(b []byte) []byte {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(b)))
	at := len(e.buf)
	e.buf = append(e.buf, b...)
	return e.buf[at:]
}

// Size returns the bytes of the frame so far.
func (e *Encoder) Size() int { return len(e.buf) }

// Cells returns the number of cells of the frame so far.
func (e *Encoder) Cells() int { return e.cells }

// Frame ends the frame and returns it, valid until the next Add. Without cells it is the empty frame.
func (e *Encoder) Frame() []byte {
	if e.cells == 0 {
		return []byte{0}
	}
	e.cells, e.last = 0, Cell{}
	e.buf = binary.LittleEndian.AppendUint32(e.buf, crc32.Checksum(e.buf[headRoom:], castagnoli))
	var head [headRoom]byte
	n := binary.PutUvarint(head[:], uint64(len(e.buf)-headRoom-4))
	copy(e.buf[headRoom-n:], head[:n])
	return e.buf[headRoom-n:]
}

// Take returns the cells that were added since the last frame, in the form of a frame's cells, valid until the next Add.
// The frame is empty then.
func (e *Encoder) Take() []byte {
	e.last = Cell{}
	if e.cells == 0 {
		return nil
	}
	e.cells = 0
	return e.buf[headRoom:]
}

// AddEncoded appends cells as Take has returned them, n in number.
func (e *Encoder) AddEncoded(cells []byte, n int) {
	if e.cells == 0 {
		e.buf = append(e.buf[:0], make([]byte, headRoom)...)
	}
	e.buf = append(e.buf, cells...)
	e.cells += n
	e.last = Cell{} // as if the frame began: the next cell repeats nothing
	e.fresh = true
}

// Errors of a stream.
var (
	ErrMagic    = errors.New("the stream does not begin as one of cells does")
	ErrLength   = errors.New("a frame is too long")
	ErrChecksum = errors.New("the checksum of a frame does not match: it was damaged on the way")
	errCell     = errors.New("a cell of a frame ends behind the frame")
)

// Split returns the cells of the first frame of data, and the length of the frame. n is 0 if more of it is to come; end says
// that it is the empty frame.
func Split(data []byte) (cells []byte, n int, end bool, err error) {
	length, head := binary.Uvarint(data)
	switch {
	case head == 0 && len(data) < headRoom:
		return nil, 0, false, nil
	case head <= 0 || length > MaxFrame:
		return nil, 0, false, ErrLength
	case length == 0:
		return nil, head, true, nil
	}
	n = head + int(length) + 4
	if len(data) < n {
		return nil, 0, false, nil
	}
	cells = data[head : head+int(length)]
	if crc32.Checksum(cells, castagnoli) != binary.LittleEndian.Uint32(data[n-4:]) {
		return nil, 0, false, ErrChecksum
	}
	return cells, n, false, nil
}

// Decoder reads the cells of a frame, whose slices point into it.
type Decoder struct {
	rest  []byte
	begun bool
	err   error
}

// Reset starts with the cells of a frame.
func (d *Decoder) Reset(cells []byte) { *d = Decoder{rest: cells} }

// Next changes the cell before into the next one. It returns false at the end and on an error.
func (d *Decoder) Next(c *Cell) bool {
	if len(d.rest) == 0 || d.err != nil {
		return false
	}
	flags := d.rest[0]
	d.rest = d.rest[1:]
	if !d.begun && flags&(sameRow|sameColumn|sameTime) != 0 || flags&0x80 != 0 {
		d.err = errCell
		return false
	}
	d.begun = true
	c.Type = cell.Type(flags & typeMask)
	if flags&sameRow == 0 {
		c.Row = d.bytes()
	}
	if flags&sameColumn == 0 {
		c.Family = d.bytes()
		c.Qualifier = d.bytes()
	}
	if flags&sameTime == 0 {
		if len(d.rest) < 8 {
			d.err = errCell
			return false
		}
		c.Time = int64(binary.LittleEndian.Uint64(d.rest))
		d.rest = d.rest[8:]
	}
	c.Value = d.bytes()
	return d.err == nil
}

// Err returns why Next has returned false, nil at the end.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) bytes() []byte {
	n, head := binary.Uvarint(d.rest)
	if head <= 0 || n > uint64(len(d.rest)-head) {
		d.err, d.rest = errCell, nil
		return nil
	}
	b := d.rest[head : head+int(n) : head+int(n)]
	d.rest = d.rest[head+int(n):]
	return b
}
