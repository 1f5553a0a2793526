package sstable

// smallValues is the loaded part of a cell block's small values: one small block,
// or all of them if they are inline.
type smallValues struct {
	raw      []byte
	from, to int // range of small values in raw
	block    int // index of the small block, -1 for none

	buffers buffers
}

// reset prepares for another cell block.
func (s *smallValues) reset(b *cellBlock) {
	s.raw, s.from, s.to, s.block = b.values, 0, len(b.values), -1
}

// has reports whether the value that begins at offset is loaded.
func (s *smallValues) has(offset int) bool {
	return offset >= s.from && offset < s.to
}

// load loads the small block with the values from offset on.
func (s *smallValues) load(it *Iterator, offset int) bool {
	b := it.block
	if s.has(offset) || b.hasValues() {
		return true
	}
	if offset == b.valueBytes { // only empty values follow
		s.raw, s.from, s.to = b.values, offset, offset
		return true
	}
	k := b.findSmall(offset)
	h, from, to := b.small(k)
	raw, ok := cacheGet[valueBlock](it.r, h.offset)
	if !ok {
		var err error
		if raw, err = it.r.readValueBlock(h, smallLimit(from, to), it.o.FillCache, s.bufferFor(it, h, k), &s.buffers.raw); err != nil {
			it.fail(err)
			return false
		}
	}
	if len(raw) != to-from {
		it.fail(it.r.corrupt(h.offset, errSmall))
		return false
	}
	s.raw, s.from, s.to, s.block = raw, from, to, k
	it.countValues(len(raw), !ok)
	it.scanned.Read += uint64(len(raw))
	return true
}

// bufferFor returns the read buffer for small block k at h: the one of the cell
// block, if it holds the small block; or one that is filled up to the cell block, if
// the previous small block was used last.
func (s *smallValues) bufferFor(it *Iterator, h handle, k int) *readBuffer {
	if w := it.readahead.buffer(h); w != nil {
		return w
	}
	if it.readBuf.holds(h) {
		return &it.readBuf
	}
	w := &s.buffers.read
	end := it.index.handle(it.entry).offset
	if k > 0 && k == s.block+1 && !w.holds(h) && end > h.end() && end-h.offset <= maxReadahead {
		// An error comes back when the block alone is read.
		_ = w.fill(it.r, h.offset, end)
	}
	return w
}

// largeValues is the loaded large block.
type largeValues struct {
	raw     []byte // nil if none
	block   uint32 // its index in the cell block
	buffers buffers
}

// reset prepares for another cell block.
func (s *largeValues) reset() { s.raw = nil }

// holds reports whether the block of v is loaded.
func (s *largeValues) holds(v reference) bool {
	return s.raw != nil && s.block == v.block
}

func (s *largeValues) load(it *Iterator, v reference) bool {
	if s.holds(v) {
		return true
	}
	h := it.block.large(int(v.block))
	raw, ok := cacheGet[valueBlock](it.r, h.offset)
	if !ok {
		var err error
		if raw, err = it.r.readValueBlock(h, MaxValue, it.o.FillCache, &s.buffers.read, &s.buffers.raw); err != nil {
			it.fail(err)
			return false
		}
	}
	s.raw, s.block = raw, v.block
	it.countValues(len(raw), !ok)
	it.scanned.Read += uint64(len(raw))
	return true
}

// smallLimit is the longest raw length of a small block with the values between two
// offsets. A larger one is damage and gets no memory.
func smallLimit(from, to int) uint32 { return uint32(min(to-from, MaxValue)) }
