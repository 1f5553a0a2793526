package sstable

import (
	"sync"
	"sync/atomic"

	"colonnade/internal/cores"
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

const (
	// windowBytes is the length of a window in the file: with it 17 M cells/s
	// beside 12 busy threads instead of 4 to 6, for 6 to 10 % more CPU time.
	windowBytes = 64 << 10
	// maxWindowBlocks limits the blocks of a window, and so its memory: blocks
	// of short rows can take a tenth of their size in the file.
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
func (a *readahead) start(it *Iterator, entry int) {
	n := int32(cores.Count())
	if a.active() || n == 1 {
		return
	}
	if activeReadaheads.Add(1) > maxReadaheadsPerCPU*n {
		activeReadaheads.Add(-1)
		return
	}
	a.values = it.o.wholeBlocks() || it.small.block >= 0
	a.end = entry
	for i := range a.next {
		a.schedule(it, i, windowPool.Get().(*readaheadWindow))
	}
	if !a.active() {
		activeReadaheads.Add(-1)
	}
}

func (a *readahead) active() bool { return a.current != nil || a.next[0] != nil }

// schedule makes w, in slot i of next, the window after the last one. It releases w
// if that window would be too short.
func (a *readahead) schedule(it *Iterator, i int, w *readaheadWindow) {
	var first, end int
	if a.down {
		first, end = a.entriesBelow(it)
	} else {
		first, end = a.end, min(it.index.readEnd(a.end, windowBytes), a.end+maxWindowBlocks, it.readaheadEnd())
	}
	if end-first < minWindowBlocks {
		w.release()
		return
	}
	w.first, w.end, w.blocks, w.err, w.fromFile = first, end, w.blocks[:0], nil, false
	if a.next[i] = w; a.down {
		a.end = first
		go w.fillBelow(it.r, it.index, a.values, it.o.FillCache)
		return
	}
	a.end = end
	go w.fill(it.r, it.index, end, a.values, it.o.FillCache)
}

// block returns the block of an entry, nil if it is in no window. It stops the
// readahead if the iterator has gone elsewhere.
func (a *readahead) block(it *Iterator, entry int) (*cellBlock, error) {
	if a.down {
		return a.blockInside(entry)
	}
	if a.next[0] != nil && a.next[0].first == entry {
		a.advance(it)
	}
	if a.current == nil {
		return nil, nil
	}
	i := entry - a.current.first
	switch {
	case i >= 0 && i < len(a.current.blocks):
		return a.current.blocks[i], nil
	case i == len(a.current.blocks) && a.current.err != nil:
		return nil, a.current.err
	}
	a.stop()
	return nil, nil
}

// advance moves to the next window and schedules another one, unless there was an
// error or all blocks came from the cache, which is faster than more goroutines.
func (a *readahead) advance(it *Iterator) {
	spare, last := a.current, windowsAhead-1
	a.current = a.next[0]
	copy(a.next[:], a.next[1:])
	a.next[last] = nil
	<-a.current.done
	if spare == nil {
		spare = windowPool.Get().(*readaheadWindow)
	}
	if a.current.err != nil || !a.current.fromFile {
		spare.release()
		return
	}
	for last > 0 && a.next[last-1] == nil {
		last--
	}
	a.schedule(it, last, spare)
}

// stop drops all windows. It waits for blocks that are being opened.
func (a *readahead) stop() {
	if !a.active() {
		return
	}
	for _, s := range a.next {
		if s != nil {
			s.cancelled.Store(true)
		}
	}
	for _, s := range a.next {
		if s != nil {
			<-s.done
			s.release()
		}
	}
	if a.current != nil {
		a.current.release()
	}
	*a = readahead{}
	activeReadaheads.Add(-1)
}

// buffer returns the read buffer of the current window if it holds the block at h, or
// else nil.
func (a *readahead) buffer(h handle) *readBuffer {
	if a.current != nil && a.current.buf.holds(h) {
		return &a.current.buf
	}
	return nil
}

// A readaheadWindow is a run of open cell blocks. It belongs to its goroutine until
// done is signalled, and to the iterator after that.
type readaheadWindow struct {
	first     int          // entry of the first block
	end       int          // the entry after the last block
	blocks    []*cellBlock // in decoded, or from the cache; from the last one if the iterator moves down
	err       error        // why there are no more blocks
	fromFile  bool         // some blocks were not in the cache
	cancelled atomic.Bool  // the iterator will not use it
	done      chan struct{}

	buf     readBuffer
	decoded []blockBuffer
}

var windowPool = sync.Pool{New: func() any { return &readaheadWindow{done: make(chan struct{}, 1)} }}

// fill opens the blocks up to entry end, excluded.
func (s *readaheadWindow) fill(r *Reader, x *index, end int, values, fill bool) {
	for e := s.first; e < end && s.err == nil && !s.cancelled.Load(); e++ {
		b, ok := cacheGet[*cellBlock](r, x.handle(e).offset)
		if !ok {
			b, s.err = s.openBlock(r, x, e, end, values, fill)
		}
		if s.err == nil {
			s.blocks = append(s.blocks, b)
		}
	}
	s.done <- struct{}{}
}

// openBlock opens a block that is not in the cache. The first such block is read
// together with the rest of the window.
func (s *readaheadWindow) openBlock(r *Reader, x *index, e, end int, values, fill bool) (*cellBlock, error) {
	if !s.fromFile {
		if err := s.buf.fill(r, x.from(e), x.handle(end-1).end()); err != nil {
			return nil, err
		}
		s.fromFile = true
	}
	if n := end - s.first; n > len(s.decoded) {
		s.decoded = append(s.decoded, make([]blockBuffer, n-len(s.decoded))...)
	}
	return r.readCellBlock(x.handle(e), values, fill, &s.buf, &s.decoded[e-s.first])
}

// release returns the window to the pool.
func (s *readaheadWindow) release() {
	s.buf.trim()
	for i := range s.decoded {
		s.decoded[i].trim()
	}
	clear(s.blocks)
	s.blocks, s.err, s.fromFile = s.blocks[:0], nil, false
	s.cancelled.Store(false)
	windowPool.Put(s)
}
