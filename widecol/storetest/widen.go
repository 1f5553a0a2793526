package storetest

import (
	"fmt"
	"slices"

	"colonnade/cell"
	"colonnade/widecol"
)

// widen changes the settings of a family to ones under which versions that have
// gone may show again, or not: the case that cell.GC leaves open.
//
// What the subject then has of the family is compared in the light of that. It
// must be nothing that was not written last, that was deleted, or overwritten;
// and nothing may be missing that had not gone. To make an end of the doubt, all
// columns with such versions are deleted.
func (w *world) widen(o *setGC) error {
	stored, err := w.stored(o)
	if err != nil {
		return err
	}
	doubtful := minus(stored, w.visible(o))
	if err := w.change(o); err != nil {
		return err
	}
	got, err := askStore(w.subject.Store, o.table, o.all())
	if err != nil {
		return err
	}
	if strange := minus(got.versions, stored); len(strange) > 0 {
		return fmt.Errorf("wider settings bring up what should not be stored:\n\t%s", strange[0])
	}
	if lost := minus(minus(w.visible(o), doubtful), got.versions); len(lost) > 0 {
		return fmt.Errorf("wider settings hide\n\t%s", lost[0])
	}
	for _, v := range doubtful {
		column := cell.NewColumns(cell.ColumnRange([]byte(v.family), []byte(v.qualifier)))
		for _, s := range []widecol.Store{w.subject.Store, w.model} {
			if _, err := s.DeleteRow(background, o.table, []byte(v.row), widecol.Filter{Columns: column}); err != nil {
				return err
			}
		}
	}
	return nil
}

// all is the query for the family.
func (o *setGC) all() *widecol.Query {
	return where(widecol.Filter{Columns: cell.NewColumns(cell.FamilyRange([]byte(o.family)))})
}

// stored returns what the model stores of the family, gone or not.
func (w *world) stored(o *setGC) ([]version, error) {
	m := w.model.Clone()
	if err := m.SetGC(background, o.table, o.family, widecol.GC{}); err != nil {
		return nil, err
	}
	a, err := askStore(m, o.table, o.all())
	return a.versions, err
}

// visible returns what the model shows of the family.
func (w *world) visible(o *setGC) []version {
	a, _ := askStore(w.model, o.table, o.all()) // it is there: see stored
	return a.versions
}

// minus returns the versions of a that are not in b.
func minus(a, b []version) []version {
	return filtered(a, func(v version) bool { return !slices.Contains(b, v) })
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
