package sstable

import "math"

// An iterator that moves down goes from block to block by the index. A block that continues a row says
// nothing about the row's first cells. So the iterator goes on to the block where the row begins, and
// Cells comes forward again:
//
//	index    c        c "q1"   c "q7"   d
//	blocks   | b  c   | c      | c      | d  e |
//	order      5  4 ->  4 ->     4        2  1
//
// An iterator moves up or down, not both. Only within a row it goes forward in either case.
//
// If the read has a range of times, a row begins in its first block that the read needs. This may be a
// later one than that of the index, or even the current one.

// SeekBelow moves to the last row whose key is below row. A nil row is the end of the file. Only PrevRow
// may follow, until the next seek.
func (it *Iterator) SeekBelow(row []byte) {
	it.valid, it.down = false, true
	if it.err != nil {
		return
	}
	if it.index == nil && !it.openIndex() {
		return
	}
	e := it.index.cells - 1
	if row != nil {
		e = it.index.lastBelow(row)
	}
	if !it.loadLast(e, false) {
		return
	}
	n := it.block.rows
	if row != nil {
		n = it.block.findRow(row)
	}
	it.toRowBelow(n)
}

// PrevRow moves to the previous row. Cells that were not returned count as scanned if they are in the
// current block; further blocks of the row are skipped. The last seek must be SeekBelow.
func (it *Iterator) PrevRow() {
	if !it.valid {
		return
	}
	if it.next < it.end {
		if it.skipCells(); !it.valid {
			return
		}
	}
	if it.row > 1 {
		it.stepBack()
		return
	}
	it.valid = false
	r := it.row
	if r == 0 && !it.index.isHead(it.entry) {
		from := it.entry
		if !it.loadStart() {
			return
		}
		if it.entry != from {
			r = it.block.rows - 1
		}
	}
	it.toRowBelow(r)
}

// loadLast makes the last block up to an entry that the read needs the current one. It reports false if
// there is none, or on an error. sequential says that the current block is the next one.
func (it *Iterator) loadLast(entry int, sequential bool) bool {
	if it.times.active() {
		last := it.times.last(entry, it.readaheadStart())
		it.countSkippedByTimes(entry - last)
		if entry = last; entry < it.readaheadStart() {
			return false
		}
	}
	return entry >= 0 && it.loadBelow(entry, sequential)
}

// toRowBelow moves to the row before row r of the block: to where that row begins. If r is 0, the read
// needs no block before that has the first row of this one.
func (it *Iterator) toRowBelow(r int) {
	if r == 0 {
		if !it.loadLast(it.entry-1, true) {
			return
		}
		r = it.block.rows
	}
	if r == 1 && !it.index.isHead(it.entry) {
		it.key, it.keyEntry = it.block.appendRow(it.key[:0], 0), it.entry
		from := it.entry
		if !it.loadStart() {
			return
		}
		if it.entry != from {
			r = it.block.rows
		}
	}
	it.setRow(r - 1)
}

// stepBack moves to the previous row of the current block, which ends where the current row begins.
func (it *Iterator) stepBack() {
	if it.prefetcher.holds(it.entry - 1) {
		it.prefetcher.fetch(prefetchEach)
	}
	b := it.block
	to := it.suffixEnd - (len(it.key) - len(b.prefix))
	it.row--
	from := b.rowOffsets.int(b.raw, it.row)
	it.suffixEnd = to
	it.key = append(it.key[:len(b.prefix)], b.rowBytes[from:to]...)
	it.end = it.first
	it.first = b.rowStarts.int(b.raw, it.row)
	it.next = it.first
}

// loadStart loads the block where the row with the current key begins, which the current block
// continues, unless that is the current one. It checks that the row is the last of that block, as the
// index says.
func (it *Iterator) loadStart() bool {
	e := it.index.startOf(it.entry)
	if e >= 0 && it.times.active() {
		if e = it.times.next(e, it.entry); e == it.entry {
			return true
		}
	}
	if e >= 0 && !it.loadBelow(e, true) {
		return false
	}
	if e < 0 || !it.block.isRow(it.block.rows-1, it.key) {
		it.fail(it.r.corrupt(it.index.handle(max(e, 0)).offset, errContinued))
		return false
	}
	return true
}

// lastBelow returns the last entry whose bound has a row below the key, -1 if there is none. The last row
// below the key is in its block, or is the last of the block before.
func (x *index) lastBelow(key []byte) int {
	return x.rowStarts.int(x.raw, x.search(key)) - 1
}

// startOf returns the entry in whose block the row begins that entry e continues, -1 if there is none,
// which is damage.
func (x *index) startOf(e int) int {
	first := x.rowStarts.int(x.raw, x.rowOf(e))
	if x.isHead(first) {
		return first
	}
	return first - 1
}

// loadBelow is load for an iterator that moves down, from the current block unless it seeks.
func (it *Iterator) loadBelow(entry int, sequential bool) bool {
	if it.block != nil && it.entry == entry {
		return true
	}
	b, err := it.openBelow(entry, sequential)
	if err != nil {
		it.fail(err)
		return false
	}
	it.enter(entry, b)
	return true
}

// openBelow is open for an iterator that moves down.
func (it *Iterator) openBelow(entry int, sequential bool) (*cellBlock, error) {
	if it.readahead.active() {
		if b, err := it.readahead.blockBelow(it, entry); b != nil || err != nil {
			it.countBlock(b, it.readahead.fromFile(entry))
			return b, err
		}
	}
	if !it.prefetcher.holds(entry) {
		it.prefetcher.begin(it, entry)
	}
	if b := it.prefetcher.block; b != nil {
		if sequential {
			it.prefetchBelow()
		} else {
			it.prefetcher.fetch(min(prefetchAtSeek, len(b.raw)))
		}
		it.countBlock(b, false)
		return b, nil
	}
	if err := it.fillReadBufferBelow(entry, sequential); err != nil {
		return nil, err
	}
	b, err := it.r.readCellBlock(it.index.handle(entry), it.o.wholeBlocks(), it.o.FillCache, &it.readBuf, &it.blockBuf)
	it.countBlock(b, true)
	return b, err
}

// prefetchBelow is prefetchNext for an iterator that moves down.
func (it *Iterator) prefetchBelow() {
	it.prefetcher.fetch(math.MaxInt)
	next, start := it.prefetcher.entry-1, 0
	if it.times.active() {
		start = max(next-maxPrefetchGap+1, 0)
		next = it.times.last(next, start)
	}
	if next >= start {
		it.prefetcher.begin(it, next)
	}
}

// readaheadStart returns the first entry whose block is needed: that of the first row at or after
// ReadOptions.ReadaheadStart.
func (it *Iterator) readaheadStart() int {
	if it.startEntry == 0 {
		it.startEntry = it.index.seek(it.o.ReadaheadStart) + 1
	}
	return it.startEntry - 1
}

// fillReadBufferBelow is fillReadBuffer for an iterator that moves down: a scan reads entries before
// this one.
func (it *Iterator) fillReadBufferBelow(entry int, sequential bool) error {
	if !sequential {
		return it.fillReadBuffer(entry, false)
	}
	h := it.index.handle(entry)
	if it.readBuf.holds(h) || it.o.KeysOnly && h.offset-it.index.from(entry) > maxReadGap {
		return nil
	}
	it.readaheadSize = min(max(2*it.readaheadSize, minReadahead), maxReadahead)
	start := it.stretchStart(entry, max(it.index.readStart(entry+1, it.readaheadSize), it.readaheadStart()))
	if start > entry {
		return nil
	}
	if it.readaheadSize == maxReadahead {
		it.readahead.startBelow(it, start)
	}
	return it.readBuf.fill(it.r, it.index.from(start), h.end())
}

// stretchStart is stretchEnd for entries up to one, from start on.
func (it *Iterator) stretchStart(entry, start int) int {
	if !it.times.active() {
		return start
	}
	first := entry
	for e := entry - 1; e >= start && it.index.from(first)-it.index.handle(e).end() <= maxReadGap; e-- {
		if it.times.wants(e) {
			first = e
		}
	}
	return max(first, start)
}

// readStart returns the start of the entries up to e, excluded, that one read can fetch, of at most this
// many bytes. They must be adjacent in the file. It is e if the last is too long.
func (x *index) readStart(e int, bytes uint64) (start int) {
	if e == 0 {
		return e
	}
	end := x.handle(e - 1).end()
	for at := end; e > 0 && x.handle(e-1).end() == at && end-x.from(e-1) <= bytes; e-- {
		at = x.from(e - 1)
	}
	return e
}
