package lsmstore

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// A Merge becomes a Set of what its version will be. Its row is locked, so what the view has of the row is all that
// came before. What comes before it in its own request is not in the view: deletions there hide versions of the view,
// and an earlier Merge of the version has its new value.

// merging is a list of mutations, up to one of them, as far as Merges behind it depend on it.
type merging struct {
	view   *view
	schema *schema
	values map[string]mergedValue   // by row, column and time
	stored map[string]*mergedColumn // by row and column
	whole  map[string]int           // the place of the last deletion of a row, family or column as a whole
	timed  map[string]*covering     // of columns with timed deletions
	key    []byte
}

// mergedValue is what a Merge has made of a version. at is the place of the Merge in the list.
type mergedValue struct {
	value []byte
	at    int
}

// mergedColumn is what the view has of a column for the times of its Merges.
type mergedColumn struct {
	times widecol.TimeRange // from the first to the last
	value map[int64][]byte  // by the time of a Merge; nil for none
	read  bool
}

// merged returns the mutations with a Set in place of each Merge. It does not change the list.
func merged(ctx context.Context, v *view, s *schema, mutations []widecol.Mutation) ([]widecol.Mutation, error) {
	if !slices.ContainsFunc(mutations, func(m widecol.Mutation) bool { return m.Op == widecol.Merge }) {
		return mutations, nil
	}
	return newMerging(v, s, mutations).replace(ctx, mutations)
}

func newMerging(v *view, s *schema, mutations []widecol.Mutation) *merging {
	g := &merging{
		view: v, schema: s, values: map[string]mergedValue{}, whole: map[string]int{}, stored: map[string]*mergedColumn{},
		timed: coverings(mutations, widecol.Merge, func(m *widecol.Mutation) int64 { return m.Time }),
	}
	for i := range mutations {
		if m := &mutations[i]; m.Op == widecol.Merge {
			column := g.stored[string(g.scope(m, widecol.DeleteColumn))]
			if column == nil {
				column = &mergedColumn{value: map[int64][]byte{}}
				g.stored[string(g.key)] = column
			}
			column.times = column.times.Union(widecol.TimeRange{Start: m.Time, End: m.Time + 1})
			column.value[m.Time] = nil
		}
	}
	return g
}

// replace returns the mutations, which are those of g, with a Set in place of each Merge.
func (g *merging) replace(ctx context.Context, mutations []widecol.Mutation) ([]widecol.Mutation, error) {
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
	if scope := g.scope(m, m.Op); timed(m) {
		g.timed[string(scope)].cover(m.Times(), at)
	} else {
		g.whole[string(scope)] = at
	}
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
		if old, err = g.read(ctx, m); err != nil {
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
		if at, ok := g.whole[string(g.scope(m, op))]; ok {
			last = max(last, at)
		}
	}
	return max(last, g.timed[string(g.key)].lastOver(m.Time))
}

// read returns the value that the view has for a version, nil if there is none. It reads those of all Merges of the column
// at the first one: a read of each would pass over all versions of the column again.
func (g *merging) read(ctx context.Context, m *widecol.Mutation) ([]byte, error) {
	column := g.stored[string(g.scope(m, widecol.DeleteColumn))]
	if column.read {
		return column.value[m.Time], nil
	}
	q := widecol.NewQuery()
	q.SetKey(m.Row)
	q.Filter.Columns = cell.NewColumns(cell.ColumnRange(m.Family, m.Qualifier))
	q.Times = column.times
	err := g.view.each(ctx, &q, func(c cell.Cell) {
		if _, wanted := column.value[c.Time]; wanted {
			column.value[c.Time] = slices.Clone(c.Value)
		}
	})
	column.read = err == nil
	return column.value[m.Time], err
}
