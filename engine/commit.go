package engine

import (
	"context"
	"errors"
	"fmt"
)

// Commit describes a batch that was committed.
type Commit struct {
	Seq  uint64 // its sequence number
	Time int64  // its commit time, in microseconds since the Unix epoch
}

// Commit commits a batch. It returns once the batch is durable and visible to snapshots taken from then
// on.
//
//	ErrNoPartition, ErrTooLarge, ErrOverloaded, ErrDiskFull, *ReadOnlyError,
//	ErrClosed, the context's error     nothing was written
//	ErrSlowDisk                        nothing was written: the log waits for the disk
//	*UnknownError                      see there; the Commit is valid if the batch
//	                                   turns out to be applied
//
// A batch that has its sequence number cannot be cancelled. If it takes longer than
// Options.SyncTimeout, or than the context allows, Commit returns an *UnknownError and the batch goes
// on.
func (db *DB) Commit(ctx context.Context, b *Batch) (Commit, error) {
	if err := b.check(ctx); err != nil {
		b.inserted()
		return Commit{}, err
	}
	var begun, entered int64
	if db.opt.Trace != nil {
		begun = db.opt.Clock.Now()
	}
	g, leading, err := db.enter(ctx, b)
	if err != nil {
		b.inserted()
		return Commit{}, err
	}
	if db.opt.Trace != nil {
		entered = db.opt.Clock.Now()
	}
	if p := b.pending(nil); !p.shared() {
		db.insert(g, &p)
	}
	if leading {
		db.startLeader()
	}
	c := Commit{Seq: b.seq, Time: b.time()}
	size := len(b.buf)
	err = g.await(ctx)
	if db.opt.Trace != nil {
		db.traceCommit(ctx, g, begun, entered, size, err)
	}
	if err != nil {
		b.lent = true // to the group, which may still write or insert it
		return c, err
	}
	return c, nil
}

// check returns why no DB can commit the batch, or nil.
func (b *Batch) check(ctx context.Context) error {
	switch {
	case b.count == 0:
		return errors.New("batch is empty")
	case b.err != nil:
		return fmt.Errorf("batch cannot be committed: %w", b.err)
	case len(b.buf) > MaxBatch || b.ranges > rangesMost/2:
		return ErrTooLarge
	}
	return ctx.Err()
}

// AwaitEntered waits until every batch that has entered is durable and visible. Its error says why one may
// not be: a *ReadOnlyError, ErrSlowDisk or that of the context. A caller that has read such a batch (TakeEntered)
// and writes nothing itself must not say what it read before.
func (db *DB) AwaitEntered(ctx context.Context) error {
	db.mu.Lock()
	g := db.group
	if n := len(db.inFlight); g == nil && n > 0 {
		g = db.inFlight[n-1]
	}
	if g == nil {
		defer db.mu.Unlock()
		return db.failed
	}
	g.writers.waiting.Add(1)
	db.mu.Unlock()
	err := g.await(ctx)
	unknown := (*UnknownError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.failed != nil {
		return db.failed
	}
	return unknown.Cause
}

// enter gives the batch its place in the order of batches: sequence number, time, memTables, log segment
// and group. It waits out write stalls as long as the options allow. leading says that the caller has
// to start the leader.
func (db *DB) enter(ctx context.Context, b *Batch) (g *group, leading bool, err error) {
	timer := &b.stall
	defer timer.stop()
	for {
		db.mu.Lock()
		if err := db.checkBatchLocked(b); err != nil {
			db.mu.Unlock()
			return nil, false, err
		}
		reason := db.stallReasonLocked(b, timer)
		if reason == nil {
			s := db.log.assignLocked(len(b.buf))
			if s != nil {
				g, leading = db.joinLocked(b, s)
				db.mu.Unlock()
				return g, leading, nil
			}
			reason = db.logStallReasonLocked(len(b.buf))
		}
		db.mu.Unlock()
		if err := reason(ctx, timer); err != nil {
			return nil, false, err
		}
	}
}

// checkBatchLocked returns why a batch cannot be written, nil if it can.
func (db *DB) checkBatchLocked(b *Batch) error {
	if err := db.writableLocked(); err != nil {
		return err
	}
	if err := db.pausedLocked(); err != nil {
		return err
	}
	for i := range b.parts {
		if db.partitions[b.parts[i].id] == nil {
			return ErrNoPartition
		}
	}
	return nil
}

// pausedLocked returns why no batch may enter at present, or nil.
func (db *DB) pausedLocked() error {
	if err := db.diskReserve.fullLocked(); err != nil {
		return err
	}
	if db.slow {
		return ErrSlowDisk
	}
	return nil
}

// joinLocked puts a batch into the order of batches and into the forming group.
func (db *DB) joinLocked(b *Batch, s *segment) (g *group, leading bool) {
	db.lastSeq++
	db.lastTime = max(db.opt.Clock.Now(), db.lastTime+1, b.After+1)
	b.InsertNow = b.InsertNow || db.awaiting > 0
	b.seq = db.lastSeq
	b.setTime(db.lastTime)
	if s.maxSeq == 0 {
		s.begun = db.opt.Clock.Elapsed()
	}
	s.maxSeq = b.seq
	for i := range b.parts {
		p := db.partitions[b.parts[i].id]
		m := p.active
		if b.ranges > 0 {
			db.expectRangesLocked(p, m, b.seq)
		}
		if m.minSeq == 0 {
			m.minSeq = b.seq
		}
		m.maxSeq = b.seq
		b.parts[i].mem = m
	}
	if db.group == nil {
		db.group = db.newGroup()
	}
	g = db.group
	p := b.pending(s)
	g.batches = append(g.batches, p)
	g.shared = g.shared || p.shared()
	g.missing.Add(1)
	g.writers.waiting.Add(1)
	db.counted.batches++
	db.counted.batchBytes += uint64(len(b.buf))
	db.countWrittenLocked(len(b.buf))
	leading = !db.leading
	db.leading = true
	return g, leading
}
