package sstable

import (
	"slices"

	"colonnade/internal/poison"
)

// A window is a stretch of the file in memory, read with one call. Blocks that
// lie in it need no further read.
type readBuffer struct {
	offset uint64 // in the file
	b      []byte // with the guard behind its length
}

// holds reports whether the block at h lies in the window as a whole.
func (w *readBuffer) holds(h handle) bool {
	return h.offset >= w.offset && h.end() <= w.offset+uint64(len(w.b))
}

// block returns the block at h, which the window holds, with its trailer.
func (w *readBuffer) block(h handle) []byte {
	from := h.offset - w.offset
	return w.b[from : from+uint64(h.length)+trailerSize]
}

// read fills the window with the bytes of the file up to end, not included.
func (w *readBuffer) fill(t *Reader, offset, end uint64) error {
	w.b = resize(w.b, int(end-offset))
	w.offset = offset
	if err := readFull(t.r, t.id.Number, w.b, int64(offset)); err != nil {
		w.b = w.b[:0]
		return err
	}
	return nil
}

// buffers are reused from block to block by whoever reads blocks for itself
// alone.
type buffers struct {
	read readBuffer // blocks as they are in the file
	raw  []byte     // a decompressed block
}

// An ownBlock is a cell block in buffers of its own, to be used again.
type blockBuffer struct {
	cellBlock
	raw, values []byte // what it is decompressed into
}

// trim gives up the block, and a buffer that a large one has blown up.
func (b *blockBuffer) trim() {
	b.cellBlock = cellBlock{}
	poison.Bytes(b.raw)
	poison.Bytes(b.values)
	if cap(b.raw) > maxKeptBuffer {
		b.raw = nil
	}
	if cap(b.values) > maxKeptBuffer {
		b.values = nil
	}
}

// sized returns a slice of n bytes with the guard behind, in b if there is room. What b held
// is gone.
func resize(b []byte, n int) []byte {
	poison.Bytes(b)
	if cap(b) < n+guard {
		return slices.Grow([]byte(nil), n+guard)[:n] // its capacity is what it takes
	}
	return b[:n]
}

// trim empties the window for another use, and drops a buffer that a large value
// has blown up.
func (w *readBuffer) trim() {
	poison.Bytes(w.b)
	w.b = w.b[:0]
	if cap(w.b) > maxKeptBuffer {
		w.b = nil
	}
}

// trim is window.trim for both buffers.
func (b *buffers) trim() {
	b.read.trim()
	poison.Bytes(b.raw)
	if cap(b.raw) > maxKeptBuffer {
		b.raw = nil
	}
}
