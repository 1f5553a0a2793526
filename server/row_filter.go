package server

import (
	"math"
	"strings"

	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/widecol"
)

// Limits on filter trees, besides those of widecol.
const (
	// maxFilters bounds the filters of a tree. The smallest has five bytes as a message.
	maxFilters      = widecol.MaxFilterBytes / 5
	maxFiltersInAll = 1 << 16 // in a request
	maxStepsInAll   = 1 << 20 // of the patterns in a request: a small body can have many that are large
	filterMemory    = 512     // bytes of a filter, without its text
)

// rowFilter is the shape of a filter tree: the JSON of google.bigtable.v2.RowFilter, with the names of its fields as
// they are in the message, and bytes as everywhere. The tree keeps parts of the body.
var rowFilter = value((*decoder).rowFilter, named("RowFilter", filterFields.schema().and("minProperties", 1)))

func (d *decoder) rowFilter() *widecol.RowFilter {
	f := new(widecol.RowFilter)
	d.filterTree(func() { filterFields.read(d, f) })
	d.checkFilter(f)
	return f
}

// filterTree reads a tree with read, which reads its root.
func (d *decoder) filterTree(read func()) {
	d.most = d.filters + maxFilters
	d.SetMaxDepth(strictjson.MostDepth)
	d.countFilter()
	read()
	d.SetMaxDepth(strictjson.MaxDepth)
}

// checkFilter refuses a tree that was read last if it breaks a rule.
func (d *decoder) checkFilter(f *widecol.RowFilter) {
	if d.Err() != nil {
		return
	}
	steps, err := f.CheckedSteps()
	if err != nil {
		d.FailBelow(strings.TrimPrefix(err.Path, "filter"), err.Code, "%s", err.Message)
		return
	}
	if d.steps += steps; d.steps > maxStepsInAll {
		d.Fail("too_many_filters", "the regular expressions of the request have more than %d steps in all, with repetitions counted as often as they can occur", maxStepsInAll)
	}
}

// countFilter counts a filter of the request.
func (d *decoder) countFilter() {
	switch d.filters++; {
	case d.filters > maxFiltersInAll:
		d.Fail("too_many_filters", "the filters of the request have more than %d parts", maxFiltersInAll)
	case d.filters > d.most:
		d.Fail("invalid_filter", "the filter has more than %d bytes as a message", widecol.MaxFilterBytes)
	}
}

// filterFields are the fields of a filter, of which it has one.
var filterFields = fields[widecol.RowFilter]{
	filterOp(widecol.Chain, filterList.object().as(filterList.schema().and("required", []string{"filters"}))),
	filterOp(widecol.Interleave, filterList.object().as(filterList.schema().and("required", []string{"filters"}))),
	filterOp(widecol.Condition, filterCondition.object().as(filterCondition.schema().and("required", []string{"predicate_filter"}))),
	filterOp(widecol.Sink, filterTrue),
	filterOp(widecol.PassAll, filterTrue),
	filterOp(widecol.BlockAll, filterTrue),
	filterOp(widecol.RowKeyRegex, filterPattern),
	filterOp(widecol.RowSample, to(filterSample, func(f *widecol.RowFilter) *float64 { return &f.P })),
	filterOp(widecol.FamilyRegex, shape[widecol.RowFilter]{func(d *decoder, f *widecol.RowFilter) { f.Pattern = d.Text() }, textSchema}),
	filterOp(widecol.QualifierRegex, filterPattern),
	filterOp(widecol.ColumnRange, append(filterRange("qualifier"), field[widecol.RowFilter]{"family_name", required, to(newFamilyName, func(f *widecol.RowFilter) *string { return &f.Family })}).object()),
	filterOp(widecol.TimestampRange, filterTimes.object().then(endOfTimes)),
	filterOp(widecol.ValueRegex, filterPattern),
	filterOp(widecol.ValueRange, filterRange("value").object()),
	filterOp(widecol.RowOffset, filterNumber(0)),
	filterOp(widecol.RowLimit, filterNumber(1)),
	filterOp(widecol.ColumnLimit, filterNumber(1)),
	filterOp(widecol.StripValue, filterTrue),
	filterOp(widecol.ApplyLabel, to(text.as(schema{"type": "string", "pattern": "^[a-z0-9-]{1,15}$"}), func(f *widecol.RowFilter) *string { return &f.Label })),
}

// filterOp declares the field that says what a filter does.
func filterOp(op widecol.FilterOp, s shape[widecol.RowFilter]) field[widecol.RowFilter] {
	return field[widecol.RowFilter]{op.String(), choice, shape[widecol.RowFilter]{func(d *decoder, f *widecol.RowFilter) {
		f.Op = op
		s.read(d, f)
	}, s.schema}}
}

var filterNode = value((*decoder).filterNode, reference("RowFilter"))

// filterNode reads a filter within a tree, and those below it.
func (d *decoder) filterNode() *widecol.RowFilter {
	f := new(widecol.RowFilter)
	d.countFilter()
	readFilter(d, f)
	return f
}

// readFilter is filterFields.read: the fields of filters that have filters refer to it, and cannot to themselves.
var readFilter func(*decoder, *widecol.RowFilter)

func init() { readFilter = filterFields.read }

var filterList = fields[widecol.RowFilter]{
	{"filters", optional, to(listOf(filterNode), func(f *widecol.RowFilter) *[]*widecol.RowFilter { return &f.Filters })},
}

var filterCondition = fields[widecol.RowFilter]{
	{"predicate_filter", optional, to(filterNode, func(f *widecol.RowFilter) **widecol.RowFilter { return &f.If })},
	{"true_filter", optional, to(filterNode, func(f *widecol.RowFilter) **widecol.RowFilter { return &f.Then })},
	{"false_filter", optional, to(filterNode, func(f *widecol.RowFilter) **widecol.RowFilter { return &f.Else })},
}

var filterTrue = shape[widecol.RowFilter]{func(d *decoder, f *widecol.RowFilter) { f.False = !d.Bool() }, schema{"const": true}}

var filterPattern = to(bytesShape, func(f *widecol.RowFilter) *[]byte { return &f.Pattern })

func filterNumber(least int64) shape[widecol.RowFilter] {
	n := value(func(d *decoder) int64 { return d.integer(least, math.MaxInt32) }, integerSchema(least, math.MaxInt32))
	return to(n, func(f *widecol.RowFilter) *int64 { return &f.N })
}

var filterSample = value((*decoder).filterSample, schema{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})

func (d *decoder) filterSample() float64 {
	raw := d.Number()
	if raw == nil {
		return 0
	}
	p, ok := strictjson.Float64(raw)
	if !ok || p <= 0 || p >= 1 {
		d.Fail(outOfRange, "value must be above 0 and below 1")
	}
	return p
}

// filterRange are the bounds of a range of qualifiers, or of values: one start and one end.
func filterRange(of string) fields[widecol.RowFilter] {
	start := func(f *widecol.RowFilter) *widecol.Bound { return &f.Start }
	end := func(f *widecol.RowFilter) *widecol.Bound { return &f.End }
	return fields[widecol.RowFilter]{
		{"start_" + of + "_closed", optional, to(filterBound(widecol.Included), start)},
		{"start_" + of + "_open", optional, to(filterBound(widecol.Excluded), start)},
		{"end_" + of + "_closed", optional, to(filterBound(widecol.Included), end)},
		{"end_" + of + "_open", optional, to(filterBound(widecol.Excluded), end)},
	}
}

func filterBound(kind widecol.BoundKind) shape[widecol.Bound] {
	return shape[widecol.Bound]{func(d *decoder, b *widecol.Bound) {
		if b.Kind != widecol.Unbounded {
			d.Fail(conflictingFields, "a range has one start and one end")
		}
		b.Kind, b.Value = kind, d.bytes()
	}, anyBytes}
}

// filterTimes are a range of times, whose end is not in it and 0 is none.
var filterTimes = fields[widecol.RowFilter]{
	{"start_timestamp_micros", optional, to(count, func(f *widecol.RowFilter) *int64 { return &f.Times.Start })},
	{"end_timestamp_micros", optional, to(count, func(f *widecol.RowFilter) *int64 { return &f.Times.End })},
}

func endOfTimes(_ *decoder, f *widecol.RowFilter) {
	if f.Times.End == 0 {
		f.Times.End = widecol.AllTimes.End
	}
}
