package sstable

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// The most that a block of each kind may claim to be when decompressed. The
// Writer stays far below, but for the index.
const (
	maxCellBlock  = 8 << 20
	maxIndex      = 64 << 20
	maxProperties = 16 << 20
)

// maxCachedValue is the longest value block that goes into the cache.
const maxCachedValue = 256 << 10

// A Reader reads one file. It is safe for concurrent use, and so are its
// methods' results but for iterators. It holds no resources of its own beside
// the io.ReaderAt that it was given and needs no closing; the io.ReaderAt must
// stay open while the Reader or an iterator of it is used.
type Reader struct {
	r     io.ReaderAt
	id    ID
	sum   checksums
	cache Cache // nil: none

	footer footer
	info   Info

	// Without a cache, the index and the filter are kept here once read.
	index  atomic.Pointer[index]
	filter atomic.Pointer[filter]
}

// Open opens the file with this id and size, both as the engine has recorded
// them. It reads the footer and the properties; index and filter are read when
// first needed, and kept in the cache, which may be nil.
func Open(r io.ReaderAt, size int64, id ID, cache Cache) (*Reader, error) {
	t := &Reader{r: r, id: id, sum: newChecksums(id), cache: cache}
	tail := make([]byte, max(min(size, maxFooterSize), 0))
	if err := readFull(r, id.Number, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	if err := t.footer.parse(tail, id, size); err != nil {
		return nil, err
	}
	var b buffers
	raw, err := t.readBlock(t.footer.properties, maxProperties, &b)
	if err != nil {
		return nil, err
	}
	if err := t.info.parse(raw); err != nil {
		return nil, t.corrupt(t.footer.properties.offset, err)
	}
	t.info.Size = size
	return t, nil
}

// Info describes the file. Its slices must not be changed.
func (t *Reader) Info() Info { return t.info }

// MayContain reports whether the file may have cells of a row; the answer false
// is certain. It allocates nothing once the filter has been read.
func (t *Reader) MayContain(row []byte) (bool, error) {
	f, err := t.openFilter()
	if err != nil {
		return false, err
	}
	return f.mayContain(row), nil
}

func (t *Reader) corrupt(offset uint64, reason error) error {
	return &CorruptError{t.id.Number, int64(offset), reason.Error()}
}

// buffers are reused from block to block by whoever reads blocks for itself
// alone.
type buffers struct {
	stored []byte // a block as it is in the file
	raw    []byte // a decompressed block
}

// sized returns a slice of n bytes with the guard behind, in b if there is room.
func sized(b []byte, n int) []byte {
	if cap(b) < n+guard {
		b = make([]byte, n+guard)
	}
	return b[:n]
}

// trim drops buffers that a large value has blown up.
func (b *buffers) trim() {
	const keep = 512 << 10
	if cap(b.stored) > keep {
		b.stored = nil
	}
	if cap(b.raw) > keep {
		b.raw = nil
	}
}

// readStored reads the block at h and checks its checksum and the length that it
// claims. The stored bytes are valid until the buffers are used again.
func (t *Reader) readStored(h handle, limit uint32, b *buffers) (stored []byte, c trailer, err error) {
	if !h.within(uint64(t.footer.size)) {
		return nil, c, t.corrupt(h.offset, fmt.Errorf("a block of %d bytes outside the file", h.length))
	}
	b.stored = sized(b.stored, int(h.length)+trailerSize)
	if err := readFull(t.r, t.id.Number, b.stored, int64(h.offset)); err != nil {
		return nil, c, err
	}
	stored, c, ok := t.sum.split(b.stored, h.offset)
	switch {
	case !ok:
		return nil, c, t.corrupt(h.offset, fmt.Errorf("checksum mismatch in a block of %d bytes", h.length))
	case c.rawLength > limit:
		return nil, c, t.corrupt(h.offset, fmt.Errorf("a block of %d bytes claims %d, more than %d", h.length, c.rawLength, limit))
	}
	return stored, c, nil
}

// readBlock reads the block at h into the buffers. The raw bytes have the guard
// behind them and are valid until the buffers are used again.
func (t *Reader) readBlock(h handle, limit uint32, b *buffers) ([]byte, error) {
	stored, c, err := t.readStored(h, limit, b)
	if err != nil {
		return nil, err
	}
	if c.compression == None && len(stored) == int(c.rawLength) {
		return stored, nil // the trailer and more stand behind it
	}
	b.raw = sized(b.raw, int(c.rawLength))
	if err := decompress(c.compression, b.raw, stored); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	return b.raw, nil
}

// storedBuffers serve reads whose result outlives them, in a buffer of its own.
var storedBuffers = sync.Pool{New: func() any { return new(buffers) }}

// readFresh reads the block at h into memory of its own, with the guard behind.
func (t *Reader) readFresh(h handle, limit uint32) ([]byte, error) {
	b := storedBuffers.Get().(*buffers)
	defer func() {
		b.trim()
		storedBuffers.Put(b)
	}()
	stored, c, err := t.readStored(h, limit, b)
	if err != nil {
		return nil, err
	}
	raw := sized(nil, int(c.rawLength))
	if err := decompress(c.compression, raw, stored); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	return raw, nil
}

// cached returns the block at offset from the cache, if it is there.
func cached[B Block](t *Reader, offset uint64) (b B, ok bool) {
	if t.cache == nil {
		return b, false
	}
	b, ok = t.cache.Get(Key{t.id.Number, offset}).(B)
	return b, ok
}

// keep puts a block into the cache.
func (t *Reader) keep(offset uint64, b Block) {
	if t.cache != nil {
		t.cache.Put(Key{t.id.Number, offset}, b)
	}
}

func (t *Reader) openIndex() (*index, error) {
	h := t.footer.index
	if x, ok := cached[*index](t, h.offset); ok {
		return x, nil
	}
	if x := t.index.Load(); x != nil {
		return x, nil
	}
	raw, err := t.readFresh(h, maxIndex)
	if err != nil {
		return nil, err
	}
	x := new(index)
	if err := x.parse(raw, t.footer.filter.offset); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	if t.cache == nil {
		t.index.Store(x)
	}
	t.keep(h.offset, x)
	return x, nil
}

func (t *Reader) openFilter() (*filter, error) {
	h := t.footer.filter
	if f, ok := cached[*filter](t, h.offset); ok {
		return f, nil
	}
	if f := t.filter.Load(); f != nil {
		return f, nil
	}
	b := storedBuffers.Get().(*buffers)
	defer func() {
		b.trim()
		storedBuffers.Put(b)
	}()
	raw, err := t.readBlock(h, maxFilter, b)
	if err != nil {
		return nil, err
	}
	f := new(filter)
	if err := f.parse(raw); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	if t.cache == nil {
		t.filter.Store(f)
	}
	t.keep(h.offset, f)
	return f, nil
}

// openCellBlock returns the cell block at h: from the cache, or read afresh for
// the cache if fill is set, or else read into own and its buffers.
func (t *Reader) openCellBlock(h handle, fill bool, own *cellBlock, b *buffers) (*cellBlock, error) {
	if c, ok := cached[*cellBlock](t, h.offset); ok {
		return c, nil
	}
	var raw []byte
	var err error
	fill = fill && t.cache != nil
	if fill {
		own = new(cellBlock)
		raw, err = t.readFresh(h, maxCellBlock)
	} else {
		raw, err = t.readBlock(h, maxCellBlock, b)
	}
	if err != nil {
		return nil, err
	}
	if err := own.parse(raw); err != nil {
		return nil, t.corrupt(h.offset, err)
	}
	if fill {
		t.keep(h.offset, own)
	}
	return own, nil
}

// openValueBlock returns the bytes of the value block at h, like openCellBlock.
// A block above maxCachedValue, of one huge value, is not put into the cache.
func (t *Reader) openValueBlock(h handle, fill bool, b *buffers) ([]byte, error) {
	if v, ok := cached[valueBlock](t, h.offset); ok {
		return v, nil
	}
	if !fill || t.cache == nil {
		return t.readBlock(h, MaxValue, b)
	}
	raw, err := t.readFresh(h, MaxValue)
	if err != nil {
		return nil, err
	}
	if len(raw) <= maxCachedValue {
		t.keep(h.offset, valueBlock(raw))
	}
	return raw, nil
}
