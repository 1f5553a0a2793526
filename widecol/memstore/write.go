package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Write implements widecol.Store. The commit time is the clock's, or one above the last commit's if
// the clock is not past that.
func (s *Store) Write(ctx context.Context, name string, mutations []widecol.Mutation, key string) (int64, error) {
	done, err := s.once(ctx, name, key, func() string { return fmt.Sprintf("write %v", mutations) }, func(t *table) (applied, error) {
		if len(mutations) == 0 {
			return applied{}, widecol.Errorf(widecol.Invalid, "empty_write", "the write has no mutations")
		}
		time := s.commitTime()
		return applied{time: time}, s.applyAll(t, mutations, time)
	})
	return done.time, err
}

// WriteRows implements widecol.Store.
func (s *Store) WriteRows(ctx context.Context, name string, rows [][]widecol.Mutation, key string) (int64, []error, error) {
	done, err := s.once(ctx, name, key, func() string { return fmt.Sprintf("write rows %v", rows) }, func(t *table) (applied, error) {
		if len(rows) == 0 {
			return applied{}, widecol.Errorf(widecol.Invalid, "empty_write", "the write has no rows")
		}
		done := applied{outcomes: make([]error, len(rows))}
		time := s.commitTime()
		for i, mutations := range rows {
			changed := t.clone()
			if done.outcomes[i] = s.applyRow(changed, mutations, time); done.outcomes[i] == nil {
				*t, done.time = *changed, time
			}
		}
		return done, nil
	})
	return done.time, done.outcomes, err
}

// applyRow applies mutations of one row.
func (s *Store) applyRow(t *table, mutations []widecol.Mutation, time int64) error {
	if len(mutations) == 0 {
		return widecol.Errorf(widecol.Invalid, "empty_write", "the row has no mutations")
	}
	for i := range mutations {
		if string(mutations[i].Row) != string(mutations[0].Row) {
			return widecol.Errorf(widecol.Invalid, "invalid_row_key", "the mutations are of several rows").At(i)
		}
	}
	return s.applyAll(t, mutations, time)
}

// CheckAndMutate implements widecol.Store.
func (s *Store) CheckAndMutate(ctx context.Context, name string, c *widecol.CheckAndMutate, key string) (bool, int64, error) {
	done, err := s.once(ctx, name, key, func() string {
		return fmt.Sprintf("check %q %t %s %v %v", c.Row, c.Not, queryText(&c.If), c.Then, c.Else)
	}, func(t *table) (done applied, err error) {
		if err := c.Check(s.opt.MaxValue); err != nil {
			return done, err
		}
		for i := range c.Then {
			if err := t.knows(&c.Then[i]); err != nil {
				return done, err.At(i)
			}
		}
		for i := range c.Else {
			if err := t.knows(&c.Else[i]); err != nil {
				return done, err.At(len(c.Then) + i)
			}
		}
		q := c.If
		q.SetKey(c.Row)
		if err := t.known(q.Filter); err != nil {
			return done, err
		}
		q.Yield = nil // the Store is locked
		found, err := t.query(&q, s.opt.Now())
		if err != nil {
			return done, err
		}
		done.matched = (len(found.rows) > 0) != c.Not
		mutations := c.Else
		if done.matched {
			mutations = c.Then
		}
		if len(mutations) == 0 {
			return done, nil
		}
		done.time = s.commitTime()
		return done, s.applyAll(t, mutations, done.time)
	})
	return done.matched, done.time, err
}

// ReadModifyWrite implements widecol.Store.
func (s *Store) ReadModifyWrite(ctx context.Context, name string, u *widecol.ReadModifyWrite, key string) ([]cell.Cell, int64, error) {
	done, err := s.once(ctx, name, key, func() string { return fmt.Sprintf("update %v", u) }, func(t *table) (done applied, err error) {
		if err := u.Check(s.opt.MaxValue); err != nil {
			return done, err
		}
		for i := range u.Rules {
			f, ok := t.families[string(u.Rules[i].Family)]
			if !ok {
				return done, widecol.UnknownFamily(name, string(u.Rules[i].Family)).At(i)
			}
			if err := f.Merge.CheckMerge(name, f.Name, widecol.Set); err != nil {
				return done, err.At(i)
			}
		}
		now := s.opt.Now()
		done.time = s.commitTime()
		before := t.clone()
		for i := range u.Rules {
			r := &u.Rules[i]
			time, err := u.NextTime(before.newest(u.Row, r, now), now)
			if err != nil {
				return done, err.At(i)
			}
			if time == widecol.CommitTime {
				time = done.time
			}
			typ, value, err := r.Apply(t.newest(u.Row, r, now), s.opt.MaxValue)
			if err != nil {
				return done, err.At(i)
			}
			v := version{string(u.Row), string(r.Family), string(r.Qualifier), time, typ, string(value), ""}
			t.set(v)
			done.written = append(slices.DeleteFunc(done.written, func(w version) bool { return compare(v, w) == 0 }), v)
		}
		slices.SortFunc(done.written, compare)
		return done, nil
	})
	var cells []cell.Cell
	for _, v := range done.written {
		cells = append(cells, cell.Cell{Column: v.column(), Time: v.time, Type: v.typ, Value: []byte(v.value)})
	}
	return cells, done.time, err
}

// newest returns the newest version of a rule's column that a reader sees, nil if there is none.
func (t *table) newest(row []byte, r *widecol.Rule, now int64) *cell.Cell {
	for versions := range t.rows() {
		if versions[0].row != string(row) {
			continue
		}
		for _, v := range t.left(versions, now) {
			if v.family == string(r.Family) && v.qualifier == string(r.Qualifier) {
				return &cell.Cell{Time: v.time, Type: v.typ, Value: []byte(v.value)}
			}
		}
	}
	return nil
}

// Delete implements widecol.Store. It deletes everything that is selected, garbage included. It counts only
// what a read would have returned.
func (s *Store) Delete(ctx context.Context, name string, d *widecol.Deletion, key string) (widecol.Deleted, error) {
	if d.DryRun {
		key = ""
	}
	done, err := s.once(ctx, name, key, func() string {
		return fmt.Sprintf("delete %v %s %v %t %t", d.Rows, filterText(d.Filter), d.Times, d.Count, d.DryRun)
	}, func(t *table) (done applied, err error) {
		if row := d.OneRow(); row != nil {
			if err := widecol.CheckRowKey(row); err != nil {
				return done, err
			}
		}
		if err := t.known(d.Filter); err != nil {
			return done, err
		}
		doomed := func(v version) bool {
			return d.Rows.Contains([]byte(v.row)) && v.in(d.Filter) && v.time >= d.Times.Start && v.time < d.Times.End
		}
		if d.Count || d.DryRun {
			for versions := range t.rows() {
				if n := count(t.left(versions, s.opt.Now()), doomed); n > 0 {
					done.deleted.Rows++
					done.deleted.Cells += int64(n)
				}
			}
		}
		if !d.DryRun {
			t.cells = slices.DeleteFunc(t.cells, doomed)
		}
		return done, nil
	})
	return done.deleted, err
}

func count(versions []version, f func(version) bool) int {
	n := 0
	for _, v := range versions {
		if f(v) {
			n++
		}
	}
	return n
}

// once changes a table, unless the idempotency key was applied before. Then it returns what the first
// request did.
func (s *Store) once(ctx context.Context, name, key string, describe func() string, change func(t *table) (applied, error)) (done applied, err error) {
	err = s.update(ctx, name, func(t *table) error {
		request := ""
		if key != "" {
			request = describe()
		}
		before, found, err := t.recall(key, request, s.opt.Now())
		if found || err != nil {
			done = before
			return err
		}
		if done, err = change(t); err != nil {
			return err
		}
		s.last = max(s.last, done.time)
		done.request, done.at = request, max(s.opt.Now(), s.last)
		t.remember(key, done)
		return nil
	})
	if err != nil {
		return applied{}, err
	}
	return done, nil
}

// queryText tells queries apart that select differently within a row.
func queryText(q *widecol.Query) string {
	text := filterText(q.Filter)
	if q.Value != nil {
		text += fmt.Sprint(*q.Value)
	}
	tree, _ := json.Marshal(q.RowFilter) // of plain fields: it cannot fail
	return text + string(tree) + fmt.Sprint(q.Times, q.ColumnCellLimit, q.RowCellLimit, q.RowLimit, q.Offset, q.CellLimit)
}

func filterText(f widecol.Filter) string {
	return fmt.Sprintf("%t %v", f.Columns == nil, f.Columns.Ranges())
}

// commitTime returns the time of the next commit.
func (s *Store) commitTime() int64 {
	if s.next != 0 {
		return s.next
	}
	return max(s.opt.Now(), s.last+1)
}

// applyAll checks and applies mutations.
func (s *Store) applyAll(t *table, mutations []widecol.Mutation, time int64) error {
	for i := range mutations {
		m := &mutations[i]
		if err := m.Check(s.opt.MaxValue); err != nil {
			return err.At(i)
		}
		if err := t.knows(m); err != nil {
			return err.At(i)
		}
		t.apply(m, time, s.opt.Now())
	}
	return nil
}

// knows returns an error if the table does not have the family of a mutation.
func (t *table) knows(m *widecol.Mutation) *widecol.Error {
	f, ok := t.families[string(m.Family)]
	switch {
	case m.Op == widecol.DeleteRow:
		return nil
	case !ok:
		return widecol.UnknownFamily(t.name, string(m.Family))
	}
	return f.Merge.CheckMerge(t.name, f.Name, m.Op)
}

// apply applies a mutation that was checked.
func (t *table) apply(m *widecol.Mutation, commit, now int64) {
	if m.Op == widecol.Merge {
		t.merge(m, now)
		return
	}
	if m.Op == widecol.Set {
		v := version{string(m.Row), string(m.Family), string(m.Qualifier), m.Time, m.Type, string(m.Value), ""}
		if m.Time == widecol.CommitTime {
			v.time = commit
		}
		t.set(v)
		return
	}
	t.cells = slices.DeleteFunc(t.cells, func(v version) bool {
		switch {
		case v.row != string(m.Row):
			return false
		case m.Op == widecol.DeleteRow:
			return true
		case v.family != string(m.Family):
			return false
		case m.Op == widecol.DeleteFamily:
			return true
		}
		return v.qualifier == string(m.Qualifier) && v.time >= m.Time && v.time < m.End
	})
}

// merge combines a value with the version of its time that a reader sees.
func (t *table) merge(m *widecol.Mutation, now int64) {
	v := version{string(m.Row), string(m.Family), string(m.Qualifier), m.Time, m.Type, string(m.Value), ""}
	for versions := range t.rows() {
		if versions[0].row != v.row {
			continue
		}
		for _, old := range t.left(versions, now) {
			if compare(old, v) == 0 {
				v.value = string(t.families[v.family].Merge.Merge([]byte(old.value), m.Value))
			}
		}
	}
	t.set(v)
}
