package lsmstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.TableLoader = (*Store)(nil)

// LoadTable implements widecol.TableLoader. While it is filled, the table has partitions and no metadata, as one whose
// creation a crash has ended. t.changing is not held meanwhile: who asks for the table is told at once that there is none.
func (s *Store) LoadTable(ctx context.Context, name string, spec widecol.TableSpec, settings widecol.TableSettings, fill func(write func([]widecol.Mutation) error) error) error {
	if err := widecol.CheckTableName(name); err != nil {
		return err
	}
	if err := spec.Check(); err != nil {
		return err
	}
	if err := widecol.CheckGC(settings.DefaultGC); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	t := &table{name: name, settings: settings, changing: newExclusion()}
	if err := t.changing.exclude(ctx); err != nil {
		return err
	}
	if err := s.reserve(ctx, t); err != nil {
		return err
	}
	l, err := s.lay(t, spec)
	if err != nil {
		s.forget(t)
		t.changing.endExclude()
		return err
	}
	t.filling = l.partitions
	t.changing.endExclude()
	if err = fill(s.loader(ctx, t, l)); err == nil {
		err = ctx.Err()
	}
	ctx = context.WithoutCancel(ctx) // what follows takes a moment, and has a known outcome
	if e := t.changing.exclude(ctx); e != nil {
		return e
	}
	defer t.changing.endExclude()
	t.filling = nil
	if err == nil {
		err = s.establish(ctx, t, l)
	} else {
		s.db.DropPartitions(l.partitions...) // if it fails, the next open does it
	}
	if err != nil {
		s.forget(t)
	}
	return err
}

// loader returns what writes to a table that does not exist yet.
func (s *Store) loader(ctx context.Context, t *table, l *layout) func([]widecol.Mutation) error {
	hidden := &table{name: t.name, data: t.data, schema: newSchema(s.db.LastSeq(), t.data, l.families, l.groups)}
	return func(mutations []widecol.Mutation) error {
		s.mu.RLock()
		closed := s.closed
		s.mu.RUnlock()
		switch {
		case closed:
			return errClosed
		case len(mutations) == 0:
			return nil
		}
		w := newWriter(s, hidden)
		defer w.release()
		if err := w.checkLoaded(mutations); err != nil {
			return err
		}
		w.addSets(mutations)
		w.rows = w.locks.share(mutations)
		w.lock()
		_, err := w.commit(ctx)
		return err
	}
}

// checkLoaded checks mutations of a table that is filled.
func (w *writer) checkLoaded(mutations []widecol.Mutation) error {
	for i := range mutations {
		m := &mutations[i]
		if err := m.Check(w.store.maxValue); err != nil {
			return err.At(i)
		}
		f := w.table.schema.family(m.Family)
		switch {
		case m.Op != widecol.Set:
			return widecol.Errorf(widecol.Invalid, "invalid_mutation", "a table is filled with cells, and mutation %d is none", m.Op).At(i)
		case f == nil:
			return widecol.UnknownFamily(w.table.name, string(m.Family)).At(i)
		case f.merge != widecol.NoMerge && m.Type != cell.I64:
			return widecol.Errorf(widecol.Invalid, "invalid_mutation", "a family with a merge operator has cells of the type i64").At(i)
		}
	}
	return nil
}
