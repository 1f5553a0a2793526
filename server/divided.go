package server

import (
	"context"
	"slices"
	"sync"

	"colonnade/admission"
	"colonnade/internal/cores"
	"colonnade/widecol"
)

// division is a long answer that is collected by several goroutines. Each takes one range of
// rows after another, in turns of its own; the handler sends what they collect, in order:
//
//	worker 1   collects part 1     | collects part 3        | ...
//	worker 2   collects part 2            | collects part 4 | ...
//	handler    sends part 1        | part 2        | part 3 | ...
type division struct {
	view    divisibleView
	slots   chan struct{} // one for each part that may be begun before another is sent
	order   chan *part    // as begun
	workers sync.WaitGroup
	ctx     context.Context // ends with the reason when a worker fails
	cancel  context.CancelCauseFunc
	some    bool // a piece was taken; for the handler

	mu   sync.Mutex
	rest []widecol.Query // what nobody has begun, from the last rows to the first; guarded by mu
	left int             // workers that go on; guarded by mu
}

// part is the part of an answer that one worker collects.
type part struct {
	query  widecol.Query
	pieces chan *[]byte  // closed at the end
	stats  widecol.Stats // to be read after that
}

type divisibleView interface {
	widecol.View
	divisible
}

const (
	// collectedPart is how much a part has of files, about.
	collectedPart = 256 << 10
	// partPieces is how many pieces of a part may wait for the parts before it to be sent: about
	// what it is as JSON. Then its worker waits.
	partPieces = 24
	// maxWorkers and maxDivisions bound the memory for what waits. More than two answers at
	// once need no more goroutines to keep the cores busy.
	maxWorkers   = 8
	maxDivisions = 2
)

// appendRows appends the rows of a query, with a worker for each core if there are many.
func (x *exchange) appendRows(view widecol.View, q *widecol.Query) (widecol.Stats, error) {
	if d := x.divide(view, q); d != nil {
		return x.join(d)
	}
	rows, err := view.Scan(x.ctx(), q)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer rows.Close()
	a := x.newAnswer(&x.collector)
	_, err = a.all(rows)
	return a.stats, err
}

// divide has workers begin with the answer to a query. It returns nil where there is too little
// to divide, and where the cores have other work.
func (x *exchange) divide(view widecol.View, q *widecol.Query) *division {
	v, ok := view.(divisibleView)
	if !ok || cores.Count() == 1 {
		return nil
	}
	parts := v.Divide(q, collectedPart)
	if len(parts) == 1 || !x.server.divisions.Take(1) {
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
		x.server.divisions.Give(1)
		return nil
	}
	workers[0] = x.Move(ctx) // the handler needs none to send
	slices.Reverse(parts)
	d := &division{
		view: v, slots: make(chan struct{}, n+1), order: make(chan *part, n+1), // no worker waits while one part is sent
		ctx: ctx, cancel: cancel, rest: parts, left: n,
	}
	for _, slot := range workers {
		d.begin(slot)
	}
	return d
}

// join sends what the workers collect, and waits until they have ended.
func (x *exchange) join(d *division) (stats widecol.Stats, err error) {
	defer x.server.divisions.Give(1)
	defer d.workers.Wait()
	defer d.cancel(nil)
	for {
		p, ok, err := receive(d, d.order)
		if !ok {
			return stats, err
		}
		if err := x.sendPart(d, p); err != nil {
			return stats, err
		}
		addStats(&stats, p.stats)
		<-d.slots
	}
}

func (x *exchange) sendPart(d *division, p *part) error {
	for {
		piece, ok, err := receive(d, p.pieces)
		if !ok {
			return err
		}
		switch {
		case !d.some: // each row of a part has a comma before it
			x.out = append(x.out, (*piece)[1:]...)
			d.some = true
		case len(x.out) > 0:
			x.out = append(x.out, *piece...)
		default:
			x.out, *piece = *piece, x.out
		}
		release(piece)
		if err := x.flush(); err != nil {
			return err
		}
	}
}

// receive takes the next of what workers have made. It is not ok at the end, and with an
// error when one of them has failed.
func receive[T any](d *division, from <-chan T) (next T, ok bool, err error) {
	select {
	case next, ok = <-from:
		if ok {
			return next, true, nil
		}
	case <-d.ctx.Done():
	}
	return next, false, context.Cause(d.ctx)
}

// worker is a goroutine that collects parts.
type worker struct {
	collector
	*division
	scratch *scratch
	part    *part // at hand
}

// begin has a worker with a slot take parts until none is left or one has failed.
func (d *division) begin(slot admission.Slot) {
	w := &worker{division: d, scratch: newScratch()}
	w.collector = collector{out: w.scratch.collected[:0], Slot: slot, to: w}
	d.workers.Go(func() {
		defer w.Release()
		if err := w.work(); err != nil {
			d.cancel(err)
			return
		}
		w.scratch.collected = w.out
		w.scratch.reuse()
	})
}

// work collects part after part. A panic is made an error here and not in serve, since it is in another goroutine.
func (w *worker) work() (err error) {
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
		close(w.part.pieces)
		w.out = keep(w.out, mostKept) // a large value may have been there
	}
	return nil
}

// wait waits for a slot and a turn. It returns false when the answer has ended.
func (w *worker) wait() bool {
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

// take begins the next part, in a slot. It returns nil when none is left, and when others wait for
// turns and another worker goes on.
func (w *worker) take() *part {
	d := w.division
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.rest) - 1
	if last < 0 {
		return nil
	}
	if d.left > 1 && w.Contended() {
		d.left--
		<-d.slots
		return nil
	}
	// Divide makes few parts of many rows, which can be divided again.
	for parts := d.divide(last); len(parts) > 1; parts = d.divide(last) {
		slices.Reverse(parts)
		d.rest = append(d.rest[:last], parts...)
		last = len(d.rest) - 1
	}
	p := &part{query: d.rest[last], pieces: make(chan *[]byte, partPieces)}
	d.order <- p // has room for all that have a slot
	if d.rest = d.rest[:last]; last == 0 {
		close(d.order)
	}
	return p
}

// divide divides a query of rest.
func (d *division) divide(i int) []widecol.Query { return d.view.Divide(&d.rest[i], collectedPart) }

// collect collects the part at hand.
func (w *worker) collect() error {
	rows, err := w.view.Scan(w.ctx, &w.part.query)
	if err != nil {
		return err
	}
	defer rows.Close()
	a := w.scratch.newAnswer(&w.collector)
	a.some = true // before the part, as far as it knows
	if _, err := a.all(rows); err != nil {
		return err
	}
	w.part.stats = a.stats
	if len(w.out) == 0 {
		return nil
	}
	return w.pass()
}

// pass queues what is collected for the handler.
func (w *worker) pass() error {
	w.Release()
	if !w.enqueue(w.part.pieces, w.ctx.Done()) {
		return context.Cause(w.ctx)
	}
	return w.Reacquire()
}

func (w *worker) unsent() error { return context.Cause(w.ctx) }
