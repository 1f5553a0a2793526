package memstore

import (
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

// explainRow adds to e what a query drops of a row that it looks at. read are the families that it reads, and passed
// what its filter tree lets through.
func (t *table) explainRow(e *widecol.Explain, q *widecol.Query, row []version, now int64, read map[string]bool, passed []version) {
	kept := t.left(row, now)
	for _, v := range row {
		if !read[v.family] {
			continue
		}
		p := e.Partition(t.partition(v.family))
		p.CellsScanned++
		p.BytesScanned += v.rawSize()
		same := func(w version) bool { return compare(v, w) == 0 }
		switch {
		case !v.in(q.Filter):
			e.Dropped.Columns++
		case !slices.ContainsFunc(kept, same):
			e.Dropped.Garbage++
		case v.time < q.Times.Start || v.time >= q.Times.End:
			e.Dropped.Times++
		case q.Value != nil && !v.matches(q.Value):
			e.Dropped.Values++
		case !slices.ContainsFunc(passed, same):
			e.Dropped.RowFilter++
		}
	}
}

// explainEnd adds to the Explain of a query what holds for all of it.
func (t *table) explainEnd(q *widecol.Query, a *answer, reason widecol.EndReason) {
	e := q.Explain
	if e == nil {
		return
	}
	e.Add(&a.explain)
	e.Ended[reason]++
	for _, part := range []struct {
		is   bool
		part widecol.QueryParts
	}{
		{!slices.EqualFunc(q.Rows, widecol.AllRows(), func(a, b widecol.RowRange) bool { return len(a.Start)+len(b.Start) == 0 && a.End == nil }), widecol.PartRows},
		{q.Filter.Columns != nil, widecol.PartColumns},
		{q.Times != widecol.AllTimes, widecol.PartTimes},
		{q.Value != nil, widecol.PartValues},
		{q.ColumnCellLimit != widecol.NoLimit, widecol.PartVersions},
		{q.RowFilter != nil, widecol.PartFilter},
	} {
		if part.is {
			e.Checked |= part.part
		}
	}
}

// reason says why a query with an answer has ended.
func (a *answer) reason(q *widecol.Query) widecol.EndReason {
	cells := int64(0)
	for _, row := range a.rows {
		cells += int64(len(row))
	}
	switch {
	case a.stats.Partitions == 0:
		return widecol.EndNothing
	case cells == q.CellLimit:
		return widecol.EndCellLimit
	case int64(len(a.rows)) == q.RowLimit:
		return widecol.EndRowLimit
	case len(a.rows) == 0 && a.skipped > 0:
		return widecol.EndInOffset
	}
	return widecol.EndOfRows
}
