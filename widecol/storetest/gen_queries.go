package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// Random reads, and what they select.

// reads are operations that change nothing.
var reads = []func(g *generator) op{
	func(g *generator) op { return g.scan(true) },
	func(g *generator) op { return g.scan(false) },
	(*generator).aggregate,
	(*generator).openView,
	(*generator).scanView,
	(*generator).beginScan,
	func(g *generator) op { return &readOn{g.IntN(slots), 1} },
}

func (g *generator) scan(get bool) op {
	table := g.table()
	return &scan{table, g.query(table, get)}
}

func (g *generator) openView() op {
	o := &openView{g.IntN(slots), g.table()}
	g.viewed[o.slot] = o.table
	return o
}

func (g *generator) scanView() op {
	slot := g.IntN(slots)
	return &scanView{slot, g.query(g.viewed[slot], g.one(3))}
}

func (g *generator) beginScan() op {
	slot := g.IntN(slots)
	return &beginScan{slot, g.query(g.viewed[slot], false)}
}

// filter returns a filter for a table.
func (g *generator) filter(table string) filter {
	family := func() string {
		if g.one(30) {
			return g.family()
		}
		return g.liveFamily(table)
	}
	key := func() string { return family() + ":" + g.skewed(qualifiers) }
	var keys []string
	switch die := g.IntN(20); {
	case die < 7:
		return filter{text: "all columns"}
	case die < 11:
		keys = []string{key()}
	case die < 13:
		keys = []string{family()}
	case die < 16:
		keys = []string{key(), key(), key()}
	default:
		prefix := key()
		prefix = prefix[:g.IntN(len(prefix)+1)]
		return filter{widecol.PrefixFilter(prefix), fmt.Sprintf("prefix %q", prefix)}
	}
	f, err := widecol.ColumnsFilter(keys...)
	if err != nil {
		panic(err) // the names are valid
	}
	return filter{f, fmt.Sprintf("columns %q", keys)}
}

// query returns a query of a table, for one row with get, else for several.
func (g *generator) query(table string, get bool) query {
	f := g.filter(table)
	q := query{Query: widecol.NewQuery(), chunks: all}
	q.Filter = f.Filter
	switch row := g.skewed(rowKeys); {
	case get:
		q.SetKey([]byte(row))
		q.text = fmt.Sprintf("row %s", short(row))
	case g.one(3):
		prefix := row[:g.IntN(len(row)+1)]
		q.SetPrefix([]byte(prefix))
		q.text = fmt.Sprintf("prefix %q", prefix)
	case g.one(3):
		var end []byte
		if !g.one(3) {
			end = []byte(g.skewed(rowKeys))
		}
		q.SetRange([]byte(row), end)
		q.text = fmt.Sprintf("from %q to %q", row, end)
	case g.one(3):
		var ranges []widecol.RowRange
		for range g.IntN(6) {
			ranges = append(ranges, g.rowRange())
		}
		q.Rows = widecol.NewRowSet(ranges...)
		q.text = fmt.Sprintf("ranges %q", q.Rows)
	default:
		q.text = "all rows"
	}
	q.text += ", " + f.text
	g.selectVersions(&q)
	g.limitCells(&q)
	if !get || g.one(10) {
		g.limitRows(&q)
		q.Reverse = g.one(3)
	}
	return q
}

func (g *generator) rowRange() widecol.RowRange {
	switch row := []byte(g.skewed(rowKeys)); {
	case g.one(2):
		return widecol.KeyRange(row)
	case g.one(2):
		return widecol.PrefixRange(row[:g.IntN(len(row)+1)])
	default:
		return widecol.RowRange{Start: row, End: []byte(g.skewed(rowKeys))}
	}
}

func (g *generator) selectVersions(q *query) {
	if g.one(5) {
		q.Times = widecol.TimeRange{Start: g.pastOrFuture(), End: g.pastOrFuture()}
		if g.one(3) {
			q.Times.End = widecol.AllTimes.End
		}
	}
	if g.one(5) {
		typ, value := g.value()
		q.Value = &widecol.ValueFilter{Op: widecol.Comparison(1 + g.IntN(6)), Type: typ, Value: []byte(value)}
	}
	if g.one(3) {
		q.RowFilter = g.tree()
	}
}

func (g *generator) pastOrFuture() int64 {
	if t := g.time(); t != widecol.CommitTime {
		return t
	}
	return start + second*g.Int64N(20)
}

func (g *generator) limitRows(q *query) {
	for _, limit := range []*int64{&q.RowLimit, &q.Offset} {
		if g.one(5) {
			*limit = pick(g, limits)
		}
	}
	if g.one(6) {
		q.Sample = pick(g, samples)
	}
}

func (g *generator) limitCells(q *query) {
	for _, limit := range []*int64{&q.ColumnCellLimit, &q.RowCellLimit, &q.CellLimit} {
		if g.one(6) {
			*limit = pick(g, limits)
		}
	}
	q.KeysOnly = g.one(10)
	if g.one(20) {
		q.chunks = g.IntN(4)
	}
}
