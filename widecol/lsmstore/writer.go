package lsmstore

import (
	"context"
	"errors"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/internal/poison"
)

// writer is a write under way, with the memory of those before it.
type writer struct {
	store  *Store
	table  *table
	batch  engine.Batch
	column []byte
	locks  lockSet
	rows   int // of the batch
	locked bool
	lent   bool   // the batch may still call unlock
	unlock func() // w.unlockRows, made once
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.unlock = w.unlockRows
	return w
}}

// keepBytes is the size from which a batch's memory is not kept.
const keepBytes = 4 << 20

func newWriter(s *Store, t *table) *writer {
	w := writers.Get().(*writer)
	w.store, w.table = s, t
	return w
}

// add adds an entry of a family. All entries of families go through it.
//
// Of a family that moves, the partition it comes from gets a tombstone: what a deletion deletes may be in either
// partition, and a version that is set may replace one that has not moved yet.
func (w *writer) add(f *family, row []byte, c *cell.Cell) {
	w.batch.Add(f.partition, row, c)
	if f.from == nil {
		return
	}
	tombstone := *c
	if c.Kind == cell.Set {
		tombstone = cell.Cell{Kind: cell.DeleteVersion, Column: c.Column, Time: c.Time}
	}
	w.batch.Add(f.from.partition, row, &tombstone)
}

// lock takes the row locks in w.locks. They are held until the batch is in the memtables, or refused, or w is
// released without a commit.
func (w *writer) lock() {
	w.table.rows.lock(w.locks, w.store.db.AwaitRows)
	w.locked = true
}

func (w *writer) unlockRows() { w.table.rows.unlock(w.locks) }

// commit commits the batch. If a deadline passes while it waits for room, that is overload: nothing was written.
func (w *writer) commit(ctx context.Context) (engine.Commit, error) {
	w.batch.Inserted, w.batch.InsertNow = w.unlock, w.locks.alone != 0
	w.locked = false
	commit, err := w.store.db.Commit(ctx, &w.batch)
	if err == nil {
		w.table.counters.countWrite(w)
		return commit, nil
	}
	var late *engine.UnknownError
	if errors.As(err, &late) {
		w.lent = true
	} else if errors.Is(err, context.DeadlineExceeded) {
		err = engine.ErrOverloaded
	}
	return commit, failure(err)
}

// commitNothing ends a write that has read its rows and has nothing to write: what it read must be durable before
// anybody hears of it.
func (w *writer) commitNothing(ctx context.Context) error {
	w.unlockRows()
	w.locked = false
	return failure(w.store.db.AwaitEntered(ctx))
}

func (w *writer) release() {
	if w.locked {
		w.unlockRows()
	}
	if w.lent {
		return
	}
	size := w.batch.Bytes()
	w.batch.Reset()
	poison.Bytes(w.column)
	w.store, w.table, w.locks, w.rows, w.locked = nil, nil, lockSet{}, 0, false
	if size <= keepBytes {
		writers.Put(w)
	}
}
