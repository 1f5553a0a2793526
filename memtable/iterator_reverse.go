package memtable

import "github.com/colonnade-db/colonnade/internal/prefetch"

// The links of a list lead to later rows only. So an iterator that moves down searches for the current
// row, and collects the rows from the last one before it on a higher level:
//
//	level 2   ──> r1 ──────────────────────────────> current
//	level 1   ──> r1 ────────> r4 ────────> r8 ────> current
//	level 0   ──> r1 ─> r2 ─> r3 ─> r4 ─> … ─> r9 ─> current
//
// One search then serves 16 steps, or 64 from level 3 on. The first searches start lower, for reads of a
// few rows. Most steps of a walk over such a list are a cache miss. So the rows of one level are the
// starts of as many walks on the next one, whose nodes are prefetched together.
type rowsBelow struct {
	refs   []ref // rows below the current one, in order
	upper  []ref // what refs were on the level above
	ahead  []ref // how far each walk has prefetched, 0 at its end
	levels int   // how many the next search goes down to collect
}

const (
	maxBelowLevel = 3
	// maxAhead is how many nodes of each walk are prefetched. Three of four walks have fewer.
	maxAhead = 4
)

// SeekBelow moves to the last row below row. A nil row is the end. Only PrevRow may follow, until the
// next seek.
func (it *Iterator) SeekBelow(row []byte) {
	if it.below == nil {
		it.below = new(rowsBelow)
	}
	it.below.refs, it.below.levels = it.below.refs[:0], 0
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
	b := it.below
	for {
		if len(b.refs) == 0 && !b.collect(it.table.rowList(), bound) {
			it.row, it.next = nil, 0
			return
		}
		last := len(b.refs) - 1
		it.row = it.table.arena.at(b.refs[last])
		b.refs = b.refs[:last]
		it.next = ref(link(lowHead(it.row), 0).Load())
		if it.next != 0 {
			it.prefetchBelow()
			return
		}
		bound = key(it.row)
	}
}

// collect collects rows up to the last one below a key. It returns false if there is none. Rows that are
// inserted meanwhile may be among them: all are in order and below the key.
func (b *rowsBelow) collect(l list, bound []byte) bool {
	var f finger
	if bound == nil {
		l.last(&f)
	} else {
		l.search(&searchKey{key: bound}, &f)
	}
	if f.prev[0] == 0 {
		return false
	}
	level := b.levels
	for f.prev[level] == 0 {
		level--
	}
	b.levels = min(b.levels+1, maxBelowLevel)
	b.refs = append(b.refs[:0], f.prev[level])
	for level--; level >= 0; level-- {
		b.expand(&l, level, f.prev[level])
	}
	return true
}

// expand replaces refs, the rows of a level, by those of the level below it, up to last.
func (b *rowsBelow) expand(l *list, level int, last ref) {
	b.upper, b.refs = b.refs, b.upper[:0]
	b.prefetch(l, level)
	for i, r := range b.upper {
		end := last
		if i+1 < len(b.upper) {
			end = b.upper[i+1]
		}
		for ; r != end; r = ref(link(l.arena.at(r), level).Load()) {
			b.refs = append(b.refs, r)
		}
	}
	b.refs = append(b.refs, last)
}

// prefetch prefetches the first nodes of the walks of expand, one of each in turn.
func (b *rowsBelow) prefetch(l *list, level int) {
	b.ahead = append(b.ahead[:0], b.upper...)
	for range maxAhead {
		for i, r := range b.ahead {
			if r == 0 {
				continue
			}
			next := ref(link(l.arena.at(r), level).Load())
			if next == 0 || i+1 < len(b.upper) && next == b.upper[i+1] {
				b.ahead[i] = 0
				continue
			}
			prefetch.Lines(l.arena.at(next), 1)
			b.ahead[i] = next
		}
	}
}

// prefetchBelow prefetches the first entries of the next row below, while those of the current row are
// taken.
func (it *Iterator) prefetchBelow() {
	n := len(it.below.refs)
	if n == 0 {
		return
	}
	a := &it.table.arena
	if first := ref(link(lowHead(a.at(it.below.refs[n-1])), 0).Load()); first != 0 {
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
