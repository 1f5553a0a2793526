package memtable

import "colonnade/internal/prefetch"

// The links of a list lead to later rows only. So an iterator that moves down searches for a row some
// rows below, and keeps the rows from there up to the current one:
//
//	level 2   ──> r1 ──────────────────────────> current
//	level 0   ──> r1 ─> r2 ─> r3 ─> … ─> r15 ─> current
//	below        [r1    r2    r3    …    r15]
//
// One search then serves 16 steps, or 64 on level 3. The first searches start lower, for reads of a few
// rows.
const maxBelowLevel = 3

// SeekBelow moves to the last row below row. A nil row is the end. Only PrevRow may follow, until the
// next seek.
func (it *Iterator) SeekBelow(row []byte) {
	it.below, it.belowLevel = it.below[:0], 0
	it.stepBack(row)
}

// PrevRow moves to the previous row. The last seek must be SeekBelow.
func (it *Iterator) PrevRow() {
	if it.row != nil {
		it.stepBack(key(it.row))
	}
}

// stepBack moves to the last row below a key, nil for the end, which has entries.
func (it *Iterator) stepBack(bound []byte) {
	it.filter.reset()
	for {
		n := len(it.below)
		if n == 0 {
			if n = it.findBelow(bound); n == 0 {
				it.row, it.next = nil, 0
				return
			}
		}
		it.row = it.table.arena.at(it.below[n-1])
		it.below = it.below[:n-1]
		it.next = ref(link(lowHead(it.row), 0).Load())
		if it.next != 0 {
			it.prefetchBelow()
			return
		}
		bound = key(it.row)
	}
}

// findBelow fills below with rows up to the last one below a key, and returns how many there are. Rows
// that are inserted meanwhile may be among them: all are in order and below the key.
func (it *Iterator) findBelow(bound []byte) int {
	l := it.table.rowList()
	var f finger
	if bound == nil {
		l.last(&f)
	} else {
		l.search(&searchKey{key: bound}, &f)
	}
	last := f.prev[0]
	if last == 0 {
		return 0
	}
	r := f.prev[it.belowLevel]
	if r == 0 {
		r = l.first()
	}
	it.belowLevel = min(it.belowLevel+1, maxBelowLevel)
	for ; r != last; r = ref(link(l.arena.at(r), 0).Load()) {
		it.below = append(it.below, r)
	}
	it.below = append(it.below, last)
	return len(it.below)
}

// prefetchBelow prefetches the first entries of the next row below, while those of the current row are
// taken.
func (it *Iterator) prefetchBelow() {
	n := len(it.below)
	if n == 0 {
		return
	}
	a := &it.table.arena
	if first := ref(link(lowHead(a.at(it.below[n-1])), 0).Load()); first != 0 {
		prefetch.Lines(a.at(first), prefetchBytes)
	}
}

// last leaves the finger at the last node.
func (l *list) last(f *finger) {
	level := maxHeight - 1
	if l.high == nil {
		level = lowHeight - 1
	}
	var prev ref
	for ; level >= 0; level-- {
		for {
			next := ref(link(l.from(prev, level), level).Load())
			if next == 0 {
				break
			}
			prev = next
		}
		f.prev[level] = prev
	}
}
