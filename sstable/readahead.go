package sstable

import (
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/internal/cores"
)

// A long scan has the next blocks opened by other goroutines: while the iterator
// walks over one window of the file, the next two are read, checked and
// decompressed. Opening a window takes longer than walking over it, so one goroutine
// would not keep up.
//
//	iterator     walks over window 1 | 2                  | 3       | ...
//	goroutine 1  opens window 2      | opens window 4               | ...
//	goroutine 2  opens window 3           | opens window 5          | ...
//
// Each window has a goroutine, and the iterator waits for it before it uses or drops
// the window. An error is kept in the window and reported when the iterator gets to
// that block.
//
// If the read has a range of times, a window has at least minWindowBlocks blocks that it
// needs. It begins and ends with one. Those in between that the read does not need are read
// with the others, but not opened. Between windows there may be more of them.

const (
	// windowBytes is the length of a window in the file: with it 17 M cells/s
	// beside 12 busy threads instead of 4 to 6, for 6 to 10 % more CPU time.
	windowBytes = 64 << 10
	// maxWindowBlocks limits the blocks of a window, and so its memory: blocks
	// of short rows can take a tenth of their size in the file. At most 64, see
	// readaheadWindow.read.
	maxWindowBlocks = 64
	// minWindowBlocks is the fewest blocks worth a goroutine.
	minWindowBlocks = 8
	// windowsAhead is how many windows are opened at once.
	windowsAhead = 2
	// maxReadaheadsPerCPU limits the iterators that read ahead at once, and so
	// their memory: each has three windows, a megabyte in all. Other iterators,
	// and all on a machine with one CPU, open blocks themselves.
	maxReadaheadsPerCPU = 8
)

// activeReadaheads is the number of iterators that read ahead.
var activeReadaheads atomic.Int32

// readahead is the windows of an iterator: none, or the current one and those
// after it. Either may be missing.
type readahead struct {
	current *readaheadWindow
	next    [windowsAhead]*readaheadWindow // in file order; nil after the last
	end     int                            // the entry after the last window, or its first one if down
	values  bool                           // open small values too
	down    bool                           // see readahead_reverse.go
}

// start opens windows from an index entry on, where the iterator will go unless it
// seeks.
func (ra *readahead) start(it *Iterator, entry int) {
	n := int32(cores.Count())
	if ra.active() || n == 1 {
		return
	}
	if activeReadaheads.Add(1) > maxReadaheadsPerCPU*n {
		activeReadaheads.Add(-1)
		return
	}
	ra.values = it.o.wholeBlocks() || it.small.block >= 0
	ra.end = entry
	for i := range ra.next {
		ra.schedule(it, i, windowPool.Get().(*readaheadWindow))
	}
	if !ra.active() {
		activeReadaheads.Add(-1)
	}
}

func (ra *readahead) active() bool { return ra.current != nil || ra.next[0] != nil }

// schedule makes w, in slot i of next, the window after the last one. It releases w
// if that window would be too short.
func (ra *readahead) schedule(it *Iterator, i int, w *readaheadWindow) {
	var first, end int
	if ra.down {
		first, end = ra.entriesBelow(it)
	} else {
		first, end = ra.entriesAbove(it)
	}
	if end-first < minWindowBlocks || it.times.count(first, end) < minWindowBlocks {
		w.release()
		return
	}
	w.first, w.end, w.blocks, w.err, w.fromFile, w.read, w.times = first, end, w.blocks[:0], nil, false, 0, it.times
	if ra.next[i] = w; ra.down {
		ra.end = first
		go w.fillBelow(it.r, it.index, ra.values, it.o.FillCache)
		return
	}
	ra.end = end
	go w.fill(it.r, it.index, end, ra.values, it.o.FillCache)
}

// entriesAbove returns the entries of the window after the last one.
func (ra *readahead) entriesAbove(it *Iterator) (first, end int) {
	first = ra.end
	if it.times.active() {
		first = it.times.next(first, it.readaheadEnd())
	}
	end = min(it.index.readEnd(first, windowBytes), first+maxWindowBlocks, it.readaheadEnd())
	if it.times.active() {
		end = it.times.last(end-1, first) + 1
	}
	return first, end
}

// fromFile reports whether the block of an entry in the current window was read from the file.
func (ra *readahead) fromFile(entry int) bool {
	w := ra.current
	return w != nil && entry >= w.first && entry < w.end && w.read>>(entry-w.first)&1 != 0
}

// block returns the block of an entry, nil if it is in no window. It stops the
// readahead if the iterator has gone elsewhere.
func (ra *readahead) block(it *Iterator, entry int) (*cellBlock, error) {
	if ra.down {
		return ra.blockInside(entry)
	}
	if ra.next[0] != nil && ra.next[0].first == entry {
		ra.advance(it)
	}
	if ra.current == nil {
		return nil, nil
	}
	i := entry - ra.current.first
	switch {
	case i >= 0 && i < len(ra.current.blocks):
		return ra.current.blocks[i], nil
	case i == len(ra.current.blocks) && ra.current.err != nil:
		return nil, ra.current.err
	}
	ra.stop()
	return nil, nil
}

// advance moves to the next window and schedules another one, unless there was an
// error or all blocks came from the cache, which is faster than more goroutines.
func (ra *readahead) advance(it *Iterator) {
	spare, last := ra.current, windowsAhead-1
	ra.current = ra.next[0]
	copy(ra.next[:], ra.next[1:])
	ra.next[last] = nil
	<-ra.current.done
	if spare == nil {
		spare = windowPool.Get().(*readaheadWindow)
	}
	if ra.current.err != nil || !ra.current.fromFile {
		spare.release()
		return
	}
	for last > 0 && ra.next[last-1] == nil {
		last--
	}
	ra.schedule(it, last, spare)
}

// stop drops all windows. It waits for blocks that are being opened.
func (ra *readahead) stop() {
	if !ra.active() {
		return
	}
	for _, w := range ra.next {
		if w != nil {
			w.cancelled.Store(true)
		}
	}
	for _, w := range ra.next {
		if w != nil {
			<-w.done
			w.release()
		}
	}
	if ra.current != nil {
		ra.current.release()
	}
	*ra = readahead{}
	activeReadaheads.Add(-1)
}

// buffer returns the read buffer of the current window if it holds the block at h, or
// else nil.
func (ra *readahead) buffer(h handle) *readBuffer {
	if ra.current != nil && ra.current.buf.holds(h) {
		return &ra.current.buf
	}
	return nil
}

// A readaheadWindow is a run of open cell blocks. It belongs to its goroutine until
// done is signalled, and to the iterator after that.
type readaheadWindow struct {
	first     int          // entry of the first block
	end       int          // the entry after the last block
	blocks    []*cellBlock // in decoded, or from the cache, nil if not needed; from the last one if the iterator moves down
	err       error        // why there are no more blocks
	fromFile  bool         // some blocks were not in the cache
	read      uint64       // these: a bit for each entry
	times     timeFilter   // of the iterator
	cancelled atomic.Bool  // the iterator will not use it
	done      chan struct{}

	buf     readBuffer
	decoded []blockBuffer
}

var windowPool = sync.Pool{New: func() any { return &readaheadWindow{done: make(chan struct{}, 1)} }}

// fill opens the blocks up to entry end, excluded.
func (w *readaheadWindow) fill(r *Reader, x *index, end int, values, fill bool) {
	for e := w.first; e < end && w.err == nil && !w.cancelled.Load(); e++ {
		if !w.times.wants(e) {
			w.blocks = append(w.blocks, nil)
			continue
		}
		b, ok := cacheGet[*cellBlock](r, x.handle(e).offset)
		if !ok {
			b, w.err = w.openBlock(r, x, e, end, values, fill)
		}
		if w.err == nil {
			w.blocks = append(w.blocks, b)
		}
	}
	w.done <- struct{}{}
}

// openBlock opens a block that is not in the cache. The first such block is read
// together with the rest of the window.
func (w *readaheadWindow) openBlock(r *Reader, x *index, e, end int, values, fill bool) (*cellBlock, error) {
	if !w.fromFile {
		if err := w.buf.fill(r, x.from(e), x.handle(end-1).end()); err != nil {
			return nil, err
		}
		w.fromFile = true
	}
	if n := end - w.first; n > len(w.decoded) {
		w.decoded = append(w.decoded, make([]blockBuffer, n-len(w.decoded))...)
	}
	w.read |= 1 << (e - w.first)
	return r.readCellBlock(x.handle(e), values, fill, &w.buf, &w.decoded[e-w.first])
}

// release returns the window to the pool.
func (w *readaheadWindow) release() {
	w.buf.trim()
	for i := range w.decoded {
		w.decoded[i].trim()
	}
	clear(w.blocks)
	w.blocks, w.err, w.fromFile, w.times = w.blocks[:0], nil, false, timeFilter{}
	w.cancelled.Store(false)
	windowPool.Put(w)
}
