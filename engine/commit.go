package engine

import (
	"context"
	"errors"
	"fmt"
)

// Commit describes a batch that was applied.
type Commit struct {
	Seq  uint64 // its place in the order of batches
	Time int64  // what stands for CommitTime in it
}

// Commit applies a batch and returns once it is durable and visible to
// snapshots taken from then on.
//
//	ErrNoPartition, ErrTooLarge, ErrOverloaded, ErrDiskFull, *ReadOnlyError,
//	ErrClosed, the context's error     nothing was written
//	ErrSlowDisk                        the same: the log waits for the disk
//	*UnknownError                      see there; the Commit is the one that
//	                                   the batch has if it is applied
//
// A batch that has its sequence number is always seen through. When that takes
// longer than Options.SyncTimeout, or than the context has, Commit returns a
// *UnknownError all the same, and the batch goes on by itself.
func (db *DB) Commit(ctx context.Context, b *Batch) (Commit, error) {
	if b.count == 0 {
		return Commit{}, errors.New("batch is empty")
	}
	if b.err != nil {
		return Commit{}, fmt.Errorf("batch cannot be committed: %w", b.err)
	}
	if len(b.buf) > MaxBatch {
		return Commit{}, ErrTooLarge
	}
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	g, leading, err := db.enter(ctx, b)
	if err != nil {
		return Commit{}, err
	}
	if p := (pending{seq: b.seq, payload: b.buf, parts: b.parts}); !p.small() {
		db.insert(g, &p)
	}
	if leading {
		db.startLeader()
	}
	c := Commit{Seq: b.seq, Time: b.time()}
	if err := g.await(ctx); err != nil {
		b.lent = true // to the group, which may still be about to write it, or to insert it
		return c, err
	}
	return c, nil
}

// enter gives the batch its place in the order: sequence number, time,
// memtables, log segment and group. It waits for room as long as the options
// allow.
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

// joinLocked puts a batch into the order and into the group that is forming.
// leading says that the caller has to start the leader.
func (db *DB) joinLocked(b *Batch, s *segment) (g *group, leading bool) {
	db.lastSeq++
	db.lastTime = max(db.opt.Clock.Now(), db.lastTime+1)
	b.seq = db.lastSeq
	b.setTime(db.lastTime)
	s.maxSeq = b.seq
	for i := range b.parts {
		m := db.partitions[b.parts[i].id].active
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
	p := pending{seq: b.seq, payload: b.buf, segment: s, parts: b.parts}
	g.batches = append(g.batches, p)
	g.shared = g.shared || p.small()
	g.missing.Add(1)
	g.writers.waiting.Add(1)
	db.countWrittenLocked(len(b.buf))
	leading = !db.leading
	db.leading = true
	return g, leading
}
