package memstore

import (
	"context"
	"fmt"
	"slices"

	"colonnade/widecol"
)

// Write implements widecol.Store. The commit time is the clock's, or one above the last commit's if
// the clock is not past that.
func (s *Store) Write(ctx context.Context, name string, mutations []widecol.Mutation, key string) (time int64, err error) {
	err = s.update(ctx, name, func(t *table) error {
		if len(mutations) == 0 {
			return widecol.Errorf(widecol.Invalid, "empty_write", "the write has no mutations")
		}
		request := ""
		if key != "" {
			request = fmt.Sprintf("write %v", mutations)
		}
		before, found, err := t.recall(key, request, s.opt.Now())
		if found || err != nil {
			time = before.time
			return err
		}
		time = max(s.opt.Now(), s.last+1)
		for i := range mutations {
			m := &mutations[i]
			if err := m.Check(s.opt.MaxValue); err != nil {
				return err.At(i)
			}
			if _, ok := t.families[string(m.Family)]; !ok {
				return widecol.UnknownFamily(name, string(m.Family)).At(i)
			}
			v := version{string(m.Row), string(m.Family), string(m.Qualifier), m.Time, m.Type, string(m.Value)}
			if m.Time == widecol.CommitTime {
				v.time = time
			}
			t.set(v)
		}
		s.last = time
		t.remember(key, applied{request: request, time: time})
		return nil
	})
	if err != nil {
		return 0, err
	}
	return time, nil
}

// DeleteRow implements widecol.Store. It deletes everything that the filter selects, garbage
// included. It counts only what a read would have returned.
func (s *Store) DeleteRow(ctx context.Context, name string, row []byte, filter widecol.Filter, key string) (deleted int64, err error) {
	err = s.update(ctx, name, func(t *table) error {
		request := ""
		if key != "" {
			request = fmt.Sprintf("delete %q %t %v", row, filter.Columns == nil, filter.Columns.Ranges())
		}
		before, found, err := t.recall(key, request, s.opt.Now())
		if found || err != nil {
			deleted = before.deleted
			return err
		}
		if err := t.known(filter); err != nil {
			return err
		}
		doomed := func(v version) bool { return v.row == string(row) && v.in(filter) }
		now := s.opt.Now()
		for versions := range t.rows() {
			deleted += int64(count(t.left(versions, now), doomed))
		}
		t.cells = slices.DeleteFunc(t.cells, doomed)
		t.remember(key, applied{request: request, time: max(now, s.last+1), deleted: deleted})
		return nil
	})
	return deleted, err
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
