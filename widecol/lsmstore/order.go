package lsmstore

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// order is a list of mutations with deletions among them. A tombstone of a batch hides what was there before
// the batch, and nothing in it. So a Set that a later deletion of the list covers must not get into the batch.
type order struct {
	mutations []widecol.Mutation
	covered   []bool                         // by mutation: a later deletion covers this Set
	scopes    map[string]bool                // rows, families and columns that a deletion covers as a whole
	timed     map[string]*covering           // of columns with timed deletions
	ranges    map[string][]widecol.TimeRange // times that these delete
	set       map[string]map[int64]bool      // times that these columns set, not covered
	commit    int64                          // stands for the time of the commit, which is not known yet; 0 before it is needed
	nextTime  func() int64                   // of commit
	key       []byte
}

// newOrder finds what is covered, from the end of the list to its start.
func newOrder(mutations []widecol.Mutation, nextTime func() int64) *order {
	o := &order{
		mutations: mutations, covered: make([]bool, len(mutations)),
		scopes: map[string]bool{}, ranges: map[string][]widecol.TimeRange{}, set: map[string]map[int64]bool{},
		nextTime: nextTime,
	}
	o.timed = coverings(mutations, widecol.Set, o.timeOf)
	for i := len(mutations) - 1; i >= 0; i-- {
		switch m := &mutations[i]; {
		case m.Op == widecol.Set:
			o.covered[i] = o.covers(m)
		case timed(m):
			o.timed[string(o.scope(m, m.Op))].cover(m.Times(), i)
			o.ranges[string(o.key)] = append(o.ranges[string(o.key)], m.Times())
		default:
			o.scopes[string(o.scope(m, m.Op))] = true
		}
	}
	return o
}

// timeOf returns the time of a Set.
func (o *order) timeOf(m *widecol.Mutation) int64 {
	if m.Time != widecol.CommitTime {
		return m.Time
	}
	if o.commit == 0 {
		o.commit = o.nextTime()
	}
	return o.commit
}

// needsRead reports whether a mutation depends on what its row has. One that deletes some times of a column does: there
// is no tombstone for these, so each version gets one. So does a Merge.
func needsRead(m *widecol.Mutation) bool {
	return timed(m) || m.Op == widecol.Merge
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

// covers reports whether a deletion that was found covers a Set. Of one that stays it takes note, where timed deletions
// must spare it.
func (o *order) covers(m *widecol.Mutation) bool {
	for _, op := range []widecol.Op{widecol.DeleteRow, widecol.DeleteFamily, widecol.DeleteColumn} {
		if o.scopes[string(o.scope(m, op))] {
			return true
		}
	}
	column := o.timed[string(o.key)]
	if column == nil {
		return false
	}
	if column.lastOver(o.timeOf(m)) >= 0 {
		return true
	}
	if m.Time != widecol.CommitTime {
		if o.set[string(o.key)] == nil {
			o.set[string(o.key)] = map[int64]bool{}
		}
		o.set[string(o.key)][m.Time] = true
	}
	return false
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
			err = w.addVersionTombstones(ctx, v, m, o)
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
			w.addVersionTombstone(w.table.schema.family(m.Family), m.Row, w.column, m.Time)
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

// addVersionTombstones adds a tombstone for each version of a column that the timed deletions of the list cover, garbage
// too, but for the times that the batch sets. It does so for all of them at the first one, by one read: a read of each
// would pass over all versions of the column again.
func (w *writer) addVersionTombstones(ctx context.Context, v *view, m *widecol.Mutation, o *order) error {
	scope := string(o.scope(m, m.Op))
	ranges, set := union(o.ranges[scope]), o.set[scope]
	delete(o.ranges, scope)
	if len(ranges) == 0 {
		return nil
	}
	column := cell.AppendColumn(nil, m.Family, m.Qualifier)
	q := widecol.NewQuery()
	q.SetKey(m.Row)
	q.Filter.Columns = cell.NewColumns(cell.ColumnRange(m.Family, m.Qualifier))
	q.Times = widecol.TimeRange{Start: ranges[0].Start, End: ranges[len(ranges)-1].End}
	q.KeysOnly = true
	v.policies = w.table.schema.bare
	f := w.table.schema.family(m.Family)
	return v.each(ctx, &q, func(c cell.Cell) {
		if !set[c.Time] && contains(ranges, c.Time) {
			w.add(f, m.Row, &cell.Cell{Kind: cell.DeleteVersion, Column: column, Time: c.Time})
		}
	})
}

func (w *writer) addVersionTombstone(f *family, row, column []byte, time int64) {
	w.add(f, row, &cell.Cell{Kind: cell.DeleteVersion, Column: column, Time: time})
}
