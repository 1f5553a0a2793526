package sstable

import (
	"sync"
	"sync/atomic"

	"colonnade/internal/cores"
)

// A scan that has gone on for a while has the blocks before it opened by other
// goroutines: while the iterator walks over one stretch of the file, the next two are
// read, checked and decompressed. That takes longer than the walk, so that with one
// goroutine the iterator would wait for most of the time.
//
//	iterator     walks over stretch 1 | 2                  | 3       | ...
//	goroutine 1  opens stretch 2      | opens stretch 4              | ...
//	goroutine 2  opens stretch 3           | opens stretch 5         | ...
//
// Each stretch has a goroutine of its own, and whoever takes the stretch or gives it
// up waits for it. What it met is in the stretch: a failure comes to light when the
// iterator gets to the block, and not if it never does.

const (
	// stretchBytes is the length of a stretch in the file: long enough that it
	// does not count what starting a goroutine and waking up for it costs.
	windowBytes = 64 << 10
	// mostBlocks is the longest stretch, in blocks, which are what takes memory: in the file
	// those of short rows can be a tenth of that.
	maxWindowBlocks = 64
	// fewBlocks is the shortest stretch, in blocks, that is worth a goroutine.
	minWindowBlocks = 8
	// stretchesAhead is how many are opened at once.
	windowsAhead = 2
	// aheadPerCore bounds the iterators that are ahead at once, and so the memory
	// for that: each takes three stretches, a megabyte in all. The others do
	// their work themselves, as do all where there is one core.
	maxReadaheadsPerCPU = 8
)

// aheadCount is how many iterators are ahead.
var activeReadaheads atomic.Int32

// ahead is what an iterator has of stretches: nothing, or the one at hand and the
// next ones, of which either may be missing.
type readahead struct {
	current *readaheadWindow
	next    [windowsAhead]*readaheadWindow // neighbours, in order; nil behind the last
	end     int                            // the entry behind all of them
	values  bool                           // the small values are wanted
}

// start has the blocks from an entry on opened, which the iterator will come to
// unless it turns elsewhere.
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

// begin makes s the stretch behind the last, in place i of the next, or gives it back
// if that would be short.
func (a *readahead) schedule(it *Iterator, i int, s *readaheadWindow) {
	end := min(it.index.readEnd(a.end, windowBytes), a.end+maxWindowBlocks, it.readaheadEnd())
	if end-a.end < minWindowBlocks {
		s.release()
		return
	}
	s.first, s.blocks, s.err, s.fromFile = a.end, s.blocks[:0], nil, false
	a.next[i], a.end = s, end
	go s.fill(it.r, it.index, end, a.values, it.o.FillCache)
}

// open returns the block of an entry, nil if it is not in a stretch. When the
// iterator has turned elsewhere, that is the end of all stretches.
func (a *readahead) block(it *Iterator, entry int) (*cellBlock, error) {
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

// advance goes on to the next stretch, and begins another one unless there was a
// failure, or all came from the cache: that is faster than more goroutines.
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

// stop gives up the stretches. It waits for the block that is being opened.
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

// window returns the stretch of the file that the stretch at hand was made of, if
// it holds the block at h, or else nil.
func (a *readahead) buffer(h handle) *readBuffer {
	if a.current != nil && a.current.buf.holds(h) {
		return &a.current.buf
	}
	return nil
}

// A stretch is neighbouring cell blocks, open. It belongs to its goroutine until
// ready says that it is done, and to the iterator after that.
type readaheadWindow struct {
	first     int          // the entry of the first block
	blocks    []*cellBlock // own ones, or out of the cache
	err       error        // why there is none behind them
	fromFile  bool         // some were not in the cache
	cancelled atomic.Bool  // up: nobody will look at it
	done      chan struct{}

	buf     readBuffer
	decoded []blockBuffer
}

var windowPool = sync.Pool{New: func() any { return &readaheadWindow{done: make(chan struct{}, 1)} }}

// fill opens the blocks up to an entry, not included.
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

// openBlock opens a block that is not in the cache. The first one that it meets is
// read together with all behind it.
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

// release gives the stretch back.
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
