package lsmstore

import (
	"context"
	"encoding/binary"
	"slices"

	"colonnade/cell"
	"colonnade/widecol"
)

// A Merge becomes a Set of what its version will be. Its row is locked, so what the view has of the row is all that
// came before. What comes before it in its own request is not in the view: deletions there hide versions of the view,
// and an earlier Merge of the version has its new value.

// merging is a list of mutations, up to one of them, as far as Merges behind it depend on it.
type merging struct {
	view   *view
	schema *schema
	values map[string]mergedValue    // by row, column and time
	gone   map[string][]deletedTimes // by row, family or column
	key    []byte
}

// mergedValue is what a Merge has made of a version. at is the place of the Merge in the list.
type mergedValue struct {
	value []byte
	at    int
}

// deletedTimes are times that a deletion covers. at is the place of the deletion in the list.
type deletedTimes struct {
	times widecol.TimeRange
	at    int
}

// merged returns the mutations with a Set in place of each Merge. It does not change the list.
func merged(ctx context.Context, v *view, s *schema, mutations []widecol.Mutation) ([]widecol.Mutation, error) {
	if !slices.ContainsFunc(mutations, func(m widecol.Mutation) bool { return m.Op == widecol.Merge }) {
		return mutations, nil
	}
	g := &merging{view: v, schema: s, values: map[string]mergedValue{}, gone: map[string][]deletedTimes{}}
	list := slices.Clone(mutations)
	for i := range list {
		m := &list[i]
		switch m.Op {
		case widecol.Merge:
			value, err := g.merge(ctx, m, i)
			if err != nil {
				return nil, err
			}
			m.Op, m.Value = widecol.Set, value
		case widecol.DeleteColumn, widecol.DeleteFamily, widecol.DeleteRow:
			g.delete(m, i)
		}
	}
	return list, nil
}

// scope is appendScope in the memory of g.
func (g *merging) scope(m *widecol.Mutation, op widecol.Op) []byte {
	g.key = appendScope(g.key[:0], m, op)
	return g.key
}

// delete takes note of a deletion.
func (g *merging) delete(m *widecol.Mutation, at int) {
	times := widecol.AllTimes
	if m.Op == widecol.DeleteColumn {
		times = m.Times()
	}
	scope := string(g.scope(m, m.Op))
	g.gone[scope] = append(g.gone[scope], deletedTimes{times, at})
}

func (g *merging) merge(ctx context.Context, m *widecol.Mutation, at int) (value []byte, err error) {
	version := string(binary.BigEndian.AppendUint64(g.scope(m, widecol.DeleteColumn), uint64(m.Time)))
	before, known := g.values[version]
	deleted := g.lastDeleted(m)
	var old []byte
	switch {
	case known && before.at > deleted:
		old = before.value
	case deleted < 0:
		if old, err = g.stored(ctx, m); err != nil {
			return nil, err
		}
	}
	value = g.schema.family(m.Family).merge.Merge(old, m.Value)
	g.values[version] = mergedValue{value, at}
	return value, nil
}

// lastDeleted returns the place of the last deletion that covers the version, -1 for none.
func (g *merging) lastDeleted(m *widecol.Mutation) int {
	last := -1
	for _, op := range []widecol.Op{widecol.DeleteRow, widecol.DeleteFamily, widecol.DeleteColumn} {
		for _, d := range g.gone[string(g.scope(m, op))] {
			if d.times.Contains(m.Time) {
				last = max(last, d.at)
			}
		}
	}
	return last
}

// stored returns the value that the view has for a version, nil if there is none.
func (g *merging) stored(ctx context.Context, m *widecol.Mutation) (value []byte, err error) {
	q := widecol.NewQuery()
	q.SetKey(m.Row)
	q.Filter.Columns = cell.NewColumns(cell.ColumnRange(m.Family, m.Qualifier))
	q.Times = widecol.TimeRange{Start: m.Time, End: m.Time + 1}
	err = g.view.each(ctx, &q, func(c cell.Cell) { value = slices.Clone(c.Value) })
	return value, err
}
