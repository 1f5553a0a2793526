package sstable

import (
	"slices"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// A readBuffer holds a range of the file that was read with one call. Blocks inside
// it need no other read.
type readBuffer struct {
	offset uint64 // in the file
	b      []byte // with the guard after its length
}

// holds reports whether all of the block at h is in the buffer.
func (b *readBuffer) holds(h handle) bool {
	return h.offset >= b.offset && h.end() <= b.offset+uint64(len(b.b))
}

// block returns the block at h with its trailer. The buffer must hold it.
func (b *readBuffer) block(h handle) []byte {
	from := h.offset - b.offset
	return b.b[from : from+uint64(h.length)+trailerSize]
}

// fill reads the bytes of the file from offset to end, end excluded.
func (b *readBuffer) fill(t *Reader, offset, end uint64) error {
	b.b = resize(b.b, int(end-offset))
	b.offset = offset
	if err := readFull(t.r, t.id.Number, b.b, int64(offset)); err != nil {
		b.b = b.b[:0]
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
func (b *readBuffer) trim() {
	poison.Bytes(b.b)
	b.b = b.b[:0]
	if cap(b.b) > maxKeptBuffer {
		b.b = nil
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
