package lsmstore

import (
	"bytes"
	"context"
	"encoding/binary"

	"colonnade/cell"
	"colonnade/widecol"
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

func outcomeDeleted(d *widecol.Deletion, o outcome) widecol.Deleted {
	n := widecol.Deleted{Cells: o.number}
	if len(o.result) == 8 {
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
		return s.deleteFrom(ctx, t, d, [][]byte{row}, e, &n)
	}
	v, err := s.newView(t)
	if err != nil {
		return n, err
	}
	defer v.Close()
	err = v.eachRows(ctx, d, func(rows [][]byte) error {
		_, err := s.deleteFrom(ctx, t, d, rows, nil, &n)
		return err
	})
	if err != nil || e == nil {
		return n, err
	}
	w := newWriter(s, t)
	defer w.release()
	e.add(&w.batch, deletedOutcome(d, n))
	_, err = w.commit(ctx)
	return n, err
}

// eachRows calls f with the rows that a deletion selects from, garbage too, some at a time.
func (v *view) eachRows(ctx context.Context, d *widecol.Deletion, f func(rows [][]byte) error) error {
	q := selecting(d, d.Rows)
	q.RowCellLimit = 1
	v.policies = v.schema.bare
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list [][]byte
	for rows.Next() {
		if list = append(list, bytes.Clone(rows.Row())); len(list) == deleteRows {
			if err := f(list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	if err := rows.Err(); err != nil || len(list) == 0 {
		return err
	}
	return f(list)
}

// deleteFrom deletes from rows in as many batches as it takes, each for whole rows. It adds to n what was deleted.
// The entry of an idempotency key is durable even if there is nothing to delete.
func (s *Store) deleteFrom(ctx context.Context, t *table, d *widecol.Deletion, rows [][]byte, e *entry, n *widecol.Deleted) (widecol.Deleted, error) {
	for len(rows) > 0 {
		done, err := s.deleteSome(ctx, t, d, rows, e, n)
		if err != nil {
			return widecol.Deleted{}, err
		}
		rows = rows[done:]
	}
	return *n, nil
}

func (s *Store) deleteSome(ctx context.Context, t *table, d *widecol.Deletion, rows [][]byte, e *entry, n *widecol.Deleted) (done int, err error) {
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
	e.add(&w.batch, deletedOutcome(d, *n))
	if w.batch.Len() == 0 {
		return done, w.commitNothing(ctx)
	}
	_, err = w.commit(ctx)
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
			w.addVersionTombstone(w.table.schema.family(family).partition, row, c.Column, c.Time, nil)
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
	partition := w.table.schema.family(family).partition
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
		w.batch.Add(partition, row, &tombstone)
	case !bytes.Equal(column, last):
		w.batch.Add(partition, row, &tombstone)
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
