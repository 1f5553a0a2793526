package lsmstore

import (
	"bytes"
	"context"
	"sync"

	"colonnade/cell"
	"colonnade/engine"
	"colonnade/widecol"
)

// writer is the memory that a write needs, kept for the next one.
type writer struct {
	batch  engine.Batch
	column []byte
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// keepBytes is the size from which a batch's memory is not kept.
const keepBytes = 4 << 20

func (w *writer) release() {
	if w.batch.Bytes() > keepBytes {
		return
	}
	w.batch.Reset()
	writers.Put(w)
}

// Write implements widecol.Store.
func (s *Store) Write(ctx context.Context, name string, mutations []widecol.Mutation) (int64, error) {
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
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.dropped {
		return 0, widecol.UnknownTable(name)
	}
	w := writers.Get().(*writer)
	defer w.release()
	if err := w.fill(t, mutations, s.maxValue); err != nil {
		return 0, err
	}
	set := t.rows.rlockAll(mutations)
	defer t.rows.runlockAll(set)
	commit, err := s.db.Commit(ctx, &w.batch)
	return commit.Time, failure(err)
}

// fill checks the mutations and puts them into the batch.
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
func (s *Store) DeleteRow(ctx context.Context, name string, row []byte, filter widecol.Filter) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.calls.Done()
	t, err := s.table(name)
	if err != nil {
		return 0, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.dropped {
		return 0, widecol.UnknownTable(name)
	}
	if len(row) == 0 || len(row) > widecol.MaxRowKey {
		return 0, widecol.Errorf(widecol.Invalid, "invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(row), widecol.MaxRowKey)
	}
	lock := t.rows.lock(row)
	lock.Lock()
	defer lock.Unlock()
	w := writers.Get().(*writer)
	defer w.release()
	deleted, err := s.bury(ctx, t, row, filter, w)
	if err != nil || deleted == 0 {
		return 0, err
	}
	if _, err := s.db.Commit(ctx, &w.batch); err != nil {
		return 0, failure(err)
	}
	return deleted, nil
}

// bury puts tombstones for the filter's cells of a row into the batch, and
// returns how many versions a read returns of them.
func (s *Store) bury(ctx context.Context, t *table, row []byte, filter widecol.Filter, w *writer) (int64, error) {
	v, err := s.newView(t)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	q := widecol.NewQuery()
	q.SetKey(row)
	q.Filter = filter
	q.KeysOnly = true
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	w.buryRanges(t, row, filter.Columns)
	w.column = w.column[:0]
	var deleted int64
	for rows.Next() {
		for _, c := range rows.Cells() {
			deleted++
			if !w.buried(c.Column, filter.Columns) {
				w.buryColumn(t.schema, row, c.Column)
			}
		}
	}
	return deleted, rows.Err()
}

// buryRanges deletes what a whole row or whole families of it hold.
func (w *writer) buryRanges(t *table, row []byte, columns *cell.Columns) {
	tombstone := cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime}
	if columns == nil {
		for _, id := range t.stores() {
			w.batch.Add(id, row, &tombstone)
		}
		return
	}
	for _, f := range t.schema.sorted {
		if covers(columns, f.name) {
			w.batch.Add(f.partition, row, &cell.Cell{Kind: cell.DeleteFamily, Column: []byte(f.name), Time: cell.TombstoneTime})
		}
	}
}

// buried reports whether buryRanges has deleted the column.
func (w *writer) buried(column []byte, columns *cell.Columns) bool {
	family, _ := cell.SplitColumn(column)
	return columns == nil || covers(columns, string(family))
}

// buryColumn deletes a column, once for all of its versions.
func (w *writer) buryColumn(s *schema, row, column []byte) {
	if bytes.Equal(column, w.column) {
		return
	}
	w.column = append(w.column[:0], column...)
	family, _ := cell.SplitColumn(column)
	w.batch.Add(s.family(family).partition, row, &cell.Cell{Kind: cell.DeleteColumn, Column: column, Time: cell.TombstoneTime})
}

// covers reports whether columns holds every column of a family.
func covers(columns *cell.Columns, family string) bool {
	f := cell.FamilyRange([]byte(family))
	for _, r := range columns.Ranges() {
		if bytes.Compare(r.Start, f.Start) <= 0 && (r.End == nil || bytes.Compare(r.End, f.End) >= 0) {
			return true
		}
	}
	return false
}
