package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/widecol"
)

// countPartBytes is the bytes of files of a part of a count. Starting and ending a scan costs little
// beside that.
const countPartBytes = 1 << 20

// parallelCount is a query whose parts are counted in any order. Several goroutines work on its parts, each with
// a slot of its own.
type parallelCount struct {
	count   countPart
	explain *explanation // of the handler
	parts   []widecol.Query
	next    atomic.Int64 // the first part without a goroutine
	cancel  context.CancelFunc

	mu    sync.Mutex
	stats widecol.Stats // guarded by mu
	err   error         // the first; guarded by mu
}

// countPart counts one part of a query. Goroutines call it at once.
type countPart func(ctx context.Context, q *widecol.Query) (widecol.Stats, error)

// inParallel counts the parts of a query and returns the sum of their statistics. One goroutine per core works on
// the parts, as far as slots are free.
func (x *requestContext) inParallel(view widecol.View, q *widecol.Query, count countPart) (widecol.Stats, error) {
	x.explain.ask(q)
	c := &parallelCount{count: count, explain: x.explain, parts: []widecol.Query{*q}}
	if d, ok := view.(widecol.Divider); ok {
		c.parts = d.Divide(q, countPartBytes)
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(x.ctx())
	defer c.cancel()
	var helpers sync.WaitGroup
	for range min(cores.Count(), len(c.parts)) - 1 {
		more, ok := x.Another(ctx)
		if !ok {
			break
		}
		helpers.Go(func() {
			defer more.Release()
			c.work(ctx, &more)
		})
	}
	c.work(ctx, &x.Slot)
	helpers.Wait()
	return c.stats, c.err
}

// work works on parts until none is left or one has failed. It turns a panic into an error, because
// serve cannot: this may be another goroutine.
func (c *parallelCount) work(ctx context.Context, slot *admission.Slot) {
	defer func() {
		if p := recover(); p != nil {
			c.fail(panicked(p))
		}
	}()
	for {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.parts) {
			return
		}
		if err := c.part(ctx, slot, &c.parts[i]); err != nil {
			c.fail(err)
			return
		}
	}
}

// part counts one part.
func (c *parallelCount) part(ctx context.Context, slot *admission.Slot, q *widecol.Query) error {
	looked := 0
	q.Yield = func() error {
		looked += widecol.YieldEvery
		return slot.Step(looked)
	}
	explain := c.explain.part()
	stats, err := explain.count(ctx, q, c.count)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	addStats(&c.stats, stats)
	c.explain.add(explain)
	return nil
}

// fail keeps the first error and stops the others.
func (c *parallelCount) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.cancel()
}
