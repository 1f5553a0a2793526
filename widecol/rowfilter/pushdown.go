package rowfilter

import (
	"bytes"
	"context"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// maxPushed bounds the ranges of rows or columns that take the place of a filter: the Store looks at each.
const maxPushed = 256

// PushDown returns a query with the same result as q, whose RowFilter is the program's tree, on a table with
// the given families. What narrows the rows, columns and times at the head of the tree is moved into Rows,
// Filter and Times, so that the Store need not read the rest; limits at the end of what is left into the
// limits of the query. The RowFilter of the result is what is left, nil for nothing. parts says what of the tree has
// narrowed the query.
//
// It changes neither q nor the tree.
func (p *Program) PushDown(q *widecol.Query, families []string) (narrow widecol.Query, parts widecol.QueryParts) {
	d := pushDown{query: *q, program: p, families: families}
	left := flat(nil, q.RowFilter)
	head := 0
	var kept []*widecol.RowFilter
	for ; head < len(left); head++ {
		narrows, all := d.push(left[head])
		if !narrows {
			break
		}
		if !all {
			kept = append(kept, left[head])
		}
	}
	left = d.pushLimits(append(kept, left[head:]...))
	switch {
	case len(left) == 0:
		d.query.RowFilter = nil
	case len(left) == 1:
		d.query.RowFilter = left[0]
	case !slices.Equal(left, q.RowFilter.Filters):
		d.query.RowFilter = &widecol.RowFilter{Op: widecol.Chain, Filters: left}
	}
	return d.query, d.parts
}

// flat appends the filters of a chain, and of chains in it.
func flat(fs []*widecol.RowFilter, f *widecol.RowFilter) []*widecol.RowFilter {
	if f.Op != widecol.Chain {
		return append(fs, f)
	}
	for _, sub := range f.Filters {
		fs = flat(fs, sub)
	}
	return fs
}

type pushDown struct {
	query    widecol.Query
	program  *Program
	families []string
	parts    widecol.QueryParts
}

// push narrows the query to what a filter lets through. It returns false if the filter does more than to
// select cells by row key, column and time, so that what comes after it cannot be moved before it. all
// means that the query selects exactly what the filter does.
func (d *pushDown) push(f *widecol.RowFilter) (selects, all bool) {
	switch f.Op {
	case widecol.PassAll:
		return true, true
	case widecol.TimestampRange:
		t := &d.query.Times
		t.Start, t.End = max(t.Start, f.Times.Start), min(t.End, f.Times.End)
		d.parts |= widecol.PartFilterTimes
		return true, true
	case widecol.RowSample:
		return true, false
	case widecol.RowKeyRegex:
		return true, d.pushRows(d.program.patterns[f])
	case widecol.FamilyRegex:
		return true, d.pushFamilies(d.program.patterns[f])
	case widecol.QualifierRegex:
		return true, d.pushQualifiers(d.program.patterns[f])
	case widecol.ColumnRange:
		return true, d.pushColumns(qualifiers(f.Family, f.Start, f.End))
	case widecol.ValueRegex, widecol.ValueRange:
		return true, false
	}
	return false, false
}

func (d *pushDown) pushRows(p *pattern) (all bool) {
	if len(p.starts) == 1 && len(p.starts[0]) == 0 && !p.exact {
		return p.rest
	}
	if len(d.query.Rows) > 1 && len(d.query.Rows)*len(p.starts) > maxPushed {
		return false
	}
	var ranges []widecol.RowRange
	for _, start := range p.starts {
		r := widecol.PrefixRange(start)
		if p.exact {
			r = widecol.KeyRange(start)
		}
		for _, q := range d.query.Rows {
			ranges = append(ranges, widecol.RowRange{Start: later(q.Start, r.Start), End: earlier(q.End, r.End)})
		}
	}
	d.query.Rows = widecol.NewRowSet(ranges...)
	d.parts |= widecol.PartFilterRows
	return p.exact || p.rest
}

func (d *pushDown) pushFamilies(p *pattern) (all bool) {
	var ranges []cell.Range
	e := &Eval{ctx: context.Background()}
	for _, family := range d.families {
		if e.match(p, []byte(family)) {
			ranges = append(ranges, cell.FamilyRange([]byte(family)))
		}
	}
	return d.pushColumns(ranges...)
}

func (d *pushDown) pushQualifiers(p *pattern) (all bool) {
	if len(p.starts) == 1 && len(p.starts[0]) == 0 && !p.exact {
		return p.rest
	}
	var ranges []cell.Range
	for _, family := range d.families {
		if !d.query.Filter.Columns.Overlaps([]byte(family)) {
			continue
		}
		for _, start := range p.starts {
			column := cell.AppendColumn(nil, []byte(family), start)
			if p.exact {
				ranges = append(ranges, cell.ColumnRange([]byte(family), start))
			} else {
				ranges = append(ranges, cell.PrefixRange(column))
			}
		}
		if len(ranges) > maxPushed {
			return false
		}
	}
	return d.pushColumns(ranges...) && (p.exact || p.rest)
}

// qualifiers returns the range of the columns of a family whose qualifiers are within bounds.
func qualifiers(family string, start, end widecol.Bound) cell.Range {
	r := cell.FamilyRange([]byte(family))
	r.Start = cell.AppendColumn(nil, []byte(family), start.Value)
	if start.Kind == widecol.Excluded {
		r.Start = append(r.Start, 0)
	}
	if end.Kind != widecol.Unbounded {
		r.End = cell.AppendColumn(nil, []byte(family), end.Value)
	}
	if end.Kind == widecol.Included {
		r.End = append(r.End, 0)
	}
	return r
}

// pushColumns narrows the columns of the query to those in any of the ranges, if there are not too many.
func (d *pushDown) pushColumns(ranges ...cell.Range) (all bool) {
	before := d.query.Filter.Columns
	if before == nil {
		before = cell.NewColumns(cell.Range{})
	}
	ranges = cell.NewColumns(ranges...).Ranges()
	var both []cell.Range
	for _, a := range before.Ranges() {
		for _, b := range ranges {
			r := cell.Range{Start: later(a.Start, b.Start), End: earlier(a.End, b.End)}
			if r.End == nil || bytes.Compare(r.Start, r.End) < 0 {
				both = append(both, r)
			}
		}
		if len(both) > maxPushed && len(both) > len(before.Ranges()) {
			return false
		}
	}
	d.query.Filter.Columns = cell.NewColumns(both...)
	d.parts |= widecol.PartFilterColumns
	return true
}

func later(a, b []byte) []byte {
	if bytes.Compare(a, b) >= 0 {
		return a
	}
	return b
}

// earlier returns the lower of two ends, of which nil is the highest.
func earlier(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// pushLimits moves limits at the end of a chain into the query, if they do the same there, and nothing is
// left before them but filters that make no copies for a sink. The query limits columns, then rows.
func (d *pushDown) pushLimits(left []*widecol.RowFilter) []*widecol.RowFilter {
	q := &d.query
	if slices.ContainsFunc(left, func(f *widecol.RowFilter) bool { return has(f, widecol.Sink) }) {
		return left
	}
	if last := len(left) - 1; last >= 0 && left[last].Op == widecol.RowLimit && q.ColumnCellLimit == widecol.NoLimit {
		q.RowCellLimit = lower(q.RowCellLimit, left[last].N)
		d.parts |= widecol.PartFilterLimits
		left = left[:last]
	}
	if last := len(left) - 1; last >= 0 && left[last].Op == widecol.ColumnLimit {
		q.ColumnCellLimit = lower(q.ColumnCellLimit, left[last].N)
		d.parts |= widecol.PartFilterLimits
		left = left[:last]
	}
	return left
}

// lower returns the lower of two limits, of which NoLimit is the highest.
func lower(a, b int64) int64 {
	if a == widecol.NoLimit {
		return b
	}
	return min(a, b)
}
