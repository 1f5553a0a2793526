package server

import (
	"context"
	"sync"
	"sync/atomic"

	"colonnade/admission"
	"colonnade/internal/cores"
	"colonnade/widecol"
)

// countPartBytes is the bytes of files of a part of a count. Starting and ending a scan costs little
// beside that.
const countPartBytes = 1 << 20

// parallelCount is a query that is only counted. Several goroutines work on its parts, each with a
// slot of its own.
type parallelCount struct {
	view   widecol.View
	parts  []widecol.Query
	next   atomic.Int64 // the first part without a goroutine
	cancel context.CancelFunc

	mu    sync.Mutex
	stats widecol.Stats // guarded by mu
	err   error         // the first; guarded by mu
}

// countParallel returns the statistics of a query. One goroutine per core works on its parts, as
// far as slots are free.
func (x *requestContext) countParallel(view widecol.View, q *widecol.Query) (widecol.Stats, error) {
	t := &parallelCount{view: view, parts: []widecol.Query{*q}}
	if d, ok := view.(widecol.Divider); ok {
		t.parts = d.Divide(q, countPartBytes)
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

// work works on parts until none is left or one has failed. It turns a panic into an error, because
// serve cannot: this may be another goroutine.
func (t *parallelCount) work(ctx context.Context, slot *admission.Slot) {
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

// part counts one part.
func (t *parallelCount) part(ctx context.Context, slot *admission.Slot, q *widecol.Query) error {
	looked := 0
	q.Yield = func() error {
		looked += widecol.YieldEvery
		return slot.Step(looked)
	}
	rows, err := t.view.Scan(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	addStats(&t.stats, rows.Stats())
	return nil
}

// fail keeps the first error and stops the others.
func (t *parallelCount) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.cancel()
}
