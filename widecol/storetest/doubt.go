package storetest

import (
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// doubtfully runs a step that changes which versions are garbage, in both Stores. A version that
// was garbage before the step and is not afterwards may be visible again, or not: cell.GC leaves
// this open.
//
// So the comparison of the tables allows both. The subject must not show a version that was
// deleted, overwritten or never written, and must show every version that was not garbage before.
// Then doubtfully deletes all columns with doubtful versions in both Stores, so that they are equal
// again.
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

// compareInDoubt checks that the subject shows at least the versions in least, and only versions
// that the model stores.
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
			if _, err := removeRow(s, table, v.row, widecol.Filter{Columns: column}, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored returns the versions that the model stores of a table, garbage included.
func stored(model *memstore.Store, table string) []version {
	m := model.Clone()
	t, err := m.Table(background, table)
	if err != nil {
		return nil
	}
	for _, f := range t.Families {
		if m.AlterFamily(background, table, f.Name, widecol.ChangeGC(widecol.GC{})) != nil {
			return nil
		}
	}
	return visible(m, table)
}

// visible returns the versions that the model shows of a table, none if there is no table.
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

// askStore runs a query in a View of its own.
func askStore(s widecol.Store, table string, q *widecol.Query) (answer, error) {
	v, err := s.View(background, table)
	if err != nil {
		return answer{}, err
	}
	defer v.Close()
	return ask(background, v, q, all)
}
