package server

import (
	"context"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/widecol"
)

// parallelScan is a long response that several goroutines collect. Each takes one range of rows
// after another, with a slot of its own. The handler sends what they collect, in order:
//
//	worker 1   collects part 1     | collects part 3        | ...
//	worker 2   collects part 2            | collects part 4 | ...
//	handler    sends part 1        | part 2        | part 3 | ...
type parallelScan struct {
	memory  *admission.Request
	view    widecol.Divider
	slots   chan struct{}  // one for each part that may be begun before another is sent
	order   chan *scanPart // as begun
	workers sync.WaitGroup
	ctx     context.Context // ends with the reason when a worker fails
	cancel  context.CancelCauseFunc
	explain *explanation // of the handler
	some    bool         // a chunk was taken; for the handler
	asLines bool         // the parts are lines

	mu   sync.Mutex
	rest []widecol.Query // what nobody has begun, from the last rows to the first; guarded by mu
	left int             // workers that go on; guarded by mu
}

// scanPart is the part of a response that one worker collects.
type scanPart struct {
	query  widecol.Query
	chunks chan *[]byte  // closed at the end
	stats  widecol.Stats // to be read after that

	explain *explanation // the same; nil for none
}

const (
	// scanPartBytes is about how many bytes of files a part has: some megabyte of JSON.
	// With 512 KiB and 1 MiB a scan takes as long.
	scanPartBytes = 256 << 10
	// partChunks is how many chunks of a part may wait for the parts before it, about all of
	// it. Then its worker waits.
	partChunks = 24
	// maxWorkers and maxParallelScans bound the memory of what waits. More than two scans at once
	// need no more goroutines to keep the cores busy.
	maxWorkers       = 8
	maxParallelScans = 2
)

// appendRows appends the rows of a query, with a worker per core if there are many.
func (x *requestContext) appendRows(view widecol.View, q *widecol.Query, p *page) (widecol.Stats, error) {
	x.explain.ask(q)
	if s := x.startParallelScan(view, q); s != nil {
		return x.sendParts(s)
	}
	a := x.newRowWriter(&x.responseBuffer, &x.admitted)
	a.strip, a.line, a.explain, q.Yield = q.KeysOnly, x.lineWriter(x.asLines), x.explain, a.yield
	rows, err := x.explain.scan(x.ctx(), view, q)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer rows.Close()
	if _, err = a.writeAll(rows); err == nil && !x.explain.alone() {
		err = p.end(rows)
	}
	return a.stats, err
}

// startParallelScan starts the workers. It returns nil if there is too little to divide, or no
// second slot is free.
func (x *requestContext) startParallelScan(view widecol.View, q *widecol.Query) *parallelScan {
	v, ok := view.(widecol.Divider)
	if !ok || cores.Count() == 1 {
		return nil
	}
	parts := v.Divide(q, scanPartBytes)
	if len(parts) == 1 || !x.server.parallelScans.Take(1) {
		return nil
	}
	ctx, cancel := context.WithCancelCause(x.ctx())
	workers := []admission.Slot{{}} // the first is that of the handler
	for len(workers) < min(cores.Count(), maxWorkers, len(parts)) {
		more, ok := x.Another(ctx)
		if !ok {
			break
		}
		workers = append(workers, more)
	}
	n := len(workers)
	if n == 1 {
		cancel(nil)
		x.server.parallelScans.Give(1)
		return nil
	}
	workers[0] = x.Move(ctx) // the handler needs none to send
	slices.Reverse(parts)
	s := &parallelScan{
		view: v, memory: &x.admitted, slots: make(chan struct{}, n+1), order: make(chan *scanPart, n+1), // no worker waits while one part is sent
		ctx: ctx, cancel: cancel, explain: x.explain, asLines: x.asLines, rest: parts, left: n,
	}
	for _, slot := range workers {
		s.begin(slot)
	}
	return s
}

// sendParts sends what the workers collect, and waits until they have ended.
func (x *requestContext) sendParts(s *parallelScan) (stats widecol.Stats, err error) {
	defer x.server.parallelScans.Give(1)
	defer s.workers.Wait()
	defer s.cancel(nil)
	for {
		p, ok, err := receive(s, s.order)
		if !ok {
			return stats, err
		}
		if err := x.sendPart(s, p); err != nil {
			return stats, err
		}
		addStats(&stats, p.stats)
		x.explain.add(p.explain)
		<-s.slots
	}
}

func (x *requestContext) sendPart(s *parallelScan, p *scanPart) error {
	for {
		chunk, ok, err := receive(s, p.chunks)
		if !ok {
			return err
		}
		switch {
		case !s.some && !s.asLines: // each row of a part has a comma before it
			x.out = append(x.out, (*chunk)[1:]...)
			s.some = true
		case len(x.out) > 0:
			x.out = append(x.out, *chunk...)
		default:
			x.out, *chunk = *chunk, x.out
		}
		releaseChunk(chunk)
		if err := x.flushIfFull(); err != nil {
			return err
		}
	}
}

// receive takes the next thing that workers have made. ok is false at the end, and with an error
// when a worker has failed.
func receive[T any](s *parallelScan, from <-chan T) (next T, ok bool, err error) {
	select {
	case next, ok = <-from:
		if ok {
			return next, true, nil
		}
	case <-s.ctx.Done():
	}
	return next, false, context.Cause(s.ctx)
}

// scanWorker is a goroutine that collects parts.
type scanWorker struct {
	responseBuffer
	*parallelScan
	scratch *scratch
	part    *scanPart // at hand
}

// begin starts a worker with a slot. It takes parts until none is left or one has failed.
func (s *parallelScan) begin(slot admission.Slot) {
	w := &scanWorker{parallelScan: s, scratch: newScratch()}
	w.responseBuffer = responseBuffer{out: w.scratch.collected[:0], Slot: slot, to: w}
	s.workers.Go(func() {
		defer w.Release()
		if err := w.work(); err != nil {
			s.cancel(err)
			return
		}
		w.scratch.collected = w.out
		w.scratch.reuse()
	})
}

// work collects part after part. It turns a panic into an error, because serve cannot: this is
// another goroutine.
func (w *scanWorker) work() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	for w.wait() {
		if w.part = w.take(); w.part == nil {
			return nil
		}
		if err := w.collect(); err != nil {
			return err
		}
		close(w.part.chunks)
		w.out = keep(w.out, maxKept) // a large value may have been there
	}
	return nil
}

// wait waits for a place in the order and a slot. It returns false when the response has ended.
func (w *scanWorker) wait() bool {
	select {
	case w.slots <- struct{}{}:
	default:
		w.Release()
		select {
		case w.slots <- struct{}{}:
		case <-w.ctx.Done():
			return false
		}
	}
	return w.Reacquire() == nil
}

// take begins the next part. It returns nil when none is left, or when other requests wait for
// slots and another worker goes on.
func (w *scanWorker) take() *scanPart {
	s := w.parallelScan
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.rest) - 1
	if last < 0 {
		return nil
	}
	if s.left > 1 && w.Contended() {
		s.left--
		<-s.slots
		return nil
	}
	// Divide makes few parts of many rows, which can be divided again.
	for parts := s.divide(last); len(parts) > 1; parts = s.divide(last) {
		slices.Reverse(parts)
		s.rest = append(s.rest[:last], parts...)
		last = len(s.rest) - 1
	}
	p := &scanPart{query: s.rest[last], chunks: make(chan *[]byte, partChunks), explain: s.explain.part()}
	s.order <- p // has room for all that have a slot
	if s.rest = s.rest[:last]; last == 0 {
		close(s.order)
	}
	return p
}

// divide divides a query of rest.
func (s *parallelScan) divide(i int) []widecol.Query { return s.view.Divide(&s.rest[i], scanPartBytes) }

// collect collects the current part.
func (w *scanWorker) collect() error {
	a, q := w.scratch.newRowWriter(&w.responseBuffer, w.memory), &w.part.query
	a.strip, a.line, a.explain, q.Yield = q.KeysOnly, w.scratch.lineWriter(w.asLines), w.part.explain, a.yield
	rows, err := w.part.explain.scan(w.ctx, w.view, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	a.some = true // before the part, as far as it knows
	if _, err := a.writeAll(rows); err != nil {
		return err
	}
	w.part.stats = a.stats
	if len(w.out) == 0 {
		return nil
	}
	return w.flush()
}

// flush queues the buffer for the handler.
func (w *scanWorker) flush() error {
	w.Release()
	if !w.enqueue(w.part.chunks, w.ctx.Done()) {
		return context.Cause(w.ctx)
	}
	return w.Reacquire()
}

func (w *scanWorker) sendError() error { return context.Cause(w.ctx) }
