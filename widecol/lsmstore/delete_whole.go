package lsmstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// wholeRanges bounds the range tombstones of a batch, for the bound of the engine.
const wholeRanges = 1000

// needsNoRead reports whether a deletion can be made of tombstones for rows and ranges of rows, without a read of
// what there is: it removes its rows as a whole and does not count, and the tombstones of a range fit a batch.
func (t *table) needsNoRead(d *widecol.Deletion) bool {
	if d.Count || !d.Whole() {
		return false
	}
	for _, r := range d.Rows {
		if (len(r.Start)+len(r.End)+100)*len(t.stores()) > deleteBytes {
			return false
		}
	}
	return true
}

// deleteWhole deletes rows as a whole, in as many batches as it takes.
func (s *Store) deleteWhole(ctx context.Context, t *table, d *widecol.Deletion, rows widecol.RowSet, e *entry) error {
	for {
		done, err := s.deleteRanges(ctx, t, d, rows, e)
		if err != nil {
			return err
		}
		if rows = rows[done:]; len(rows) == 0 {
			return nil
		}
	}
}

// deleteRanges deletes the rows of the first ranges of a set, in one batch, and returns how many ranges these are.
// It shares all row locks, so that nothing that an update has read before the batch comes after it.
func (s *Store) deleteRanges(ctx context.Context, t *table, d *widecol.Deletion, rows widecol.RowSet, e *entry) (done int, err error) {
	w := newWriter(s, t)
	defer w.release()
	for done < len(rows) && w.batch.Bytes() < deleteBytes && w.batch.Len() < wholeRanges {
		w.addRange(rows[done])
		done++
	}
	if e != nil {
		o := deletedOutcome(d, widecol.Deleted{})
		if done < len(rows) {
			o = o.until(rows[done-1].End) // which is in no range: they do not touch
		}
		e.add(&w.batch, o)
	}
	if w.batch.Len() == 0 {
		return done, nil
	}
	w.locks.shared = ^uint64(0)
	w.lock()
	_, err = w.commit(ctx)
	return done, err
}

// addRange adds the tombstones for a range of rows: for a single row, readers of other rows are not asked to look
// at a range tombstone.
func (w *writer) addRange(r widecol.RowRange) {
	row := r.Key()
	for _, id := range w.table.stores() {
		if row != nil {
			w.batch.Add(id, row, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		} else {
			w.batch.DeleteRange(id, r.Start, r.End)
		}
	}
}
