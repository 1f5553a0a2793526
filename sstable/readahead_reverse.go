package sstable

// A long scan that moves down reads ahead as one that moves up (readahead.go): its next windows are those
// before the current one in the file. Their blocks are opened from the last to the first.

// startBelow opens windows before an index entry, where the iterator will go unless it seeks.
func (ra *readahead) startBelow(it *Iterator, entry int) {
	if ra.active() {
		return
	}
	ra.down = true
	if ra.start(it, entry); !ra.active() {
		ra.down = false
	}
}

// entriesBelow returns the entries of the window before the last one.
func (ra *readahead) entriesBelow(it *Iterator) (first, end int) {
	end = ra.end
	if it.times.active() {
		end = it.times.last(end-1, it.readaheadStart()) + 1
	}
	first = max(it.index.readStart(end, windowBytes), end-maxWindowBlocks, it.readaheadStart())
	if it.times.active() {
		first = it.times.next(first, end)
	}
	return first, end
}

// blockBelow is block for an iterator that moves down. It stops the readahead if the iterator has gone
// elsewhere. The start of a row may be in the last of the windows.
func (ra *readahead) blockBelow(it *Iterator, entry int) (*cellBlock, error) {
	if !ra.down { // within the last row
		ra.stop()
		return nil, nil
	}
	for range windowsAhead {
		if ra.next[0] == nil || entry >= ra.next[0].end {
			break
		}
		ra.advance(it)
	}
	b, err := ra.blockInside(entry)
	if w := ra.current; b == nil && err == nil && w != nil && (entry < w.first || entry >= w.end) {
		ra.stop()
	}
	return b, err
}

// blockInside returns the block of an entry, nil if the current window does not have it. A row that began
// in this window may go on in the one that was before.
func (ra *readahead) blockInside(entry int) (*cellBlock, error) {
	w := ra.current
	if w == nil {
		return nil, nil
	}
	i := w.end - 1 - entry
	switch {
	case i >= 0 && i < len(w.blocks):
		return w.blocks[i], nil
	case i == len(w.blocks) && w.err != nil:
		return nil, w.err
	}
	return nil, nil
}

// fillBelow is fill for a window of an iterator that moves down.
func (s *readaheadWindow) fillBelow(r *Reader, x *index, values, fill bool) {
	for e := s.end - 1; e >= s.first && s.err == nil && !s.cancelled.Load(); e-- {
		if !s.times.wants(e) {
			s.blocks = append(s.blocks, nil)
			continue
		}
		b, ok := cacheGet[*cellBlock](r, x.handle(e).offset)
		if !ok && !s.fromFile {
			if s.err = s.buf.fill(r, x.from(s.first), x.handle(e).end()); s.err != nil {
				break
			}
			s.fromFile = true
		}
		if !ok {
			b, s.err = s.openBlock(r, x, e, s.end, values, fill)
		}
		if s.err == nil {
			s.blocks = append(s.blocks, b)
		}
	}
	s.done <- struct{}{}
}
