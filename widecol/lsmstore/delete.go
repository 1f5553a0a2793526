package lsmstore

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// deleteRows bounds the rows that one batch of a deletion deletes from, deleteBytes its size. The rows are locked
// together, while they are read.
const (
	deleteRows  = 256
	deleteBytes = 1 << 20
)

// Delete implements widecol.Store. Each row, with what it holds, is deleted from between two other writes of it.
func (s *Store) Delete(ctx context.Context, name string, d *widecol.Deletion, key string) (widecol.Deleted, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return widecol.Deleted{}, err
	}
	defer done()
	if row := d.OneRow(); row != nil {
		if err := widecol.CheckRowKey(row); err != nil {
			return widecol.Deleted{}, err
		}
	}
	if key == "" || d.DryRun {
		return s.delete(ctx, t, d, nil)
	}
	o, err := s.once(ctx, t, key, fingerprintOfDelete(d), func(e *entry) (outcome, error) {
		n, err := s.delete(ctx, t, d, e)
		return deletedOutcome(d, n), err
	})
	return outcomeDeleted(d, o), err
}

// deletedOutcome is the stored form of a result.
func deletedOutcome(d *widecol.Deletion, n widecol.Deleted) outcome {
	o := outcome{number: n.Cells}
	if d.OneRow() == nil {
		o.result = binary.LittleEndian.AppendUint64(nil, uint64(n.Rows))
	}
	return o
}

// until returns what is stored while a deletion of several rows is not done: the outcome so far, and the last
// row that was deleted from.
func (o outcome) until(row []byte) outcome {
	o.result, o.partly = append(o.result, row...), true
	return o
}

func (o outcome) lastRow() []byte { return o.result[8:] }

func outcomeDeleted(d *widecol.Deletion, o outcome) widecol.Deleted {
	n := widecol.Deleted{Cells: o.number}
	if len(o.result) >= 8 {
		n.Rows = int64(binary.LittleEndian.Uint64(o.result))
	} else if n.Cells > 0 {
		n.Rows = 1
	}
	return n
}

func (s *Store) delete(ctx context.Context, t *table, d *widecol.Deletion, e *entry) (n widecol.Deleted, err error) {
	if err := t.schema.check(t.name, &d.Filter); err != nil {
		return n, err
	}
	if d.DryRun {
		v, err := s.newView(t)
		if err != nil {
			return n, err
		}
		defer v.Close()
		return n, v.countDoomed(ctx, d, d.Rows, &n)
	}
	if row := d.OneRow(); row != nil {
		return s.deleteFrom(ctx, t, d, [][]byte{row}, true, e, &n)
	}
	rows := d.Rows
	if e != nil && e.begun.partly {
		n, rows = outcomeDeleted(d, e.begun), rowsAfter(rows, e.begun.lastRow())
	}
	if t.needsNoRead(d) {
		return n, s.deleteWhole(ctx, t, d, rows, e)
	}
	v, err := s.newView(t)
	if err != nil {
		return n, err
	}
	defer v.Close()
	err = v.eachRows(ctx, d, rows, func(list [][]byte, last bool) error {
		if len(list) == 0 && e == nil {
			return nil
		}
		_, err := s.deleteFrom(ctx, t, d, list, last, e, &n)
		return err
	})
	return n, err
}

// rowsAfter returns the rows of a set that come after a row.
func rowsAfter(s widecol.RowSet, row []byte) widecol.RowSet {
	next := append(bytes.Clone(row), 0)
	rest := make([]widecol.RowRange, len(s))
	for i, r := range s {
		if bytes.Compare(r.Start, next) < 0 {
			r.Start = next
		}
		rest[i] = r
	}
	return widecol.NewRowSet(rest...)
}

// eachRows calls f with those of the rows that a deletion selects from, garbage too, some at a time, and says
// which are the last, perhaps none.
func (v *view) eachRows(ctx context.Context, d *widecol.Deletion, keys widecol.RowSet, f func(rows [][]byte, last bool) error) error {
	q := selecting(d, keys)
	q.RowCellLimit = 1
	v.policies = v.schema.bare
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list [][]byte
	for rows.Next() {
		if len(list) == deleteRows {
			if err := f(list, false); err != nil {
				return err
			}
			list = list[:0]
		}
		list = append(list, bytes.Clone(rows.Row()))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return f(list, true)
}

// deleteFrom deletes from rows in as many batches as it takes, each for whole rows. It adds to n what was deleted.
// Each batch has the entry of an idempotency key: how far the deletion is, so that the request, sent again, goes
// on there and deletes from no row twice. The batch of the last rows has the outcome. It is durable even if there
// is nothing to delete.
func (s *Store) deleteFrom(ctx context.Context, t *table, d *widecol.Deletion, rows [][]byte, last bool, e *entry, n *widecol.Deleted) (widecol.Deleted, error) {
	for {
		done, err := s.deleteSome(ctx, t, d, rows, last, e, n)
		if err != nil {
			return widecol.Deleted{}, err
		}
		if rows = rows[done:]; len(rows) == 0 {
			return *n, nil
		}
	}
}

func (s *Store) deleteSome(ctx context.Context, t *table, d *widecol.Deletion, rows [][]byte, last bool, e *entry, n *widecol.Deleted) (done int, err error) {
	w := newWriter(s, t)
	defer w.release()
	for _, row := range rows {
		w.locks.takeAlone(row)
	}
	w.lock()
	v, err := s.viewOfEntered(t)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	for done < len(rows) && w.batch.Bytes() < deleteBytes {
		if err := w.deleteRow(ctx, v, d, rows[done], n); err != nil {
			return 0, err
		}
		done++
	}
	w.rows = done
	if e != nil {
		o := deletedOutcome(d, *n)
		if !last || done < len(rows) {
			o = o.until(rows[done-1])
		}
		e.add(&w.batch, o)
	}
	if w.batch.Len() == 0 {
		return done, w.commitNothing(ctx)
	}
	commit, err := w.commit(ctx)
	if err == nil {
		w.sampleRows(commit.Time, rows[:done]...)
	}
	return done, err
}

// deleteRow adds the tombstones for a row that is locked, and counts what a read returns of what they delete.
// They also delete garbage, which must not come back when the family's settings change.
func (w *writer) deleteRow(ctx context.Context, v *view, d *widecol.Deletion, row []byte, n *widecol.Deleted) error {
	keys := widecol.RowSet{widecol.KeyRange(row)}
	if d.Count {
		v.policies = w.table.schema.policies
		if err := v.countDoomed(ctx, d, keys, n); err != nil {
			return err
		}
	}
	q := selecting(d, keys)
	v.policies = w.table.schema.bare
	last := w.column[:0]
	err := v.each(ctx, &q, func(c cell.Cell) {
		if d.Times != widecol.AllTimes {
			family, _ := cell.SplitColumn(c.Column)
			w.addVersionTombstone(w.table.schema.family(family), row, c.Column, c.Time)
			return
		}
		w.addWidestTombstone(row, c.Column, last, d.Filter.Columns)
		last = append(last[:0], c.Column...)
	})
	w.column = last
	return err
}

// countDoomed counts the versions of rows that a deletion selects.
func (v *view) countDoomed(ctx context.Context, d *widecol.Deletion, keys widecol.RowSet, n *widecol.Deleted) error {
	q := selecting(d, keys)
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	n.Rows += rows.Stats().Rows
	n.Cells += rows.Stats().Cells
	return rows.Err()
}

// selecting returns the query for the versions of rows that a deletion selects, without their values.
func selecting(d *widecol.Deletion, keys widecol.RowSet) widecol.Query {
	q := widecol.NewQuery()
	q.Rows, q.Filter, q.Times, q.KeysOnly = keys, d.Filter, d.Times, true
	return q
}

// each calls f for every cell of a query.
func (v *view) each(ctx context.Context, q *widecol.Query, f func(cell.Cell)) error {
	rows, err := v.Scan(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			f(c)
		}
	}
	return rows.Err()
}

// addWidestTombstone deletes a column of a row by the tombstone with the largest scope that columns allows,
// unless that of the last column covers it.
func (w *writer) addWidestTombstone(row, column, last []byte, columns *cell.Columns) {
	tombstone := cell.Cell{Kind: cell.DeleteColumn, Column: column, Time: cell.TombstoneTime}
	family, _ := cell.SplitColumn(column)
	switch {
	case columns == nil:
		if len(last) > 0 {
			return
		}
		for _, id := range w.table.stores() {
			w.batch.Add(id, row, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		}
	case covers(columns, family):
		if before, _ := cell.SplitColumn(last); bytes.Equal(before, family) {
			return
		}
		tombstone.Kind, tombstone.Column = cell.DeleteFamily, family
		w.add(w.table.schema.family(family), row, &tombstone)
	case !bytes.Equal(column, last):
		w.add(w.table.schema.family(family), row, &tombstone)
	}
}

// covers reports whether columns holds every column of a family.
func covers(columns *cell.Columns, family []byte) bool {
	f := cell.FamilyRange(family)
	for _, r := range columns.Ranges() {
		if bytes.Compare(r.Start, f.Start) <= 0 && (r.End == nil || bytes.Compare(r.End, f.End) >= 0) {
			return true
		}
	}
	return false
}
