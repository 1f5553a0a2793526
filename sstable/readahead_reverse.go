package sstable

// A long scan that moves down reads ahead as one that moves up (readahead.go): its next windows are those
// before the current one in the file. Their blocks are opened from the last to the first.

// startBelow opens windows before an index entry, where the iterator will go unless it seeks.
func (a *readahead) startBelow(it *Iterator, entry int) {
	if a.active() {
		return
	}
	a.down = true
	if a.start(it, entry); !a.active() {
		a.down = false
	}
}

// entriesBelow returns the entries of the window before the last one.
func (a *readahead) entriesBelow(it *Iterator) (first, end int) {
	return max(it.index.readStart(a.end, windowBytes), a.end-maxWindowBlocks, it.readaheadStart()), a.end
}

// blockBelow is block for an iterator that moves down. It stops the readahead if the iterator has gone
// elsewhere. The start of a row may be in the last of the windows.
func (a *readahead) blockBelow(it *Iterator, entry int) (*cellBlock, error) {
	if !a.down { // within the last row
		a.stop()
		return nil, nil
	}
	for range windowsAhead {
		if a.next[0] == nil || entry >= a.next[0].end {
			break
		}
		a.advance(it)
	}
	b, err := a.blockInside(entry)
	if w := a.current; b == nil && err == nil && w != nil && (entry < w.first || entry >= w.end) {
		a.stop()
	}
	return b, err
}

// blockInside returns the block of an entry, nil if the current window does not have it. A row that began
// in this window may go on in the one that was before.
func (a *readahead) blockInside(entry int) (*cellBlock, error) {
	w := a.current
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
