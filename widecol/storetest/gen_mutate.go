package storetest

import (
	"encoding/binary"
	"math"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// mutate returns a write of some rows with deletions among the mutations, of some times of a column if timed.
func (g *generator) mutate(timed bool) *mutate {
	o := &mutate{table: g.table(), byRow: g.one(3)}
	for range 1 + g.IntN(3) {
		o.rows = append(o.rows, g.mutations(o.table, g.skewed(rowKeys), 5, timed))
	}
	if o.byRow && g.one(3) {
		row := o.rows[g.IntN(len(o.rows))]
		g.spoil(&row[g.IntN(len(row))].version)
	}
	return o
}

// mutations returns at most n mutations of a row.
func (g *generator) mutations(table, row string, n int, timed bool) (list []mutation) {
	for range 1 + g.IntN(n) {
		m := mutation{version: g.version(table, row)}
		m.row = row // not that of a recent version
		if g.one(4) {
			m = g.merge(table, row)
		}
		if g.one(2) {
			g.turnToDeletion(&m, timed)
		}
		list = append(list, m)
	}
	return list
}

// merge returns a Merge with one of few versions, so that many meet.
func (g *generator) merge(table, row string) mutation {
	m := mutation{op: widecol.Merge, version: version{row: row, family: merging, qualifier: g.skewed(qualifiers), typ: cell.I64}}
	if g.one(20) {
		m.family = g.liveFamily(table)
	}
	m.time = pick(g, []int64{0, start - 5*second, start, start + 5*second, cell.MaxTime})
	n := pick(g, []int64{1, 1, -1, 7, math.MaxInt64, math.MinInt64})
	m.value = string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return m
}

// turnToDeletion makes a mutation a deletion.
func (g *generator) turnToDeletion(m *mutation, timed bool) {
	m.typ, m.value = cell.None, ""
	switch die := g.IntN(10); {
	case die == 0:
		m.op = widecol.DeleteRow
	case die < 3:
		m.op = widecol.DeleteFamily
	case die < 6 || !timed:
		m.op, m.time, m.end = widecol.DeleteColumn, 0, widecol.EndOfTime
	default:
		m.op = widecol.DeleteColumn
		m.time, m.end = g.someTimes()
	}
}

// someTimes returns a range of times that ends where no commit is: whether a later deletion of the same request
// reaches the time of the commit must not depend on how many commits the clock has stood still for.
func (g *generator) someTimes() (from, to int64) {
	from = max(g.pastOrFuture()-second/2, 0)
	if g.one(3) {
		return from, math.MaxInt64
	}
	return from, from + 5*second*(1+g.Int64N(5))
}

func (g *generator) checkAndMutate(timed bool) *checkAndMutate {
	o := &checkAndMutate{table: g.table(), row: g.skewed(rowKeys), not: g.one(4)}
	o.query = g.query(o.table, true)
	o.query.chunks = all
	if !g.one(4) {
		o.yes = g.mutations(o.table, o.row, 3, timed)
	}
	if o.yes == nil || g.one(2) {
		o.no = g.mutations(o.table, o.row, 3, timed)
	}
	return o
}

func (g *generator) readModifyWrite() *readModifyWrite {
	o := &readModifyWrite{table: g.table(), row: g.skewed(rowKeys)}
	for range 1 + g.IntN(3) {
		r := widecol.Rule{Family: []byte(g.settingFamily(o.table)), Qualifier: []byte(g.skewed(qualifiers))}
		switch g.IntN(3) {
		case 0:
			r.Increment = pick(g, []int64{1, 1, -1, 7, math.MaxInt64, math.MinInt64})
		case 1:
			r.Type, r.Append = cell.String, []byte(pick(g, []string{"", "text", "é"}))
		default:
			r.Type, r.Append = cell.Bytes, []byte(pick(g, []string{"", "\xff", "b"}))
		}
		o.rules = append(o.rules, r)
	}
	return o
}

func (g *generator) deletion(timed bool) *deletion {
	o := &deletion{table: g.table(), count: g.one(2), dry: g.one(4)}
	o.query = g.query(o.table, false)
	if !timed {
		o.query.Times = widecol.AllTimes
	}
	return o
}

// updateWithKey returns one of the changes above with an idempotency key. It may meet a fault, after which garbage
// may be visible again only where something else says so.
func (g *generator) updateWithKey(key string) change {
	switch g.IntN(4) {
	case 0:
		o := g.mutate(false)
		o.key = key
		return o
	case 1:
		o := g.checkAndMutate(false)
		o.key = key
		return o
	case 2:
		o := g.deletion(false)
		o.key = key
		return o
	default:
		o := g.readModifyWrite()
		o.key = key
		return o
	}
}
