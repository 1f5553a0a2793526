package lsmstore

import (
	"context"
	"sync/atomic"

	"colonnade/engine"
)

// lateBatches tracks batches that are still being written after their callers have left. Their row locks
// are free again, and no reader sees them yet. A request that reads a row to decide what to write would
// miss them, although they come first.
type lateBatches struct {
	newest atomic.Pointer[lateBatch]
}

type lateBatch struct {
	seq     uint64
	decided chan struct{} // closed when the batch is visible, or will never be
}

// note records a batch before its locks are released. Batches are decided in order, so only the newest
// counts.
func (l *lateBatches) note(seq uint64, outcome *engine.UnknownError) {
	b := &lateBatch{seq: seq, decided: make(chan struct{})}
	go func() { // ends with the engine at the latest
		_ = outcome.Wait()
		close(b.decided)
	}()
	for {
		was := l.newest.Load()
		if was != nil && was.seq > seq || l.newest.CompareAndSwap(was, b) {
			return
		}
	}
}

// pending returns the newest undecided batch, nil if there is none.
func (l *lateBatches) pending() *lateBatch {
	b := l.newest.Load()
	if b == nil {
		return nil
	}
	select {
	case <-b.decided:
		return nil
	default:
		return b
	}
}

// wait waits until the batch is decided.
func (b *lateBatch) wait(ctx context.Context) error {
	select {
	case <-b.decided:
		return nil
	case <-ctx.Done():
		return failure(engine.ErrSlowDisk)
	}
}

// lockRow locks a row for a request that reads it before it writes it. No other write of the row is under
// way until the caller unlocks it.
func (s *Store) lockRow(ctx context.Context, t *table, row []byte) (unlock func(), err error) {
	lock := t.rows.lock(row)
	for {
		lock.Lock()
		late := s.late.pending()
		if late == nil {
			return lock.Unlock, nil
		}
		lock.Unlock()
		if err := late.wait(ctx); err != nil {
			return nil, err
		}
	}
}
