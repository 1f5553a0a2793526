package sstable

// smallValues is the part of a cell block's small values that an iterator has at
// hand: one small block, or all of them if the cell block has them.
type smallValues struct {
	raw      []byte
	from, to int // what raw holds of the small values
	block    int // which small block that is, -1 for none

	buffers buffers
}

// reset prepares for the values of another cell block.
func (s *smallValues) reset(b *cellBlock) {
	s.raw, s.from, s.to, s.block = b.values, 0, len(b.values), -1
}

// has reports whether the value that begins at offset is at hand.
func (s *smallValues) has(offset int) bool {
	return offset >= s.from && offset < s.to
}

// load makes sure that the values from offset on are at hand, up to the end of
// their small block.
func (s *smallValues) load(it *Iterator, offset int) bool {
	b := it.block
	if s.has(offset) || b.hasValues() {
		return true
	}
	if offset == b.valueBytes { // only empty values are left
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
	return true
}

// window returns the window through which to read small block k at h: that of the
// cell block, if it holds the small block; or one that is read ahead up to the
// cell block, if the last small block was the one before.
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
		// A failure shows again, with its error, when the block alone is read.
		_ = w.fill(it.r, h.offset, end)
	}
	return w
}

// largeValues is the large block that an iterator has at hand.
type largeValues struct {
	raw     []byte // nil: none
	block   uint32 // its place among the large blocks of the cell block
	buffers buffers
}

// reset prepares for the values of another cell block.
func (s *largeValues) reset() { s.raw = nil }

// holds reports whether the block that v refers to is at hand.
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
	return true
}

// smallLimit is how long a block of small values may claim to be that is to hold those from one place
// to another: more would be damage, and needs no memory.
func smallLimit(from, to int) uint32 { return uint32(min(to-from, MaxValue)) }
