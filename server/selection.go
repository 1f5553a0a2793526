package server

import (
	"bytes"
	"maps"
	"slices"

	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/widecol"
)

// selection is what a scan, a count or an aggregate selects.
type selection struct {
	query  widecol.Query
	column columnFilter
	page   page // of a scan

	explain explainMode
}

func newSelection() selection {
	return selection{query: widecol.NewQuery(), column: columnFilter{limit: widecol.NoLimit}}
}

// selectionFields are the fields of a selection, by those of row and cell.
func selectionFields(row fields[selection], cell fields[widecol.Query]) fields[selection] {
	return fields[selection]{
		{"row", optional, row.object()},
		{"column", optional, shape[selection]{func(d *decoder, s *selection) {
			limitedColumnsShape.read(d, &s.column)
			s.query.Filter, s.query.ColumnCellLimit = s.column.Filter, s.column.limit
		}, limitedColumnsShape.schema}},
		{"cell", optional, to(cell.object(), (*selection).ofQuery)},
		{"filter", optional, to(rowFilter, func(s *selection) **widecol.RowFilter { return &s.query.RowFilter })},
		{"explain", optional, to(explainShape, func(s *selection) *explainMode { return &s.explain })},
	}
}

func (s *selection) ofQuery() *widecol.Query { return &s.query }

// What a count or an aggregate selects has no order, no pages, and no cells to return. What a scan selects has.
var (
	rowFields = append(rowSources(choice, func(q *widecol.Query, _ string, rows []widecol.RowRange) { q.Rows = widecol.NewRowSet(rows...) }), rowLimits...)
	rowLimits = fields[widecol.Query]{
		{"limit", optional, to(count, func(q *widecol.Query) *int64 { return &q.RowLimit })},
		{"offset", optional, to(count, func(q *widecol.Query) *int64 { return &q.Offset })},
		{"cell_limit", optional, to(count, func(q *widecol.Query) *int64 { return &q.RowCellLimit })},
		{"sample", optional, to(sample, func(q *widecol.Query) *float64 { return &q.Sample })},
	}
	cellFields = fields[widecol.Query]{
		{"time", optional, to(timeRange, func(q *widecol.Query) *widecol.TimeRange { return &q.Times })},
		{"value", optional, to(valueFilterShape, func(q *widecol.Query) **widecol.ValueFilter { return &q.Value })},
	}
	answeredCellFields = append(cellFields[:len(cellFields):len(cellFields)], fields[widecol.Query]{
		{"limit", optional, to(count, func(q *widecol.Query) *int64 { return &q.CellLimit })},
		{"strip_value", optional, to(boolean, func(q *widecol.Query) *bool { return &q.KeysOnly })},
	}...)

	countFields = selectionFields(within(rowFields, (*selection).ofQuery), cellFields)
)

const (
	maxRowRanges      = 16_384  // keys and ranges of a selection
	maxRowRangesInAll = 1 << 18 // of a request, without those of fields key and prefix
	rowRangeMemory    = 128     // bytes of a range, without the text of its bounds
)

// rowSources are the fields that select rows. set gets the name of the field.
func rowSources[T any](n need, set func(v *T, source string, rows []widecol.RowRange)) fields[T] {
	source := func(name string, s schema, read func(*decoder) []widecol.RowRange) field[T] {
		return field[T]{name, n, shape[T]{func(d *decoder, v *T) { set(v, name, read(d)) }, s}}
	}
	key := func(d *decoder) widecol.RowRange { return widecol.KeyRange(d.rowKey()) }
	return fields[T]{
		source("key", rowKeyBytes, func(d *decoder) []widecol.RowRange { return []widecol.RowRange{key(d)} }),
		source("keys", rangesSchema(rowKeyBytes), func(d *decoder) []widecol.RowRange { return d.listOfRanges(key) }),
		source("prefix", anyBytes, func(d *decoder) []widecol.RowRange { return []widecol.RowRange{widecol.PrefixRange(d.bytes())} }),
		source("range", rowRangeSchema, func(d *decoder) []widecol.RowRange { return []widecol.RowRange{d.rowRange()} }),
		source("ranges", rangesSchema(rowRangeSchema), func(d *decoder) []widecol.RowRange { return d.listOfRanges((*decoder).rowRange) }),
	}
}

func rangesSchema(of schema) schema {
	return listSchema(of).and("minItems", 1).and("maxItems", maxRowRanges)
}

func (d *decoder) listOfRanges(read func(*decoder) widecol.RowRange) (ranges []widecol.RowRange) {
	d.Array()
	for d.Next() {
		if len(ranges) == maxRowRanges {
			d.Fail("too_many_rows", "a selection has more than %d keys or ranges", maxRowRanges)
		}
		if d.ranges++; d.ranges > maxRowRangesInAll {
			d.Fail("too_many_rows", "the request has more than %d keys and ranges in lists", maxRowRangesInAll)
		}
		ranges = append(ranges, read(d))
	}
	d.nonEmpty(len(ranges))
	return ranges
}

// rowRange is a range of row keys in a request.
type rowRange struct {
	widecol.RowRange
	exclusive, inclusive bool
}

var rowRangeFields = fields[rowRange]{
	{"start", optional, to(bytesShape, func(r *rowRange) *[]byte { return &r.Start })},
	{"end", optional, to(rowKeyShape, func(r *rowRange) *[]byte { return &r.End })},
	{"exclusive", optional, to(boolean, func(r *rowRange) *bool { return &r.exclusive })},
	{"inclusive", optional, to(boolean, func(r *rowRange) *bool { return &r.inclusive })},
}

var rowRangeSchema = named("RowRange", rowRangeFields.schema())

// rowRange reads a range of row keys. It includes the start unless it is "exclusive", and the end only if
// it is "inclusive".
func (d *decoder) rowRange() widecol.RowRange {
	var r rowRange
	rowRangeFields.read(d, &r)
	r.Start, r.End = bytes.Clone(r.Start), bytes.Clone(r.End)
	if r.exclusive && r.Start == nil {
		d.FailIn("start", missingField, "exclusive needs a start")
	}
	if r.inclusive && r.End == nil {
		d.FailIn("end", missingField, "inclusive needs an end")
	}
	if r.End != nil && bytes.Compare(r.Start, r.End) > 0 {
		d.Fail("invalid_range", "the range starts behind its end")
	}
	if r.exclusive {
		r.Start = append(r.Start, 0)
	}
	if r.inclusive {
		r.End = append(r.End, 0)
	}
	return r.RowRange
}

var sample = value((*decoder).sample, schema{"type": "number", "exclusiveMinimum": 0, "maximum": 1})

// sample reads the fraction of rows to return.
func (d *decoder) sample() float64 {
	raw := d.Number()
	if raw == nil {
		return 1
	}
	f, ok := strictjson.Float64(raw)
	if !ok || f <= 0 || f > 1 {
		d.Fail(outOfRange, "value must be above 0 and at most 1")
	}
	return f
}

var timeFields = fields[widecol.TimeRange]{
	{"start", optional, to(count, func(r *widecol.TimeRange) *int64 { return &r.Start })},
	{"end", optional, to(count, func(r *widecol.TimeRange) *int64 { return &r.End })},
}

// timeRange is the shape of a range of times. A missing bound is open.
var timeRange = value((*decoder).timeRange, named("TimeRange", timeFields.schema()))

func (d *decoder) timeRange() widecol.TimeRange {
	r := widecol.AllTimes
	timeFields.read(d, &r)
	if r.Start > r.End {
		d.Fail("invalid_range", "the range of times starts behind its end")
	}
	return r
}

// comparisons are the operators of a value filter.
var comparisons = func() map[string]widecol.Comparison {
	of := make(map[string]widecol.Comparison)
	for c := widecol.Equal; c <= widecol.GreaterOrEqual; c++ {
		of[c.String()] = c
	}
	return of
}()

// valueFilter is a value filter in a request.
type valueFilter struct {
	widecol.ValueFilter
	value strictjson.Token
}

var valueFilterFields = fields[valueFilter]{
	{"op", required, shape[valueFilter]{func(d *decoder, f *valueFilter) {
		if f.Op = comparisons[string(d.Text())]; f.Op == 0 {
			d.Fail("invalid_operator", "op must be one of =, !=, <, <=, >, >=")
		}
	}, oneOfTexts(slices.Sorted(maps.Keys(comparisons))...)}},
	{"type", required, shape[valueFilter]{func(d *decoder, f *valueFilter) { f.Type = d.cellType() }, typeSchema}},
	{"value", required, shape[valueFilter]{func(d *decoder, f *valueFilter) { f.value = d.Scalar() }, scalarSchema}},
}

var valueFilterShape = value(func(d *decoder) *widecol.ValueFilter {
	var f valueFilter
	valueFilterFields.read(d, &f)
	if d.Err() == nil {
		f.Value = d.x.encodeFor(d, f.Type, f.value)
	}
	return &f.ValueFilter
}, named("ValueFilter", valueFilterFields.schema()))
