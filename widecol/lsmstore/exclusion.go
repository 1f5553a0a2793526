package lsmstore

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/colonnade-db/colonnade/engine"
)

// exclusion keeps the writes of a table apart from its schema changes: any number of writes, or
// one change. A wait ends with its context, which a sync.RWMutex cannot do.
type exclusion struct{ s *semaphore.Weighted }

// allWriters is more than the number of writes that can be under way at once.
const allWriters = 1 << 40

func newExclusion() exclusion { return exclusion{semaphore.NewWeighted(allWriters)} }

// share joins the writes. If the context ends first, it has no effect.
func (x exclusion) share(ctx context.Context) error { return x.take(ctx, 1) }

// exclude waits for the writes under way and keeps others out.
func (x exclusion) exclude(ctx context.Context) error { return x.take(ctx, allWriters) }

func (x exclusion) endShare()   { x.s.Release(1) }
func (x exclusion) endExclude() { x.s.Release(allWriters) }

func (x exclusion) take(ctx context.Context, n int64) error {
	if x.s.TryAcquire(n) {
		return nil
	}
	err := x.s.Acquire(ctx, n)
	if errors.Is(err, context.DeadlineExceeded) {
		return failure(engine.ErrSlowDisk)
	}
	return err
}
