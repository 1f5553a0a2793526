package lsmstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// Write implements widecol.Store.
func (s *Store) Write(ctx context.Context, name string, mutations []widecol.Mutation, key string) (int64, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return 0, err
	}
	defer done()
	if len(mutations) == 0 {
		return 0, widecol.Errorf(widecol.Invalid, "empty_write", "a write needs at least one cell")
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

// beginChange finds a table for a change of its cells, and keeps its schema as it is until done is called.
func (s *Store) beginChange(ctx context.Context, name string) (t *table, done func(), err error) {
	t, err = s.beginOn(name)
	if err != nil {
		return nil, nil, err
	}
	if err := t.changing.share(ctx); err != nil {
		s.calls.Done()
		return nil, nil, err
	}
	done = func() {
		t.changing.endShare()
		s.calls.Done()
	}
	if err := t.exists(); err != nil {
		done()
		return nil, nil, err
	}
	return t, done, nil
}

// write applies mutations, with the entry of the idempotency key if there is one. t.changing is shared.
func (s *Store) write(ctx context.Context, t *table, mutations []widecol.Mutation, e *entry) (int64, error) {
	w := newWriter(s, t)
	defer w.release()
	if err := w.fill(ctx, mutations); err != nil {
		return 0, err
	}
	e.add(&w.batch, outcome{})
	commit, err := w.commit(ctx)
	if err == nil {
		w.sampleMutations(commit.Time, mutations)
	}
	return commit.Time, err
}

// WriteRows implements widecol.Store. The rows that can be written are one batch.
func (s *Store) WriteRows(ctx context.Context, name string, rows [][]widecol.Mutation, key string) (int64, []error, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	if len(rows) == 0 {
		return 0, nil, widecol.Errorf(widecol.Invalid, "empty_write", "a write needs at least one row")
	}
	if key == "" {
		return s.writeRows(ctx, t, rows, nil)
	}
	var outcomes []error
	o, err := s.once(ctx, t, key, fingerprintOfRows(rows), func(e *entry) (o outcome, err error) {
		if o.time, outcomes, err = s.writeRows(ctx, t, rows, e); err == nil && applied(outcomes) == 0 {
			o.time = 0 // the commit was that of the entry alone
		}
		return o, err
	})
	if err == nil && outcomes == nil {
		outcomes, err = decodeOutcomes(o.result, len(rows))
		if applied(outcomes) == 0 {
			o.time = 0
		}
	}
	return o.time, outcomes, err
}

func (s *Store) writeRows(ctx context.Context, t *table, rows [][]widecol.Mutation, e *entry) (int64, []error, error) {
	w := newWriter(s, t)
	defer w.release()
	outcomes, good, allSet := make([]error, len(rows)), make([][]widecol.Mutation, 0, len(rows)), true
	for i, mutations := range rows {
		sets, err := w.checkRow(mutations)
		if outcomes[i] = err; err == nil {
			good, allSet = append(good, mutations), allSet && sets
		}
	}
	if err := w.fillChecked(ctx, allSet, good...); err != nil {
		return 0, nil, err
	}
	if e != nil {
		e.add(&w.batch, outcome{result: encodeOutcomes(outcomes)})
	}
	if w.batch.Len() == 0 {
		return 0, outcomes, nil
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return commit.Time, nil, err
	}
	w.sampleLists(commit.Time, good)
	return commit.Time, outcomes, nil
}

// checkRow is check for mutations that must be of one row.
func (w *writer) checkRow(mutations []widecol.Mutation) (sets bool, err error) {
	if len(mutations) == 0 {
		return false, widecol.Errorf(widecol.Invalid, "empty_write", "the row has no mutations")
	}
	for i := range mutations {
		if string(mutations[i].Row) != string(mutations[0].Row) {
			return false, widecol.Errorf(widecol.Invalid, "invalid_row_key", "the mutations are of several rows").At(i)
		}
	}
	return w.check(mutations)
}

func applied(outcomes []error) (n int) {
	for _, err := range outcomes {
		if err == nil {
			n++
		}
	}
	return n
}

// refusal is the error of a row, as the result of WriteRows has it: JSON, in the value of an idempotency key.
type refusal struct {
	Row     int          `json:"row"`
	Kind    widecol.Kind `json:"kind"`
	Code    string       `json:"code"`
	Index   int          `json:"index"`
	Message string       `json:"message"`
}

func encodeOutcomes(outcomes []error) []byte {
	list := []refusal{}
	for i, err := range outcomes {
		var e *widecol.Error
		if errors.As(err, &e) {
			list = append(list, refusal{i, e.Kind, e.Code, e.Index, e.Message})
		}
	}
	b, _ := json.Marshal(list) // of plain strings and numbers: it cannot fail
	return b
}

func decodeOutcomes(b []byte, n int) ([]error, error) {
	var list []refusal
	bad := func(reason string) error {
		return failure(&engine.CorruptError{Partition: keysPartition, Offset: -1, Reason: "the entry of an idempotency key has no outcomes: " + reason})
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, bad(err.Error())
	}
	outcomes := make([]error, n)
	for _, r := range list {
		if r.Row < 0 || r.Row >= n {
			return nil, bad(fmt.Sprintf("row %d of %d", r.Row, n))
		}
		outcomes[r.Row] = &widecol.Error{Kind: r.Kind, Code: r.Code, Index: r.Index, Message: r.Message}
	}
	return outcomes, nil
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

// check checks mutations. sets reports whether all of them set cells.
func (w *writer) check(mutations []widecol.Mutation) (sets bool, err error) {
	var f *family
	sets = true
	for i := range mutations {
		m := &mutations[i]
		if err := m.Check(w.store.maxValue); err != nil {
			return false, err.At(i)
		}
		sets = sets && m.Op == widecol.Set
		if m.Op != widecol.DeleteRow && (f == nil || string(m.Family) != f.name) {
			if f = w.table.schema.family(m.Family); f == nil {
				return false, widecol.UnknownFamily(w.table.name, string(m.Family)).At(i)
			}
		}
		if m.Op == widecol.Merge || m.Op == widecol.Set && f.merge != widecol.NoMerge {
			if err := f.merge.CheckMerge(w.table.name, f.name, m.Op); err != nil {
				return false, err.At(i)
			}
		}
	}
	return sets, nil
}

// fill checks the mutations, locks their rows, and adds them to the batch.
func (w *writer) fill(ctx context.Context, mutations []widecol.Mutation) error {
	sets, err := w.check(mutations)
	if err != nil {
		return err
	}
	return w.fillChecked(ctx, sets, mutations)
}

// fillChecked is fill for lists of mutations that were checked. sets says that all of them set cells.
func (w *writer) fillChecked(ctx context.Context, sets bool, lists ...[]widecol.Mutation) error {
	for _, mutations := range lists {
		w.rows += w.locks.share(mutations)
	}
	if sets {
		for _, mutations := range lists {
			w.addSets(mutations)
		}
		w.lock()
		return nil
	}
	mutations := slices.Concat(lists...)
	for i := range mutations {
		if needsRead(&mutations[i]) {
			w.locks.takeAlone(mutations[i].Row)
		}
	}
	w.lock()
	return w.addOrdered(ctx, mutations)
}

// addSets adds mutations that were checked and set cells.
func (w *writer) addSets(mutations []widecol.Mutation) {
	var f *family
	for i := range mutations {
		m := &mutations[i]
		if f == nil || string(m.Family) != f.name {
			f = w.table.schema.family(m.Family)
		}
		w.addSet(f, m)
	}
}

func (w *writer) addSet(f *family, m *widecol.Mutation) {
	w.column = cell.AppendColumn(w.column[:0], m.Family, m.Qualifier)
	w.add(f, m.Row, &cell.Cell{Column: w.column, Value: m.Value, Time: m.Time, Kind: cell.Set, Type: m.Type})
}
