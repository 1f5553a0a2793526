package server

import (
	"context"
	"sync"
	"sync/atomic"

	"colonnade/admission"
	"colonnade/internal/cores"
	"colonnade/widecol"
)

// divisible is what a View can offer beside the contract: Divide returns queries that
// together select what q does, each a range of its rows, in their order, with about least
// bytes of files in each, or more if there were too many. Their answers may be read at
// once, each by a goroutine of its own, and their Stats add up to those of q. A part can be
// divided again, also meanwhile, until there is nothing to divide.
type divisible interface {
	Divide(q *widecol.Query, least int64) []widecol.Query
}

// countedPart is how much a part of a count has of files: what begins and ends a scan is a
// small part of that.
const countedPart = 1 << 20

// tally is a query whose cells nobody wants, only what it costs. Several goroutines
// work on its parts, each in turns of its own.
type tally struct {
	view   widecol.View
	parts  []widecol.Query
	next   atomic.Int64 // the first part that nobody works on
	cancel context.CancelFunc

	mu    sync.Mutex
	stats widecol.Stats // guarded by mu
	err   error         // the first; guarded by mu
}

// tally returns the statistics of a query. A part of it may be worked on for each
// core, as far as turns are free.
func (x *exchange) tally(view widecol.View, q *widecol.Query) (widecol.Stats, error) {
	t := &tally{view: view, parts: []widecol.Query{*q}}
	if d, ok := view.(divisible); ok {
		t.parts = d.Divide(q, countedPart)
	}
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(x.ctx())
	defer t.cancel()
	var helpers sync.WaitGroup
	for range min(cores.Count(), len(t.parts)) - 1 {
		more, ok := x.Another(ctx)
		if !ok {
			break
		}
		helpers.Go(func() {
			defer more.Release()
			t.work(ctx, &more)
		})
	}
	t.work(ctx, &x.Slot)
	helpers.Wait()
	return t.stats, t.err
}

// work works on parts until none is left or one has failed. Here and not in serve a
// panic is made an error, since it may be in another goroutine.
func (t *tally) work(ctx context.Context, slot *admission.Slot) {
	defer func() {
		if p := recover(); p != nil {
			t.fail(panicked(p))
		}
	}()
	for {
		i := int(t.next.Add(1)) - 1
		if i >= len(t.parts) {
			return
		}
		if err := t.part(ctx, slot, &t.parts[i]); err != nil {
			t.fail(err)
			return
		}
	}
}

// part runs one part.
func (t *tally) part(ctx context.Context, slot *admission.Slot, q *widecol.Query) error {
	rows, err := t.view.Scan(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 1; rows.Next(); n++ {
		if err := slot.Step(n); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	addStats(&t.stats, rows.Stats())
	return nil
}

// fail notes an error, unless it follows from an earlier one, and stops the others.
func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.cancel()
}
