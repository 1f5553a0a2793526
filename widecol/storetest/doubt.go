package storetest

import (
	"fmt"
	"slices"

	"colonnade/cell"
	"colonnade/widecol"
	"colonnade/widecol/memstore"
)

// doubtfully does a step, one that changes what has gone, in both Stores. Versions
// that had gone before it and have not gone after it may show again, or not: this
// is the case that cell.GC leaves open.
//
// What the subject then shows of the tables is compared in the light of that. It
// must be nothing that was not written last, that was deleted, or overwritten;
// and nothing may be missing that had not gone. To make an end of the doubt, all
// columns with such versions are deleted.
func (w *world) doubtfully(step func() error, tables ...string) error {
	before := make([][]version, len(tables))
	for i, table := range tables {
		before[i] = visible(w.model, table)
	}
	if err := step(); err != nil {
		return err
	}
	for i, table := range tables {
		after := visible(w.model, table)
		doubtful := minus(after, before[i])
		if len(doubtful) == 0 {
			continue
		}
		w.work.Doubts++
		if err := w.compareInDoubt(table, minus(after, doubtful)); err != nil {
			return err
		}
		if err := w.deleteColumns(table, doubtful); err != nil {
			return err
		}
	}
	return nil
}

// compareInDoubt compares what the subject shows of a table with what it has to
// show and what it may.
func (w *world) compareInDoubt(table string, least []version) error {
	got, err := askStore(w.subject.Store, table, everything())
	if err != nil {
		return err
	}
	if strange := minus(got.versions, stored(w.model, table)); len(strange) > 0 {
		return fmt.Errorf("this brings up what should not be stored:\n\t%s", strange[0])
	}
	if lost := minus(least, got.versions); len(lost) > 0 {
		return fmt.Errorf("this hides\n\t%s", lost[0])
	}
	return nil
}

// deleteColumns deletes the columns of versions in both Stores.
func (w *world) deleteColumns(table string, versions []version) error {
	for _, v := range versions {
		column := cell.NewColumns(cell.ColumnRange([]byte(v.family), []byte(v.qualifier)))
		for _, s := range []widecol.Store{w.subject.Store, w.model} {
			if _, err := s.DeleteRow(background, table, []byte(v.row), widecol.Filter{Columns: column}, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored returns what the model stores of a table, gone or not.
func stored(model *memstore.Store, table string) []version {
	m := model.Clone()
	t, err := m.Table(background, table)
	if err != nil {
		return nil
	}
	for _, f := range t.Families {
		if m.SetGC(background, table, f.Name, widecol.GC{}) != nil {
			return nil
		}
	}
	return visible(m, table)
}

// visible returns what the model shows of a table, nothing if there is none.
func visible(model *memstore.Store, table string) []version {
	a, err := askStore(model, table, everything())
	if err != nil {
		return nil
	}
	return a.versions
}

// minus returns the versions of a that are not in b.
func minus(a, b []version) []version {
	in := make(map[version]bool, len(b))
	for _, v := range b {
		in[v] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(v version) bool { return in[v] })
}

// askStore asks a query in a View of its own.
func askStore(s widecol.Store, table string, q *widecol.Query) (answer, error) {
	v, err := s.View(background, table)
	if err != nil {
		return answer{}, err
	}
	defer v.Close()
	return ask(background, v, q, all)
}
