package colonnade

import (
	"cmp"
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Mutation is a change of a row: Set, DeleteColumn, DeleteVersions, DeleteFamily or DeleteRow. Those of a row apply in
// their order: what is set behind a deletion stays.
type Mutation struct {
	m     widecol.Mutation
	value Value
	err   *Error
}

// Set writes a version of a cell, with the time of the commit.
func Set(row, family, qualifier string, v Value) Mutation {
	m := mutation(widecol.Set, row, family, qualifier)
	m.m.Time, m.value = widecol.CommitTime, v
	return m
}

// At returns a Set with a time, in microseconds since the Unix epoch, from 0. It replaces the version of that time, if
// there is one. Reads go by the times of versions, whenever they were written.
func (m Mutation) At(time int64) Mutation {
	if m.m.Op != widecol.Set {
		m.err = invalid("invalid_mutation", "only a Set has a time")
	} else if time < 0 {
		m.err = invalid("invalid_time", fmt.Sprintf("time %d is below 0", time))
	}
	m.m.Time = time
	return m
}

// DeleteColumn deletes all versions of a cell.
func DeleteColumn(row, family, qualifier string) Mutation {
	return DeleteVersions(row, family, qualifier, Times{})
}

// DeleteVersions deletes the versions of a cell that have some times.
func DeleteVersions(row, family, qualifier string, t Times) Mutation {
	m := mutation(widecol.DeleteColumn, row, family, qualifier)
	r := t.model()
	m.m.Time, m.m.End = r.Start, r.End
	return m
}

// DeleteFamily deletes the cells of a row in a family.
func DeleteFamily(row, family string) Mutation {
	return mutation(widecol.DeleteFamily, row, family, "")
}

// DeleteRow deletes all cells of a row.
func DeleteRow(row string) Mutation { return mutation(widecol.DeleteRow, row, "", "") }

// mutation copies its names, into one piece of memory.
func mutation(op widecol.Op, row, family, qualifier string) Mutation {
	b := make([]byte, 0, len(row)+len(family)+len(qualifier))
	b = append(append(append(b, row...), family...), qualifier...)
	r, f := len(row), len(row)+len(family)
	return Mutation{m: widecol.Mutation{Op: op, Row: b[:r:r], Family: b[r:f:f], Qualifier: b[f:]}}
}

// modelMutations returns mutations as the store takes them.
func modelMutations(mutations []Mutation) ([]widecol.Mutation, error) {
	list := make([]widecol.Mutation, len(mutations))
	for i := range mutations {
		m := &mutations[i]
		list[i] = m.m
		err := m.err
		if m.m.Op == widecol.Set {
			list[i].Type, list[i].Value = m.value.typ, m.value.data
			err = cmp.Or(err, m.value.check())
		}
		if err != nil {
			return nil, err.at(i)
		}
	}
	return list, nil
}

// Condition is what a row must hold. The zero Condition is RowExists.
type Condition struct {
	columns widecol.Filter
	newest  *widecol.RowFilter
	err     *Error
}

// RowExists is met by a row that has a cell.
func RowExists() Condition { return Condition{} }

// ColumnExists is met by a row that has a version of a column.
func ColumnExists(family, qualifier string) Condition {
	f, err := oneColumn(family, qualifier)
	return Condition{columns: f, err: err}
}

// ColumnEquals is met by a row where the newest version of a column has the bytes of a value.
func ColumnEquals(family, qualifier string, v Value) Condition {
	c := ColumnExists(family, qualifier)
	if c.err == nil {
		c.err = v.check()
	}
	bound := widecol.Bound{Kind: widecol.Included, Value: widecol.ValueBytes(nil, &cell.Cell{Type: v.typ, Value: v.data})}
	c.newest = &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{
		{Op: widecol.ColumnLimit, N: 1},
		{Op: widecol.ValueRange, Start: bound, End: bound},
	}}
	return c
}

// query returns a query that finds something if the condition is met.
func (c *Condition) query() widecol.Query {
	q := widecol.NewQuery()
	q.Filter, q.RowFilter = c.columns, c.newest
	return q
}
