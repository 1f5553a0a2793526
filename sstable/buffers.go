package sstable

import (
	"slices"

	"colonnade/internal/poison"
)

// A readBuffer holds a range of the file that was read with one call. Blocks inside
// it need no other read.
type readBuffer struct {
	offset uint64 // in the file
	b      []byte // with the guard after its length
}

// holds reports whether all of the block at h is in the buffer.
func (w *readBuffer) holds(h handle) bool {
	return h.offset >= w.offset && h.end() <= w.offset+uint64(len(w.b))
}

// block returns the block at h with its trailer. The buffer must hold it.
func (w *readBuffer) block(h handle) []byte {
	from := h.offset - w.offset
	return w.b[from : from+uint64(h.length)+trailerSize]
}

// fill reads the bytes of the file from offset to end, end excluded.
func (w *readBuffer) fill(t *Reader, offset, end uint64) error {
	w.b = resize(w.b, int(end-offset))
	w.offset = offset
	if err := readFull(t.r, t.id.Number, w.b, int64(offset)); err != nil {
		w.b = w.b[:0]
		return err
	}
	return nil
}

// buffers are reused from block to block by code that keeps no block.
type buffers struct {
	read readBuffer // stored blocks
	raw  []byte     // a decompressed block
}

// A blockBuffer is a cell block with memory of its own, for reuse.
type blockBuffer struct {
	cellBlock
	raw, values []byte // the decompressed cell block and its small values
}

// trim drops the block, and memory that an unusually large one has taken.
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

// resize returns a slice of n bytes with the guard after it, in b if that has the
// capacity. The contents of b are lost.
func resize(b []byte, n int) []byte {
	poison.Bytes(b)
	if cap(b) < n+guard {
		return slices.Grow([]byte(nil), n+guard)[:n] // uses all of the allocated size class
	}
	return b[:n]
}

// trim empties the buffer for reuse, and drops memory that a large value has taken.
func (w *readBuffer) trim() {
	poison.Bytes(w.b)
	w.b = w.b[:0]
	if cap(w.b) > maxKeptBuffer {
		w.b = nil
	}
}

// trim trims both buffers.
func (b *buffers) trim() {
	b.read.trim()
	poison.Bytes(b.raw)
	if cap(b.raw) > maxKeptBuffer {
		b.raw = nil
	}
}
