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
	stretchBytes = 64 << 10
	// mostBlocks is the longest stretch, in blocks, which are what takes memory: in the file
	// those of short rows can be a tenth of that.
	mostBlocks = 64
	// fewBlocks is the shortest stretch, in blocks, that is worth a goroutine.
	fewBlocks = 8
	// stretchesAhead is how many are opened at once.
	stretchesAhead = 2
	// aheadPerCore bounds the iterators that are ahead at once, and so the memory
	// for that: each takes three stretches, a megabyte in all. The others do
	// their work themselves, as do all where there is one core.
	aheadPerCore = 8
)

// aheadCount is how many iterators are ahead.
var aheadCount atomic.Int32

// ahead is what an iterator has of stretches: nothing, or the one at hand and the
// next ones, of which either may be missing.
type ahead struct {
	at     *stretch
	next   [stretchesAhead]*stretch // neighbours, in order; nil behind the last
	end    int                      // the entry behind all of them
	values bool                     // the small values are wanted
}

// start has the blocks from an entry on opened, which the iterator will come to
// unless it turns elsewhere.
func (a *ahead) start(it *Iterator, entry int) {
	n := int32(cores.Count())
	if a.on() || n == 1 {
		return
	}
	if aheadCount.Add(1) > aheadPerCore*n {
		aheadCount.Add(-1)
		return
	}
	a.values = it.o.wholeBlocks() || it.small.block >= 0
	a.end = entry
	for i := range a.next {
		a.begin(it, i, stretches.Get().(*stretch))
	}
	if !a.on() {
		aheadCount.Add(-1)
	}
}

func (a *ahead) on() bool { return a.at != nil || a.next[0] != nil }

// begin makes s the stretch behind the last, in place i of the next, or gives it back
// if that would be short.
func (a *ahead) begin(it *Iterator, i int, s *stretch) {
	end := min(it.index.reach(a.end, stretchBytes), a.end+mostBlocks, it.wanted())
	if end-a.end < fewBlocks {
		s.release()
		return
	}
	s.first, s.blocks, s.err, s.read = a.end, s.blocks[:0], nil, false
	a.next[i], a.end = s, end
	go s.fill(it.r, it.index, end, a.values, it.o.FillCache)
}

// open returns the block of an entry, nil if it is not in a stretch. When the
// iterator has turned elsewhere, that is the end of all stretches.
func (a *ahead) open(it *Iterator, entry int) (*cellBlock, error) {
	if a.next[0] != nil && a.next[0].first == entry {
		a.advance(it)
	}
	if a.at == nil {
		return nil, nil
	}
	i := entry - a.at.first
	switch {
	case i >= 0 && i < len(a.at.blocks):
		return a.at.blocks[i], nil
	case i == len(a.at.blocks) && a.at.err != nil:
		return nil, a.at.err
	}
	a.stop()
	return nil, nil
}

// advance goes on to the next stretch, and begins another one unless there was a
// failure, or all came from the cache: that is faster than more goroutines.
func (a *ahead) advance(it *Iterator) {
	spare, last := a.at, stretchesAhead-1
	a.at = a.next[0]
	copy(a.next[:], a.next[1:])
	a.next[last] = nil
	<-a.at.ready
	if spare == nil {
		spare = stretches.Get().(*stretch)
	}
	if a.at.err != nil || !a.at.read {
		spare.release()
		return
	}
	for last > 0 && a.next[last-1] == nil {
		last--
	}
	a.begin(it, last, spare)
}

// stop gives up the stretches. It waits for the block that is being opened.
func (a *ahead) stop() {
	if !a.on() {
		return
	}
	for _, s := range a.next {
		if s != nil {
			s.given.Store(true)
		}
	}
	for _, s := range a.next {
		if s != nil {
			<-s.ready
			s.release()
		}
	}
	if a.at != nil {
		a.at.release()
	}
	*a = ahead{}
	aheadCount.Add(-1)
}

// window returns the stretch of the file that the stretch at hand was made of, if
// it holds the block at h, or else nil.
func (a *ahead) window(h handle) *window {
	if a.at != nil && a.at.window.holds(h) {
		return &a.at.window
	}
	return nil
}

// A stretch is neighbouring cell blocks, open. It belongs to its goroutine until
// ready says that it is done, and to the iterator after that.
type stretch struct {
	first  int          // the entry of the first block
	blocks []*cellBlock // own ones, or out of the cache
	err    error        // why there is none behind them
	read   bool         // some were not in the cache
	given  atomic.Bool  // up: nobody will look at it
	ready  chan struct{}

	window window
	own    []ownBlock
}

var stretches = sync.Pool{New: func() any { return &stretch{ready: make(chan struct{}, 1)} }}

// fill opens the blocks up to an entry, not included.
func (s *stretch) fill(r *Reader, x *index, end int, values, fill bool) {
	for e := s.first; e < end && s.err == nil && !s.given.Load(); e++ {
		b, ok := cached[*cellBlock](r, x.handle(e).offset)
		if !ok {
			b, s.err = s.openBlock(r, x, e, end, values, fill)
		}
		if s.err == nil {
			s.blocks = append(s.blocks, b)
		}
	}
	s.ready <- struct{}{}
}

// openBlock opens a block that is not in the cache. The first one that it meets is
// read together with all behind it.
func (s *stretch) openBlock(r *Reader, x *index, e, end int, values, fill bool) (*cellBlock, error) {
	if !s.read {
		if err := s.window.read(r, x.from(e), x.handle(end-1).end()); err != nil {
			return nil, err
		}
		s.read = true
	}
	if n := end - s.first; n > len(s.own) {
		s.own = append(s.own, make([]ownBlock, n-len(s.own))...)
	}
	return r.readCellBlock(x.handle(e), values, fill, &s.window, &s.own[e-s.first])
}

// release gives the stretch back.
func (s *stretch) release() {
	s.window.trim()
	for i := range s.own {
		s.own[i].trim()
	}
	clear(s.blocks)
	s.blocks, s.err, s.read = s.blocks[:0], nil, false
	s.given.Store(false)
	stretches.Put(s)
}
