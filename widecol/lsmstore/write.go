package lsmstore

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"colonnade/cell"
	"colonnade/engine"
	"colonnade/internal/poison"
	"colonnade/widecol"
)

// writer is the memory of a write, kept for the next one.
type writer struct {
	batch  engine.Batch
	column []byte
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// keepBytes is the size from which a batch's memory is not kept.
const keepBytes = 4 << 20

func (w *writer) release() {
	size := w.batch.Bytes()
	w.batch.Reset()
	poison.Bytes(w.column)
	if size <= keepBytes {
		writers.Put(w)
	}
}

// Write implements widecol.Store.
func (s *Store) Write(ctx context.Context, name string, mutations []widecol.Mutation, key string) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	if len(mutations) == 0 {
		return 0, widecol.Errorf(widecol.Invalid, "empty_write", "a write needs at least one cell")
	}
	t, err := s.table(name)
	if err != nil {
		return 0, err
	}
	if err := t.changing.share(ctx); err != nil {
		return 0, err
	}
	defer t.changing.endShare()
	if err := t.exists(); err != nil {
		return 0, err
	}
	if key == "" {
		return s.write(ctx, t, mutations, nil)
	}
	o, err := s.once(ctx, t, key, fingerprintOfWrite(mutations), func(e *entry) (o outcome, err error) {
		o.time, err = s.write(ctx, t, mutations, e)
		return o, err
	})
	return o.time, err
}

// write applies mutations, with the entry of the idempotency key if there is one. t.changing is shared.
func (s *Store) write(ctx context.Context, t *table, mutations []widecol.Mutation, e *entry) (int64, error) {
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.fill(t, mutations, s.maxValue); err != nil {
		return 0, err
	}
	e.add(&w.batch, 0)
	set := t.rows.rlockAll(mutations)
	defer t.rows.runlockAll(set)
	commit, err := s.commit(ctx, &w.batch)
	return commit.Time, err
}

// commit applies a batch. If a deadline passes while it waits for room, that is overload: nothing was
// written.
func (s *Store) commit(ctx context.Context, b *engine.Batch) (engine.Commit, error) {
	commit, err := s.db.Commit(ctx, b)
	if err == nil {
		return commit, nil
	}
	var late *engine.UnknownError
	if errors.As(err, &late) {
		s.late.note(commit.Seq, late)
	} else if errors.Is(err, context.DeadlineExceeded) {
		err = engine.ErrOverloaded
	}
	return commit, failure(err)
}

// record applies a change to the metadata, and waits for its outcome without limit: the tables in memory
// must match the disk.
func (s *Store) record(ctx context.Context, r *record) error {
	_, err := s.db.Commit(ctx, &r.batch)
	var unknown *engine.UnknownError
	if errors.As(err, &unknown) {
		err = unknown.Wait()
	} else if errors.Is(err, context.DeadlineExceeded) {
		err = engine.ErrOverloaded
	}
	return failure(err)
}

// fill checks the mutations and adds them to the batch.
func (w *writer) fill(t *table, mutations []widecol.Mutation, maxValue int) error {
	var f *family
	for i := range mutations {
		m := &mutations[i]
		if err := m.Check(maxValue); err != nil {
			return err.At(i)
		}
		if f == nil || string(m.Family) != f.name {
			if f = t.schema.family(m.Family); f == nil {
				return widecol.UnknownFamily(t.name, string(m.Family)).At(i)
			}
		}
		w.column = cell.AppendColumn(w.column[:0], m.Family, m.Qualifier)
		w.batch.Add(f.partition, m.Row, &cell.Cell{Column: w.column, Value: m.Value, Time: m.Time, Kind: cell.Set, Type: m.Type})
	}
	return nil
}

// DeleteRow implements widecol.Store. No other write of the row comes between
// its read and its deletion.
func (s *Store) DeleteRow(ctx context.Context, name string, row []byte, filter widecol.Filter, key string) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	t, err := s.table(name)
	if err != nil {
		return 0, err
	}
	if err := t.changing.share(ctx); err != nil {
		return 0, err
	}
	defer t.changing.endShare()
	if err := t.exists(); err != nil {
		return 0, err
	}
	if len(row) == 0 || len(row) > widecol.MaxRowKey {
		return 0, widecol.Errorf(widecol.Invalid, "invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(row), widecol.MaxRowKey)
	}
	if key == "" {
		return s.deleteRow(ctx, t, row, filter, nil)
	}
	o, err := s.once(ctx, t, key, fingerprintOfDelete(row, filter), func(e *entry) (o outcome, err error) {
		o.deleted, err = s.deleteRow(ctx, t, row, filter, e)
		return o, err
	})
	return o.deleted, err
}

// deleteRow deletes from a row, with the entry of the idempotency key if there is one. The entry is durable
// even if there is nothing to delete. t.changing is shared.
func (s *Store) deleteRow(ctx context.Context, t *table, row []byte, filter widecol.Filter, e *entry) (int64, error) {
	unlock, err := s.lockRow(ctx, t, row)
	if err != nil {
		return 0, err
	}
	defer unlock()
	w := writers.Get().(*writer)
	defer w.release()
	deleted, err := s.bury(ctx, t, row, filter, w)
	if err != nil {
		return 0, err
	}
	if e.add(&w.batch, deleted); w.batch.Len() == 0 {
		return 0, nil
	}
	if _, err := s.commit(ctx, &w.batch); err != nil {
		return 0, err
	}
	return deleted, nil
}

// bury adds tombstones for the filter's cells of a row to the batch, if there are any. It returns how many
// versions a read returns of them. It also deletes garbage, which must not come back when the family's
// settings change.
func (s *Store) bury(ctx context.Context, t *table, row []byte, filter widecol.Filter, w *writer) (deleted int64, err error) {
	v, err := s.newView(t)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	q := widecol.NewQuery()
	q.SetKey(row)
	q.Filter = filter
	q.KeysOnly = true
	err = v.each(ctx, &q, func(cell.Cell) { deleted++ })
	if err != nil {
		return 0, err
	}
	v.policies = t.schema.bare
	w.column = w.column[:0]
	err = v.each(ctx, &q, func(c cell.Cell) { w.bury(t, row, c.Column, filter.Columns) })
	return deleted, err
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

// bury deletes a column of a row by the tombstone with the largest scope that columns allows, unless the
// last tombstone covers it.
func (w *writer) bury(t *table, row, column []byte, columns *cell.Columns) {
	tombstone := cell.Cell{Kind: cell.DeleteColumn, Column: column, Time: cell.TombstoneTime}
	family, _ := cell.SplitColumn(column)
	home := t.schema.family(family).partition
	switch {
	case columns == nil:
		if len(w.column) > 0 {
			return
		}
		for _, id := range t.stores() {
			w.batch.Add(id, row, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		}
	case covers(columns, family):
		if last, _ := cell.SplitColumn(w.column); bytes.Equal(last, family) {
			return
		}
		tombstone.Kind, tombstone.Column = cell.DeleteFamily, family
		w.batch.Add(home, row, &tombstone)
	case !bytes.Equal(column, w.column):
		w.batch.Add(home, row, &tombstone)
	}
	w.column = append(w.column[:0], column...)
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
