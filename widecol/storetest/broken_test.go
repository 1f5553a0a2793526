package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// broken is a memstore with a bug: one of its funcs replaces a method.
type broken struct {
	*memstore.Store
	env     *Env
	subject *Subject

	mu sync.Mutex // one call of the funcs below at a time

	write      func(table string, ms []widecol.Mutation, key string) (int64, error)
	deleteRow  func(table, row string, filter widecol.Filter, key string) (int64, error)
	dropTable  func(name string) error
	key        func(key string) string // changes an idempotency key
	created    func(name string)       // called after a table was created
	dropFamily func(table, family string) error
	setGC      func(table, family string, gc widecol.GC) error
	moved      func(table, family string) // called after a family was moved
	compacted  func(table string)         // called after a table was compacted
	advise     func(a *widecol.Advice)    // changes advice
	view       func(table string) (widecol.View, error)
	query      func(q *widecol.Query)            // changes a copy of the query
	tree       *widecol.RowFilter                // of the last query, for some bugs
	rows       func(r widecol.Rows) widecol.Rows // wraps a result
	explain    func(e *widecol.Explain)          // changes what a query says of itself
	updates    brokenUpdates

	aggregateQuery func(q *widecol.Query)            // changes a copy of an aggregate's query
	aggregateRows  func(r widecol.Rows) widecol.Rows // wraps what is aggregated
}

func (b *broken) Write(ctx context.Context, table string, ms []widecol.Mutation, key string) (int64, error) {
	if key != "" && b.key != nil {
		key = b.key(key)
	}
	if b.write != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.write(table, ms, key)
	}
	return b.Store.Write(ctx, table, b.mutate(ms), key)
}

func (b *broken) Delete(ctx context.Context, table string, d *widecol.Deletion, key string) (widecol.Deleted, error) {
	if key != "" && b.key != nil {
		key = b.key(key)
	}
	if b.updates.deletion != nil {
		changed := *d
		b.updates.deletion(&changed)
		d = &changed
	}
	row := d.OneRow()
	if b.deleteRow == nil || row == nil || !d.Count {
		return b.Store.Delete(ctx, table, d, key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.deleteRow(table, string(row), d.Filter, key)
	return widecol.Deleted{Rows: min(n, 1), Cells: n}, err
}

func (b *broken) DropTable(ctx context.Context, name string) error {
	if b.dropTable != nil {
		return b.dropTable(name)
	}
	return b.Store.DropTable(ctx, name)
}

func (b *broken) CreateTable(ctx context.Context, name string, spec widecol.TableSpec) error {
	err := b.Store.CreateTable(ctx, name, spec)
	if err == nil && b.created != nil {
		b.created(name)
	}
	return err
}

func (b *broken) DropFamily(ctx context.Context, table, family string) error {
	if b.dropFamily != nil {
		return b.dropFamily(table, family)
	}
	return b.Store.DropFamily(ctx, table, family)
}

func (b *broken) MoveFamily(ctx context.Context, table, family, place string) (widecol.Move, error) {
	m, err := b.Store.MoveFamily(ctx, table, family, place)
	if err == nil && b.moved != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.moved(table, family)
	}
	return m, err
}

func (b *broken) Compact(ctx context.Context, table string, place *string) error {
	err := b.Store.Compact(ctx, table, place)
	if err == nil && b.compacted != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.compacted(table)
	}
	return err
}

func (b *broken) Advice(ctx context.Context, table string) (widecol.Advice, error) {
	a, err := b.Store.Advice(ctx, table)
	if err == nil && b.advise != nil {
		b.advise(&a)
	}
	return a, err
}

func (b *broken) AlterFamily(ctx context.Context, table, family string, change widecol.FamilyChange) error {
	if b.setGC != nil && change.GC != nil {
		return b.setGC(table, family, *change.GC)
	}
	return b.Store.AlterFamily(ctx, table, family, change)
}

func (b *broken) View(ctx context.Context, table string) (widecol.View, error) {
	var v widecol.View
	var err error
	if b.view != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		v, err = b.view(table)
	} else {
		v, err = b.Store.View(ctx, table)
	}
	if err != nil {
		return nil, err
	}
	if b.aggregateQuery != nil || b.aggregateRows != nil {
		return &brokenAggregateView{brokenView{v, b}}, nil
	}
	return &brokenView{v, b}, nil
}

type brokenView struct {
	widecol.View
	b *broken
}

func (v *brokenView) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	c := *q
	if v.b.query != nil {
		v.b.query(&c)
	}
	var own widecol.Explain
	if c.Explain != nil && v.b.explain != nil {
		c.Explain = &own
	}
	rows, err := v.View.Scan(ctx, &c)
	if err == nil && v.b.rows != nil {
		rows = v.b.rows(rows)
	}
	if err == nil && c.Explain == &own {
		rows = &misexplained{Rows: rows, own: &own, to: q.Explain, change: v.b.explain}
	}
	return rows, err
}

// misexplained changes the explanation of a result.
type misexplained struct {
	widecol.Rows
	own, to *widecol.Explain
	change  func(e *widecol.Explain)
	ended   bool
}

func (r *misexplained) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.end()
	}
	return more
}

func (r *misexplained) Close() {
	r.Rows.Close()
	r.end()
}

func (r *misexplained) end() {
	if !r.ended {
		r.ended = true
		r.change(r.own)
		r.to.Add(r.own)
	}
}

// brokenAggregateView is a view with a bug in aggregates.
type brokenAggregateView struct{ brokenView }

func (v *brokenAggregateView) Aggregate(ctx context.Context, q *widecol.Query, t *widecol.Aggregator) (widecol.Stats, error) {
	c := *q
	if v.b.aggregateQuery != nil {
		v.b.aggregateQuery(&c)
	}
	rows, err := v.Scan(ctx, &c)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer rows.Close()
	if v.b.aggregateRows != nil {
		rows = v.b.aggregateRows(rows)
	}
	return widecol.AggregateRows(rows, t)
}

// firstChunks leaves out all chunks of a row but the first.
type firstChunks struct{ widecol.Rows }

func (r firstChunks) Next() bool {
	for r.Rows.Next() {
		if r.First() {
			return true
		}
	}
	return false
}

// oneRow says that all chunks are of the first row.
type oneRow struct {
	widecol.Rows
	row []byte
}

func (r *oneRow) Row() []byte {
	if r.row == nil {
		r.row = bytes.Clone(r.Rows.Row())
	}
	return r.row
}

// mapped changes cells.
type mapped struct {
	widecol.Rows
	change func(c *cell.Cell)
}

func (r mapped) Cells() []cell.Cell {
	cells := slices.Clone(r.Rows.Cells())
	for i := range cells {
		r.change(&cells[i])
	}
	return cells
}

// contents returns what is stored in a table, as writes.
func (b *broken) contents(table string) []widecol.Mutation {
	a, err := askStore(b.Store, table, everything())
	if err != nil {
		return nil
	}
	ms := make([]widecol.Mutation, len(a.versions))
	for i, v := range a.versions {
		ms[i] = v.mutation()
	}
	return ms
}

// has reports whether a cell has a version at a time.
func (b *broken) has(table string, m *widecol.Mutation) bool {
	return slices.ContainsFunc(b.contents(table), func(c widecol.Mutation) bool {
		return string(c.Row) == string(m.Row) && string(c.Family) == string(m.Family) && string(c.Qualifier) == string(m.Qualifier) && c.Time == m.Time
	})
}

// grouped reports whether a family is in a locality group.
func (b *broken) grouped(table, family string) bool {
	t, _ := b.Table(background, table)
	return slices.ContainsFunc(t.Groups, func(g widecol.Group) bool { return slices.Contains(g.Families, family) })
}

// large bounds the mutations of a write that a bug multiplies.
const large = 100

// bugs must be found by the suite, by Random, or by both.
// bug is a bug that the suite, or random operations, must find.
type bug struct {
	name          string
	suite, random bool
	plant         func(b *broken)
}

var bugs = []bug{
	{"row limit ignored", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) { q.RowLimit = widecol.NoLimit }
	}},
	{"a query with an Explain has a smaller offset", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.Explain != nil && q.Offset > 0 {
				q.Offset--
			}
		}
	}},
	{"explain: versions dropped by their value count twice", true, false, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Dropped.Values *= 2 }
	}},
	{"explain: versions of other columns count as dropped by their value", true, false, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Dropped.Values, e.Dropped.Columns = e.Dropped.Values+e.Dropped.Columns, 0 }
	}},
	{"explain: a tree drops one version less", true, false, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Dropped.RowFilter = max(e.Dropped.RowFilter-1, 0) }
	}},
	{"explain: every query ends behind its last row", true, true, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Ended = [widecol.EndReasons]int64{widecol.EndOfRows: 1} }
	}},
	{"explain: a partition is left out", true, true, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Partitions = e.Partitions[:max(len(e.Partitions)-1, 0)] }
	}},
	{"explain: garbage is not counted", true, true, func(b *broken) {
		b.explain = func(e *widecol.Explain) { e.Dropped.Garbage = 0 }
	}},
	{"row limit off by one above 2", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.RowLimit > 2 {
				q.RowLimit--
			}
		}
	}},
	{"cell limit taken for each row", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.CellLimit >= 0 && (q.RowCellLimit < 0 || q.RowCellLimit > q.CellLimit) {
				q.RowCellLimit = q.CellLimit
			}
			q.CellLimit = widecol.NoLimit
		}
	}},
	{"offset counted before the filter", true, true, func(b *broken) {
		b.view = func(table string) (widecol.View, error) {
			v, err := b.Store.View(background, table)
			return &earlyOffset{v}, err
		}
	}},
	{"sample ignored", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.Sample = 1 } }},
	{"sample a little less", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.Sample < 1 {
				q.Sample -= 1e-7
			}
		}
	}},
	{"end of a range included", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			q.Rows = slices.Clone(q.Rows)
			for i, r := range q.Rows {
				if r.End != nil {
					q.Rows[i].End = append(slices.Clone(r.End), 0)
				}
			}
		}
	}},
	{"only the first range of rows", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) { q.Rows = q.Rows[:min(len(q.Rows), 1)] }
	}},
	{"gaps between ranges of rows", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if n := len(q.Rows); n > 0 {
				q.Rows = widecol.RowSet{{Start: q.Rows[0].Start, End: q.Rows[n-1].End}}
			}
		}
	}},
	{"end of the times included", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.Times.End < cell.MaxTime {
				q.Times.End++
			}
		}
	}},
	{"times ignored", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.Times = widecol.AllTimes } }},
	{"value ignored", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.Value = nil } }},
	{"equal values count as less", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.Value != nil && q.Value.Op == widecol.Less {
				f := *q.Value
				f.Op = widecol.LessOrEqual
				q.Value = &f
			}
		}
	}},
	{"limits before times and value", true, true, func(b *broken) {
		b.view = func(table string) (widecol.View, error) {
			v, err := b.Store.View(background, table)
			return &lateSelection{v}, err
		}
	}},
	{"a filter tree is ignored", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.RowFilter = nil } }},
	{"the false branch of a condition is ignored", true, true, func(b *broken) {
		b.changeTree(func(f *widecol.RowFilter) { f.Else = nil })
	}},
	{"a condition in a chain sees the whole row", true, true, func(b *broken) {
		b.changeTree(func(f *widecol.RowFilter) { // by going to the front
			if f.Op != widecol.Chain {
				return
			}
			if i := slices.IndexFunc(f.Filters, func(sub *widecol.RowFilter) bool { return sub.Op == widecol.Condition }); i > 0 {
				f.Filters[0], f.Filters[i] = f.Filters[i], f.Filters[0]
			}
		})
	}},
	{"an interleave drops copies", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) { b.tree = q.RowFilter }
		b.rows = func(r widecol.Rows) widecol.Rows { return &withoutCopies{Rows: r} }
	}},
	{"a limit of a filter tree counts each chunk", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			b.tree = q.RowFilter
			if f := q.RowFilter; f != nil && f.Op == widecol.RowLimit {
				q.RowFilter = nil
			}
		}
		b.rows = func(r widecol.Rows) widecol.Rows {
			if b.tree == nil || b.tree.Op != widecol.RowLimit {
				return r
			}
			return &limitedChunks{r, int(b.tree.N)}
		}
	}},
	{"labels get lost", true, true, func(b *broken) {
		b.rows = func(r widecol.Rows) widecol.Rows { return noLabels{r} }
	}},
	{"a filter tree comes after the limit of a row", true, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.RowFilter != nil && q.RowCellLimit > 0 {
				limit := &widecol.RowFilter{Op: widecol.RowLimit, N: q.RowCellLimit}
				q.RowFilter = &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{limit, q.RowFilter}}
			}
		}
	}},
	{"numbers of a filter tree are little-endian", true, true, func(b *broken) {
		b.changeTree(func(f *widecol.RowFilter) {
			if f.Op == widecol.ValueRegex {
				f.Pattern = bytes.ReplaceAll(f.Pattern, []byte(`\x00`), []byte(`[^\x00]`))
			}
		})
	}},
	{"a pattern matches a part", true, true, func(b *broken) {
		b.changeTree(func(f *widecol.RowFilter) {
			if f.Pattern != nil {
				f.Pattern = append(append([]byte(`(?:`), f.Pattern...), `)\C*`...)
			}
		})
	}},
	{"unknown family in a filter", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.Filter.Families = nil } }},
	{"chunks of a row start it again", true, true, func(b *broken) {
		b.rows = func(r widecol.Rows) widecol.Rows { return alwaysFirst{r} }
	}},
	{"an answer ends after some chunks", true, true, func(b *broken) {
		b.rows = func(r widecol.Rows) widecol.Rows { return &atMost{r, 5} }
	}},
	{"bytes of values not counted", true, true, func(b *broken) {
		b.rows = func(r widecol.Rows) widecol.Rows { return freeValues{r} }
	}},

	{"reverse ignored", true, true, func(b *broken) { b.query = func(q *widecol.Query) { q.Reverse = false } }},
	{"a reverse scan misses the first row of a block", true, true, func(b *broken) {
		b.reverse(func(v widecol.View, q *widecol.Query) {
			list := rowsOf(v, asking(func(whole *widecol.Query) { whole.Rows = q.Rows }))
			var left []widecol.RowRange
			for i, row := range list {
				if i == 0 || i%blockRows > 0 { // the first block begins before the range
					left = append(left, row)
				}
			}
			q.Rows = widecol.NewRowSet(left...)
		})
	}},
	{"a reverse scan counts rows from the first", true, true, func(b *broken) {
		b.reverse(func(v widecol.View, q *widecol.Query) {
			up := *q
			up.Reverse, up.CellLimit = false, widecol.NoLimit
			q.Rows = widecol.NewRowSet(rowsOf(v, &up)...)
			q.RowLimit, q.Offset, q.Sample = widecol.NoLimit, 0, 1
		})
	}},
	{"a reverse scan counts cells from the first", true, true, func(b *broken) {
		b.reverse(func(v widecol.View, q *widecol.Query) {
			up := *q
			up.Reverse = false
			if q.CellLimit > 0 && q.RowLimit < 0 && q.Offset == 0 && q.Sample == 1 {
				q.Rows = widecol.NewRowSet(rowsOf(v, &up)...)
			}
		})
	}},
	{"a reverse scan leaves out the start of a range", true, true, func(b *broken) {
		b.reverse(func(_ widecol.View, q *widecol.Query) {
			q.Rows = slices.Clone(q.Rows)
			for i, r := range q.Rows {
				if len(r.Start) > 0 {
					q.Rows[i].Start = append(slices.Clone(r.Start), 0)
				}
			}
		})
	}},
	{"a reverse scan takes only the last range", true, true, func(b *broken) {
		b.reverse(func(_ widecol.View, q *widecol.Query) { q.Rows = q.Rows[max(len(q.Rows)-1, 0):] })
	}},
	{"more is said behind the last row", true, true, func(b *broken) {
		b.more(func(q *widecol.Query, rows int64, more *bool) { *more = *more || rows == q.RowLimit })
	}},
	{"more is not said within a row", true, true, func(b *broken) {
		b.more(func(q *widecol.Query, rows int64, more *bool) { *more = *more && rows == q.RowLimit })
	}},
	{"a page leaves out the rest of a row", true, true, func(b *broken) { b.after(func(q *widecol.Query) { q.After.Column = nil }) }},
	{"a page repeats copies of a version", true, true, func(b *broken) { b.after(func(q *widecol.Query) { q.After.Copies = min(q.After.Copies, 1) }) }},
	{"a page begins a new sample", true, true, func(b *broken) {
		b.after(func(q *widecol.Query) { q.After.Seen = q.After.Kept })
	}},
	{"a page has an offset of its own", true, true, func(b *broken) {
		b.after(func(q *widecol.Query) {
			if q.Sample == 1 {
				q.After.Kept = 0
			}
		})
	}},
	{"a reverse scan turns the cells of a row, too", true, true, func(b *broken) {
		down := false
		b.query = func(q *widecol.Query) { down = q.Reverse }
		b.rows = func(r widecol.Rows) widecol.Rows {
			if !down {
				return r
			}
			return turnedCells{r}
		}
	}},
	{"an aggregate ignores the limit of versions", true, true, func(b *broken) {
		b.aggregateQuery = func(q *widecol.Query) { q.ColumnCellLimit = widecol.NoLimit }
	}},
	{"an aggregate ignores values", true, true, func(b *broken) { b.aggregateQuery = func(q *widecol.Query) { q.Value = nil } }},
	{"an aggregate ignores times", true, true, func(b *broken) { b.aggregateQuery = func(q *widecol.Query) { q.Times = widecol.AllTimes } }},
	{"an aggregate ignores the offset", true, true, func(b *broken) { b.aggregateQuery = func(q *widecol.Query) { q.Offset = 0 } }},
	{"an aggregate has only the first range", true, true, func(b *broken) {
		b.aggregateQuery = func(q *widecol.Query) { q.Rows = q.Rows[:min(len(q.Rows), 1)] }
	}},
	{"an aggregate adds the first chunk of a row", true, true, func(b *broken) {
		b.aggregateRows = func(r widecol.Rows) widecol.Rows { return firstChunks{r} }
	}},
	{"an aggregate takes rows for those of the first group", true, true, func(b *broken) {
		b.aggregateRows = func(r widecol.Rows) widecol.Rows { return &oneRow{Rows: r} }
	}},
	{"an aggregate has no signs in i32", true, true, func(b *broken) {
		b.aggregateRows = func(r widecol.Rows) widecol.Rows {
			return mapped{r, func(c *cell.Cell) {
				if c.Type == cell.I32 && len(c.Value) == 4 {
					c.Type, c.Value = cell.I64, append(slices.Clone(c.Value), 0, 0, 0, 0)
				}
			}}
		}
	}},
	{"an aggregate skips f32", true, true, func(b *broken) {
		b.aggregateRows = func(r widecol.Rows) widecol.Rows {
			return mapped{r, func(c *cell.Cell) {
				if c.Type == cell.F32 {
					c.Type = cell.Bytes
				}
			}}
		}
	}},
	{"an aggregate takes booleans for numbers", false, true, func(b *broken) {
		b.aggregateRows = func(r widecol.Rows) widecol.Rows {
			return mapped{r, func(c *cell.Cell) {
				if c.Type == cell.Bool {
					c.Type = cell.Byte
				}
			}}
		}
	}},

	{"a view follows the table", true, true, func(b *broken) {
		b.view = func(table string) (widecol.View, error) { return b.following(table, func() bool { return true }) }
	}},
	{"a view follows the clock", true, true, func(b *broken) {
		b.view = func(table string) (widecol.View, error) {
			now := b.env.Now()
			return b.following(table, func() bool { return b.env.Now() != now })
		}
	}},

	{"delete lost in one family", true, true, func(b *broken) {
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			n, err := askRow(b.Store, table, row, filter)
			if err == nil && filter.Columns == nil {
				filter.Columns = cell.NewColumns(cell.FamilyRange([]byte("a")), cell.FamilyRange([]byte("z")))
			}
			if err == nil {
				_, err = removeRow(b.Store, table, row, filter, key)
			}
			return n, err
		}
	}},
	{"row delete leaves the groups alone", true, true, func(b *broken) {
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			n, err := askRow(b.Store, table, row, filter)
			if t, terr := b.Table(background, table); err == nil && terr == nil && filter.Columns == nil {
				var ranges []cell.Range
				for _, f := range t.Families {
					if !b.grouped(table, f.Name) {
						ranges = append(ranges, cell.FamilyRange([]byte(f.Name)))
					}
				}
				filter.Columns = cell.NewColumns(ranges...)
			}
			if err == nil {
				_, err = removeRow(b.Store, table, row, filter, key)
			}
			return n, err
		}
	}},
	{"delete hides later writes of older times", true, true, func(b *broken) {
		deleted := make(map[string]int64) // table and row -> time
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			n, err := removeRow(b.Store, table, row, filter, key)
			if err == nil && filter.Columns == nil || n > 0 {
				deleted[table+"/"+row] = b.env.Now()
			}
			return n, err
		}
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			for _, m := range ms {
				if at, ok := deleted[table+"/"+string(m.Row)]; err == nil && ok && m.Time >= 0 && m.Time < at {
					b.removeVersion(table, &m)
				}
			}
			return time, err
		}
		b.dropTable = func(name string) error { clear(deleted); return b.Store.DropTable(background, name) }
	}},
	{"delete counts what had gone", true, true, func(b *broken) {
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			before := b.stored(table)
			_, err := removeRow(b.Store, table, row, filter, key)
			return before - b.stored(table), err
		}
	}},

	{"keys are forgotten", true, true, func(b *broken) { b.key = func(string) string { return "" } }},
	{"keys are forgotten at a restart", true, true, func(b *broken) {
		restarts := 0
		b.key = func(key string) string { return fmt.Sprint(key, restarts) }
		b.subject.Crash = func() (widecol.Store, error) { restarts++; return b, nil }
	}},
	{"of some requests the outcome is unknown, and they are applied when sent again", false, true, func(b *broken) {
		fault, restarts := false, 0
		b.key = func(key string) string { return fmt.Sprint(key, restarts) }
		b.subject.Fault = func() { fault = true }
		b.subject.Crash = func() (widecol.Store, error) {
			if fault {
				fault = false
				restarts++
			}
			return b, nil
		}
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			if fault && err == nil {
				return time, widecol.Errorf(widecol.Unknown, "unknown_outcome", "the sync failed")
			}
			return time, err
		}
	}},
	{"a request is answered by another one with its key", true, true, func(b *broken) {
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			if widecol.KindOf(err) == widecol.KeyReused {
				return 1, nil
			}
			return time, err
		}
	}},
	{"a deletion that finds nothing forgets its key", true, true, func(b *broken) {
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			before := b.Store.Clone()
			n, err := removeRow(b.Store, table, row, filter, key)
			if n == 0 && err == nil {
				b.Store = before
			}
			return n, err
		}
	}},

	{"a table created again has its old rows", true, true, func(b *broken) {
		old := make(map[string][]widecol.Mutation)
		b.dropTable = func(name string) error {
			old[name] = b.contents(name)
			return b.Store.DropTable(background, name)
		}
		b.created = func(name string) { b.Store.Write(background, name, old[name], "") }
	}},
	{"a dropped family is only hidden", true, true, func(b *broken) {
		b.dropFamily = func(table, family string) error {
			all := b.contents(table)
			ofFamily := slices.DeleteFunc(all, func(m widecol.Mutation) bool { return string(m.Family) != family })
			if err := b.Store.DropFamily(background, table, family); err != nil {
				return err
			}
			b.write = func(t string, ms []widecol.Mutation, key string) (int64, error) {
				b.Store.Write(background, table, ofFamily, "") // works once the family exists again
				return b.Store.Write(background, t, ms, key)
			}
			return nil
		}
	}},
	{"settings of a family do not change", true, true, func(b *broken) {
		b.setGC = func(table, family string, gc widecol.GC) error {
			_, err := b.Store.View(background, table)
			return err
		}
	}},

	{"a write stops at the first error", true, true, func(b *broken) {
		b.write = func(table string, ms []widecol.Mutation, key string) (time int64, err error) {
			if len(ms) == 0 || len(ms) > large || key != "" {
				return b.Store.Write(background, table, ms, key)
			}
			for i := range ms {
				time, err = b.Store.Write(background, table, ms[i:i+1], "")
				if err != nil {
					return 0, err.(*widecol.Error).At(i)
				}
			}
			return time, nil
		}
	}},
	{"the first write of a version counts", true, true, func(b *broken) {
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			if key != "" {
				return b.Store.Write(background, table, ms, key)
			}
			kept := slices.DeleteFunc(slices.Clone(ms), func(m widecol.Mutation) bool { return b.has(table, &m) })
			if _, err := b.Store.Clone().Write(background, table, ms, ""); err != nil || len(kept) == 0 {
				return b.Store.Clone().Write(background, table, ms, "")
			}
			return b.Store.Write(background, table, kept, "")
		}
	}},
	{"commit times are the clock's", true, true, func(b *broken) {
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			ms = slices.Clone(ms)
			for i := range ms {
				if ms[i].Time == widecol.CommitTime {
					ms[i].Time = b.env.Now()
				}
			}
			_, err := b.Store.Write(background, table, ms, key)
			return b.env.Now(), err
		}
	}},
	{"a value kept without copying it", true, true, func(b *broken) {
		var late func()
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			if err == nil {
				m := ms[len(ms)-1]
				m.Row, m.Family, m.Qualifier = bytes.Clone(m.Row), bytes.Clone(m.Family), bytes.Clone(m.Qualifier)
				if m.Time == widecol.CommitTime {
					m.Time = time
				}
				late = func() { b.Store.Write(background, table, []widecol.Mutation{m}, "") }
			}
			return time, err
		}
		b.view = func(table string) (widecol.View, error) {
			if late != nil {
				late()
				late = nil
			}
			return b.Store.View(background, table)
		}
	}},

	{"a delete leaves what has gone", true, true, func(b *broken) {
		b.deleteRow = func(table, row string, filter widecol.Filter, key string) (int64, error) {
			n, err := askRow(b.Store, table, row, filter)
			if err != nil || n == 0 {
				return n, err
			}
			return removeRow(b.Store, table, row, filter, key)
		}
	}},
	{"compaction drops the oldest version of a row", true, true, func(b *broken) {
		b.subject.Compact = func() error {
			for _, table := range tableNames {
				if all := b.contents(table); len(all) > 1 && string(all[0].Row) == string(all[1].Row) {
					b.removeVersion(table, &all[1])
				}
			}
			return nil
		}
	}},
	{"reopening forgets the commit time", true, true, func(b *broken) {
		b.subject.Reopen = func() (widecol.Store, error) {
			fresh := memstore.New(memstore.Options{Now: b.env.Now, MaxValue: b.env.MaxValue})
			b.copyTo(fresh)
			b.Store = fresh
			return b, nil
		}
	}},
	{"a crash loses the last write", true, true, func(b *broken) {
		last := b.Store.Clone()
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			last = b.Store.Clone()
			return b.Store.Write(background, table, ms, key)
		}
		b.subject.Crash = func() (widecol.Store, error) {
			b.Store = last.Clone()
			return b, nil
		}
	}},
	{"a failed write is there in part", false, true, func(b *broken) {
		fault := false
		b.subject.Fault = func() { fault = true }
		b.subject.Crash = func() (widecol.Store, error) { fault = false; return b, nil }
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			if fault && len(ms) > 1 {
				b.Store.Write(background, table, ms[:1], "")
				return 0, widecol.Errorf(widecol.Unknown, "unknown_outcome", "the sync failed")
			}
			return b.Store.Write(background, table, ms, key)
		}
	}},
	{"a write that was refused is there", false, true, func(b *broken) {
		fault := false
		b.subject.Fault = func() { fault = true }
		b.subject.Crash = func() (widecol.Store, error) { fault = false; return b, nil }
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			if fault && err == nil {
				return 0, widecol.Errorf(widecol.DiskFull, "disk_full", "the disk is full")
			}
			return time, err
		}
	}},
	{"a write is read before it is durable, and lost", false, true, func(b *broken) {
		var durable *memstore.Store
		b.subject.Fault = func() { durable = b.Store.Clone() }
		b.subject.Crash = func() (widecol.Store, error) {
			if durable != nil {
				b.Store, durable = durable, nil
			}
			return b, nil
		}
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			time, err := b.Store.Write(background, table, ms, key)
			if durable != nil && err == nil {
				return time, widecol.Errorf(widecol.Unknown, "unknown_outcome", "the sync failed")
			}
			return time, err
		}
	}},
	{"a write is read before it is acknowledged", false, true, func(b *broken) {
		var h writeHold
		b.subject.Hold = h.hold
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			defer h.pass()
			return b.Store.Write(background, table, ms, key)
		}
	}},
	{"of writes at once, a crash keeps a part", false, true, func(b *broken) {
		var h writeHold
		b.subject.Hold = h.hold
		crashed := false
		b.subject.Crash = func() (widecol.Store, error) {
			crashed = true
			h.release()
			return b, nil
		}
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			crashed = false
			h.pass()
			if crashed && len(ms) > 1 {
				ms = ms[:1]
			}
			return b.Store.Write(background, table, ms, key)
		}
	}},
	{"an answer that is read in parts ends at a write", false, true, func(b *broken) {
		writes := 0
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			writes++
			return b.Store.Write(background, table, ms, key)
		}
		b.rows = func(r widecol.Rows) widecol.Rows {
			begun := writes
			return &cutRows{r, func() bool { return writes != begun }}
		}
	}},
	{"the store finds damage itself", false, true, func(b *broken) {
		b.subject.Verify = func() error {
			if b.stored("t") > 0 {
				return errors.New("a cell is damaged")
			}
			return nil
		}
	}},
	{"a query panics", false, true, func(b *broken) {
		b.query = func(q *widecol.Query) {
			if q.Sample == 0.29 {
				panic("0.29")
			}
		}
	}},
	{"a query does not let its caller interrupt it", true, false, func(b *broken) {
		b.query = func(q *widecol.Query) { q.Yield = nil }
	}},
	{"a write is seen in part", true, false, func(b *broken) {
		b.write = func(table string, ms []widecol.Mutation, key string) (int64, error) {
			for i := 0; i < len(ms)-1 && len(ms) <= large; i++ {
				b.Store.Write(background, table, ms[i:i+1], "")
				runtime.Gosched()
			}
			return b.Store.Write(background, table, ms, key)
		}
	}},
}

// changeTree makes each query use a copy of its filter tree, of which each filter is changed.
func (b *broken) changeTree(change func(f *widecol.RowFilter)) {
	var changed func(f *widecol.RowFilter) *widecol.RowFilter
	changed = func(f *widecol.RowFilter) *widecol.RowFilter {
		if f == nil {
			return nil
		}
		c := *f
		c.If, c.Then, c.Else, c.Filters = changed(f.If), changed(f.Then), changed(f.Else), nil
		for _, sub := range f.Filters {
			c.Filters = append(c.Filters, changed(sub))
		}
		change(&c)
		return &c
	}
	b.query = func(q *widecol.Query) { q.RowFilter = changed(q.RowFilter) }
}

// withoutCopies drops cells that come again.
type withoutCopies struct {
	widecol.Rows
	kept []cell.Cell
}

func (r *withoutCopies) Next() bool {
	if !r.Rows.Next() {
		return false
	}
	r.kept = slices.CompactFunc(slices.Clone(r.Rows.Cells()), func(a, b cell.Cell) bool {
		return bytes.Equal(a.Column, b.Column) && a.Time == b.Time
	})
	return true
}

func (r *withoutCopies) Cells() []cell.Cell { return r.kept }
func (r *withoutCopies) Labels() []string   { return r.Rows.Labels()[:len(r.kept)] }

// limitedChunks returns at most some cells of each chunk.
type limitedChunks struct {
	widecol.Rows
	most int
}

func (r *limitedChunks) Cells() []cell.Cell {
	cells := r.Rows.Cells()
	return cells[:min(len(cells), r.most)]
}

func (r *limitedChunks) Labels() []string { return nil }

type noLabels struct{ widecol.Rows }

func (noLabels) Labels() []string { return nil }

// cutRows is a result that ends early.
type cutRows struct {
	widecol.Rows
	cut func() bool
}

func (r *cutRows) Next() bool { return !r.cut() && r.Rows.Next() }

// blockRows is the number of rows of what stands for a block.
const blockRows = 3

// after changes the queries that go on behind a page.
func (b *broken) after(change func(q *widecol.Query)) {
	b.query = func(q *widecol.Query) {
		if q.After != nil && q.After.Row != nil {
			after := *q.After
			q.After = &after
			change(q)
		}
	}
}

// more changes what is said about what comes behind an answer of some rows.
func (b *broken) more(change func(q *widecol.Query, rows int64, more *bool)) {
	var last widecol.Query
	b.query = func(q *widecol.Query) { last = *q }
	b.rows = func(r widecol.Rows) widecol.Rows {
		q := last
		return changedMore{r, func(more *bool) { change(&q, r.Stats().Rows, more) }}
	}
}

type changedMore struct {
	widecol.Rows
	change func(more *bool)
}

func (r changedMore) More() (widecol.Position, bool) {
	p, more := r.Rows.More()
	r.change(&more)
	return p, more
}

// reverse plants a bug that changes the reverse queries of a view.
func (b *broken) reverse(change func(v widecol.View, q *widecol.Query)) {
	b.view = func(table string) (widecol.View, error) {
		v, err := b.Store.View(background, table)
		return &changedReverse{v, change}, err
	}
}

type changedReverse struct {
	widecol.View
	change func(v widecol.View, q *widecol.Query)
}

func (v *changedReverse) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	c := *q
	if q.Reverse {
		v.change(v.View, &c)
	}
	return v.View.Scan(ctx, &c)
}

// rowsOf returns the keys of the rows that a query returns.
func rowsOf(v widecol.View, q *widecol.Query) (rows []widecol.RowRange) {
	a, _ := ask(background, v, q, all)
	last := ""
	for _, version := range a.versions {
		if version.row != last {
			last = version.row
			rows = append(rows, widecol.KeyRange([]byte(last)))
		}
	}
	return rows
}

// turnedCells has the cells of each chunk in the other order.
type turnedCells struct{ widecol.Rows }

func (r turnedCells) Cells() []cell.Cell {
	cells := slices.Clone(r.Rows.Cells())
	slices.Reverse(cells)
	return cells
}

// lateSelection applies the limit on versions of a column before times and value.
type lateSelection struct{ widecol.View }

func (v *lateSelection) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	if q.ColumnCellLimit < 0 || q.Times == widecol.AllTimes {
		return v.View.Scan(ctx, q)
	}
	newest := widecol.NewQuery()
	newest.Rows, newest.Filter, newest.ColumnCellLimit, newest.RowLimit = q.Rows, q.Filter, q.ColumnCellLimit, 1
	a, err := ask(ctx, v.View, &newest, -1)
	if err != nil {
		return nil, err
	}
	c := *q
	if len(a.versions) > 0 && !q.Times.Contains(a.versions[0].time) {
		c.RowLimit = 0
	}
	return v.View.Scan(ctx, &c)
}

// earlyOffset applies the offset to the rows before the filter.
type earlyOffset struct{ widecol.View }

func (v *earlyOffset) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	all := widecol.NewQuery()
	all.Rows, all.Offset, all.RowLimit = q.Rows, q.Offset, 1
	if q.Offset == 0 || len(q.Filter.Families) == 0 {
		return v.View.Scan(ctx, q)
	}
	a, err := ask(ctx, v.View, &all, -1)
	if err != nil {
		return nil, err
	}
	c := *q
	if c.Offset = 0; len(a.versions) > 0 {
		c.Rows = rowsFrom(q.Rows, []byte(a.versions[0].row))
	} else {
		c.RowLimit = 0
	}
	return v.View.Scan(ctx, &c)
}

// rowsFrom returns the rows of a set from start on.
func rowsFrom(rows widecol.RowSet, start []byte) (rest widecol.RowSet) {
	for _, r := range rows {
		if r.End != nil && bytes.Compare(r.End, start) <= 0 {
			continue
		}
		if bytes.Compare(r.Start, start) < 0 {
			r.Start = start
		}
		rest = append(rest, r)
	}
	return rest
}

// following returns a view that becomes a new view before a scan if replace returns true.
func (b *broken) following(table string, replace func() bool) (widecol.View, error) {
	v, err := b.Store.View(background, table)
	return &follower{View: v, b: b, table: table, replace: replace}, err
}

type follower struct {
	widecol.View
	b       *broken
	table   string
	replace func() bool
}

func (v *follower) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	if v.replace() {
		if fresh, err := v.b.Store.View(ctx, v.table); err == nil {
			v.View = fresh
		}
	}
	return v.View.Scan(ctx, q)
}

type alwaysFirst struct{ widecol.Rows }

func (alwaysFirst) First() bool { return true }

// atMost ends a result after some chunks.
type atMost struct {
	widecol.Rows
	left int
}

func (r *atMost) Next() bool { r.left--; return r.left >= 0 && r.Rows.Next() }

type freeValues struct{ widecol.Rows }

func (r freeValues) Stats() widecol.Stats {
	s := r.Rows.Stats()
	s.BytesScanned -= 3 * s.CellsScanned
	return s
}

func askRow(s widecol.Store, table, row string, filter widecol.Filter) (int64, error) {
	a, err := askStore(s, table, asking(func(q *widecol.Query) { q.SetKey([]byte(row)); q.Filter = filter }))
	return int64(len(a.versions)), err
}

// removeVersion removes one version from a table.
func (b *broken) removeVersion(table string, doomed *widecol.Mutation) {
	row := asking(func(q *widecol.Query) { q.SetKey(doomed.Row) })
	a, err := askStore(b.Store, table, row)
	if err != nil {
		return
	}
	removeRow(b.Store, table, string(doomed.Row), widecol.Filter{}, "")
	for _, v := range a.versions {
		if v.family != string(doomed.Family) || v.qualifier != string(doomed.Qualifier) || v.time != doomed.Time {
			b.Store.Write(background, table, []widecol.Mutation{v.mutation()}, "")
		}
	}
}

// stored counts the versions of a table, garbage included.
func (b *broken) stored(table string) int64 {
	t, _ := b.Store.Table(background, table)
	n := int64(0)
	for _, p := range t.Partitions {
		n += int64(p.Stats.Cells)
	}
	return n
}

// copyTo creates the same tables in another store.
func (b *broken) copyTo(s widecol.Store) {
	tables, _ := b.Store.Tables(background)
	for _, t := range tables {
		spec := widecol.TableSpec{Families: t.Families}
		for _, g := range t.Groups {
			spec.Groups = append(spec.Groups, g.Families)
		}
		s.CreateTable(background, t.Name, spec)
		s.Write(background, t.Name, b.contents(t.Name), "")
	}
}

// openBroken opens a memstore with a bug and the hooks that the bug needs.
func openBroken(plant func(b *broken)) Open {
	return func(env *Env) (*Subject, error) {
		b := &broken{Store: memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue}), env: env}
		b.subject = &Subject{Store: b}
		plant(b)
		return b.subject, nil
	}
}

// TestRandomFindsBugs: Random finds each bug. What it finds of every fourth is also shrunk, which takes far longer.
func TestRandomFindsBugs(t *testing.T) {
	const seeds, ops, most, shrunkEvery = 20, 1000, 11, 4
	for i, bug := range slices.Concat(bugs, updateBugs, moveBugs, adviceBugs) {
		if !bug.random {
			continue
		}
		t.Run(bug.name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				_, f := Try(openBroken(bug.plant), seed, ops)
				if f == nil {
					continue
				}
				if i%shrunkEvery != 0 {
					t.Log(f)
					return
				}
				report := f.Shrunk()
				_, shrunk, again := strings.Cut(report, "shrunk from ")
				if !again {
					continue // the failure needs concurrent writes in an order that did not come again
				}
				n := 0
				if _, err := fmt.Sscanf(shrunk, "%d to %d", new(int), &n); err != nil || n > most {
					t.Errorf("%d operations are left after shrinking (%v), want at most %d", n, err, most)
				}
				t.Log(report)
				return
			}
			t.Errorf("%d seeds with %d operations have not found it", seeds, ops)
		})
	}
}

// largeCases are the names of cases with many cells.
var largeCases = []string{
	"a row of many cells comes whole", "a filter tree sees a large row whole", "pages: of a wide row, over blocks and partitions",
	"all limits together, against the model", "an aggregate of many rows is that of the model",
}

func TestRunFindsBugs(t *testing.T) {
	all := promisedBy(widecol.Capabilities{TableSnapshot: true})
	// The few large cases take ten times as long as all others together, so they come last.
	slices.SortStableFunc(all, func(a, b testCase) int { return slices.Index(largeCases, a.name) - slices.Index(largeCases, b.name) })
	for _, bug := range slices.Concat(bugs, updateBugs, moveBugs, adviceBugs) {
		if !bug.suite {
			continue
		}
		t.Run(bug.name, func(t *testing.T) {
			open := openBroken(bug.plant)
			env, _ := newEnv(0)
			probe := mustOpen(t, open, env)
			for _, m := range modes {
				for _, c := range all {
					if !m.possible(probe) {
						continue
					}
					if failures := failuresOf(t, &c, open, m); len(failures) > 0 {
						t.Logf("%s: %s: %s", m.name, c.name, failures[0])
						return
					}
				}
			}
			t.Error("no case has found it")
		})
	}
}

// failuresOf runs a case and returns its failures, without failing t.
func failuresOf(t *testing.T, c *testCase, open Open, m mode) []string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		c.run(r, open, m)
	}()
	<-done
	return r.failures
}

// recorder is a testing.TB that records failures and does not report them.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Error(args ...any)                 { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
