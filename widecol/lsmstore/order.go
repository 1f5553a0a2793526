package lsmstore

import (
	"context"
	"encoding/binary"
	"slices"

	"colonnade/cell"
	"colonnade/widecol"
)

// order is a list of mutations with deletions among them. A tombstone of a batch hides what was there before
// the batch, and nothing in it. So a Set that a later deletion of the list covers must not get into the batch.
type order struct {
	mutations []widecol.Mutation
	covered   []bool                         // by mutation: a later deletion covers this Set
	set       map[string][]int64             // times set, not covered, by row and column; of columns with timed deletions
	scopes    map[string]bool                // rows, families and columns that a deletion covers as a whole
	ranges    map[string][]widecol.TimeRange // times that deletions cover, by column
	nextTime  func() int64                   // stands for the time of the commit, which is not known yet
	key       []byte
}

// newOrder finds what is covered, from the end of the list to its start.
func newOrder(mutations []widecol.Mutation, nextTime func() int64) *order {
	o := &order{
		mutations: mutations, covered: make([]bool, len(mutations)),
		set: map[string][]int64{}, scopes: map[string]bool{}, ranges: map[string][]widecol.TimeRange{},
		nextTime: nextTime,
	}
	for i := len(mutations) - 1; i >= 0; i-- {
		switch m := &mutations[i]; m.Op {
		case widecol.Set:
			if o.covered[i] = o.covers(m); !o.covered[i] && m.Time != widecol.CommitTime {
				o.set[string(o.scope(m, widecol.DeleteColumn))] = append(o.set[string(o.key)], m.Time)
			}
		case widecol.DeleteColumn:
			if needsRead(m) {
				o.ranges[string(o.scope(m, m.Op))] = append(o.ranges[string(o.key)], m.Times())
				continue
			}
			o.scopes[string(o.scope(m, m.Op))] = true
		default:
			o.scopes[string(o.scope(m, m.Op))] = true
		}
	}
	return o
}

// needsRead reports whether a mutation depends on what its row has. One that deletes some times of a column does: there
// is no tombstone for these, so each version gets one. So does a Merge.
func needsRead(m *widecol.Mutation) bool {
	return m.Op == widecol.DeleteColumn && m.Times() != widecol.AllTimes || m.Op == widecol.Merge
}

// scope is appendScope in the memory of o.
func (o *order) scope(m *widecol.Mutation, op widecol.Op) []byte {
	o.key = appendScope(o.key[:0], m, op)
	return o.key
}

// appendScope appends the key of what an operation on the place of m covers.
func appendScope(dst []byte, m *widecol.Mutation, op widecol.Op) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(m.Row)))
	dst = append(dst, m.Row...)
	switch op {
	case widecol.DeleteFamily:
		dst = append(dst, m.Family...)
	case widecol.DeleteColumn:
		dst = cell.AppendColumn(dst, m.Family, m.Qualifier)
	}
	return dst
}

// covers reports whether a deletion that was found covers a Set.
func (o *order) covers(m *widecol.Mutation) bool {
	for _, op := range []widecol.Op{widecol.DeleteRow, widecol.DeleteFamily, widecol.DeleteColumn} {
		if o.scopes[string(o.scope(m, op))] {
			return true
		}
	}
	ranges, time := o.ranges[string(o.key)], m.Time
	if time == widecol.CommitTime && len(ranges) > 0 {
		time = o.nextTime()
	}
	return slices.ContainsFunc(ranges, func(r widecol.TimeRange) bool { return r.Contains(time) })
}

// addOrdered adds mutations that were checked. The rows that are read are locked.
func (w *writer) addOrdered(ctx context.Context, mutations []widecol.Mutation) error {
	var v *view
	if slices.ContainsFunc(mutations, func(m widecol.Mutation) bool { return needsRead(&m) }) {
		var err error
		if v, err = w.store.viewOfEntered(w.table); err != nil {
			return err
		}
		defer v.Close()
		if mutations, err = merged(ctx, v, w.table.schema, mutations); err != nil {
			return err
		}
	}
	return w.addAll(ctx, v, newOrder(mutations, w.store.db.NextTime))
}

// addAll adds the mutations that are not covered. v is there if one needs a read.
func (w *writer) addAll(ctx context.Context, v *view, o *order) error {
	for i := range o.mutations {
		m := &o.mutations[i]
		var err error
		switch {
		case o.covered[i]:
		case m.Op == widecol.Set:
			w.addSet(w.table.schema.family(m.Family), m)
		case needsRead(m):
			err = w.addVersionTombstones(ctx, v, m, o.set[string(o.scope(m, m.Op))])
		default:
			w.addTombstone(m)
		}
		if err != nil {
			return err
		}
	}
	w.addSomething(o)
	return nil
}

// addSomething adds a tombstone of no effect if the mutations have found nothing to delete. So they still are a
// batch, with a time and a place in the order of batches.
func (w *writer) addSomething(o *order) {
	for i := range o.mutations {
		if m := &o.mutations[i]; w.batch.Len() == 0 && needsRead(m) {
			w.column = cell.AppendColumn(w.column[:0], m.Family, m.Qualifier)
			w.addVersionTombstone(w.table.schema.family(m.Family), m.Row, w.column, m.Time, nil)
		}
	}
}

// addTombstone adds the tombstone of a deletion that needs no read.
func (w *writer) addTombstone(m *widecol.Mutation) {
	tombstone := cell.Cell{Time: cell.TombstoneTime}
	switch m.Op {
	case widecol.DeleteRow:
		tombstone.Kind = cell.DeleteRow
		for _, id := range w.table.stores() {
			w.batch.Add(id, m.Row, &tombstone)
		}
		return
	case widecol.DeleteFamily:
		tombstone.Kind, tombstone.Column = cell.DeleteFamily, m.Family
	default:
		w.column = cell.AppendColumn(w.column[:0], m.Family, m.Qualifier)
		tombstone.Kind, tombstone.Column = cell.DeleteColumn, w.column
	}
	w.add(w.table.schema.family(m.Family), m.Row, &tombstone)
}

// addVersionTombstones adds a tombstone for each version of a column in a range of times, garbage too, but for
// the times that the batch sets.
func (w *writer) addVersionTombstones(ctx context.Context, v *view, m *widecol.Mutation, set []int64) error {
	column := cell.AppendColumn(nil, m.Family, m.Qualifier)
	q := widecol.NewQuery()
	q.SetKey(m.Row)
	q.Filter.Columns = cell.NewColumns(cell.ColumnRange(m.Family, m.Qualifier))
	q.Times = m.Times()
	q.KeysOnly = true
	v.policies = w.table.schema.bare
	f := w.table.schema.family(m.Family)
	return v.each(ctx, &q, func(c cell.Cell) { w.addVersionTombstone(f, m.Row, column, c.Time, set) })
}

func (w *writer) addVersionTombstone(f *family, row, column []byte, time int64, set []int64) {
	if !slices.Contains(set, time) {
		w.add(f, row, &cell.Cell{Kind: cell.DeleteVersion, Column: column, Time: time})
	}
}
