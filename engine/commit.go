package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"colonnade/wal"
)

// group is the batches that one sync of the log makes durable.
type group struct {
	batches   []*Batch
	segments  []*segment     // of each batch
	inserting sync.WaitGroup // batches that are not in the memtables yet
	lead      chan struct{}  // takes one token: whoever gets it leads
	done      chan struct{}  // closed when the outcome is known
	err       error          // the outcome, once done is closed
}

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
//	*UnknownError                      see there; the Commit is the one that
//	                                   the batch has if it is applied
//
// The context ends the wait for room, and nothing after it: a batch that has
// its sequence number is always seen through.
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
	g, leading, err := db.enter(ctx, b)
	if err != nil {
		return Commit{}, err
	}
	db.insert(g, b)
	if leading {
		db.leadGroup()
	} else {
		select {
		case <-g.done:
		case <-g.lead:
			db.leadGroup()
		}
	}
	<-g.done
	return Commit{Seq: b.seq, Time: b.time()}, g.err
}

// insert puts the entries of a batch into the memtables. It cannot fail but for a
// fault of our own; what the memtables then hold must never be seen, and the
// group must not wait for it.
func (db *DB) insert(g *group, b *Batch) {
	defer g.inserting.Done()
	err := b.insert()
	for i := range b.parts {
		db.account(b.parts[i].mem)
	}
	if err != nil {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.failLocked(err)
	}
}

// enter gives the batch its place in the order: sequence number, time,
// memtables, log segment and group. It waits for room as long as the options
// allow.
func (db *DB) enter(ctx context.Context, b *Batch) (g *group, leading bool, err error) {
	var wait admission
	defer wait.stop()
	for {
		db.mu.Lock()
		if err := db.checkBatchLocked(b); err != nil {
			db.mu.Unlock()
			return nil, false, err
		}
		obstacle := db.obstacleLocked(b, &wait)
		if obstacle == nil {
			s := db.log.assignLocked(len(b.buf))
			if s != nil {
				g, leading = db.joinLocked(b, s)
				db.mu.Unlock()
				return g, leading, nil
			}
			obstacle = db.logObstacleLocked(len(b.buf))
		}
		db.mu.Unlock()
		if err := obstacle(ctx, &wait); err != nil {
			return nil, false, err
		}
	}
}

func (db *DB) checkBatchLocked(b *Batch) error {
	if err := db.writableLocked(); err != nil {
		return err
	}
	for i := range b.parts {
		if db.partitions[b.parts[i].id] == nil {
			return ErrNoPartition
		}
	}
	return nil
}

// joinLocked puts a batch into the order and into the group that is forming.
// leading says that the caller has to write that group.
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
		db.group = &group{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	g = db.group
	g.batches = append(g.batches, b)
	g.segments = append(g.segments, s)
	g.inserting.Add(1)
	leading = !db.leading
	db.leading = true
	return g, leading
}

// leadGroup writes the group that has formed, publishes it, and hands the lead
// to the next group, if there is one.
func (db *DB) leadGroup() {
	db.mu.Lock()
	g := db.group
	g.err = db.failed
	db.group = nil
	db.mu.Unlock()

	refused := g.err != nil // nothing of it is written
	var err error
	if !refused {
		err = db.writeGroup(g)
	}
	g.inserting.Wait()

	db.mu.Lock()
	if err != nil {
		db.failLocked(err)
	}
	switch {
	case refused:
	case db.failed != nil: // the write, an insert, or an edit meanwhile
		g.err = &UnknownError{Cause: errors.Unwrap(db.failed)}
	default:
		db.visible.Store(g.batches[len(g.batches)-1].seq)
	}
	db.passLeadLocked()
	db.mu.Unlock()
	close(g.done)
}

// passLeadLocked ends a leadership.
func (db *DB) passLeadLocked() {
	if db.group != nil {
		db.group.lead <- struct{}{}
		return
	}
	db.leading = false
	db.armSealLocked()
	if db.closed || len(db.frozen) > 0 { // somebody may wait for the batches to be visible
		db.background.signalLocked()
	}
}

// armSealLocked arranges for a seal when the log stays idle.
func (db *DB) armSealLocked() {
	l := &db.log
	if l.sealArmed || db.closed || db.failed != nil || l.sealSeq == db.lastSeq {
		return
	}
	l.sealArmed = true
	l.sealSeq = db.lastSeq
	db.opt.Clock.AfterFunc(sealDelay, db.sealIdle)
}

// sealIdle seals the log if nothing was written since it was armed.
func (db *DB) sealIdle() {
	db.mu.Lock()
	l := &db.log
	l.sealArmed = false
	if db.leading || db.closed || db.failed != nil {
		db.mu.Unlock()
		return // the leader arms it again when it is done
	}
	if l.sealSeq != db.lastSeq {
		db.armSealLocked()
		db.mu.Unlock()
		return
	}
	last := l.segments[len(l.segments)-1]
	if last != l.current || last.room < wal.SealSize {
		db.mu.Unlock()
		return // the next batch finishes it
	}
	last.room -= wal.SealSize
	db.leading = true
	db.mu.Unlock()

	err := last.w.Seal()

	db.mu.Lock()
	defer db.mu.Unlock()
	if err != nil {
		db.failLocked(err)
	}
	db.passLeadLocked()
}
