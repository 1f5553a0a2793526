package lsmstore

import (
	"context"
	"sync/atomic"

	"colonnade/engine"
)

// lateBatches knows whether a batch is on its way whose caller has left. Its row locks
// are free again, and nobody sees it yet: who reads a row to decide what to write would
// decide as if it were not there, though it comes first.
type lateBatches struct {
	newest atomic.Pointer[lateBatch]
}

type lateBatch struct {
	seq     uint64
	decided chan struct{} // closed when the batch is visible, or will never be
}

// note takes note of a batch, before its locks are released. Batches are decided in
// their order, so only the newest counts.
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

// pending returns the newest such batch while it is not decided, or else nil.
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

// lockRow locks a row for one that reads it before it writes it: no other write of it
// is under way then. The caller unlocks it.
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
