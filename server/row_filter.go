package server

import (
	"math"
	"strings"

	"colonnade/server/strictjson"
	"colonnade/widecol"
)

// Limits on filter trees, besides those of widecol.
const (
	// maxFilters bounds the filters of a tree. The smallest has five bytes as a message.
	maxFilters      = widecol.MaxFilterBytes / 5
	maxFiltersInAll = 1 << 16 // in a request
	filterMemory    = 512     // bytes of a filter, without its text
)

// rowFilter reads a filter tree: the JSON of google.bigtable.v2.RowFilter, with the names of its fields as
// they are in the message, and bytes as everywhere. The tree keeps parts of the body.
func (d *decoder) rowFilter() *widecol.RowFilter {
	return d.rowFilterOr(func() bool { return false })
}

// rowFilterOr is rowFilter for an object that may have another field, which is for other to read: it reports whether
// the field that Key stepped to is one. With such a field there is no filter.
func (d *decoder) rowFilterOr(other func() bool) *widecol.RowFilter {
	most := d.filters + maxFilters
	f, others := new(widecol.RowFilter), false
	d.SetMaxDepth(strictjson.MostDepth)
	d.countFilter(most)
	d.Object()
	for d.Key() {
		switch {
		case !other():
			d.filterField(f, most)
		case f.Op != 0:
			d.Fail(conflictingFields, "%s and %s exclude each other", f.Op, d.Name())
		default:
			others = true
		}
		if others && f.Op != 0 {
			d.Fail(conflictingFields, "a filter excludes other fields")
		}
	}
	d.SetMaxDepth(strictjson.MaxDepth)
	if d.Err() != nil || others {
		return nil
	}
	if err := f.Check(); err != nil {
		d.FailBelow(strings.TrimPrefix(err.Path, "filter"), err.Code, "%s", err.Message)
	}
	return f
}

// countFilter counts a filter of the request. most bounds d.filters.
func (d *decoder) countFilter(most int) {
	switch d.filters++; {
	case d.filters > maxFiltersInAll:
		d.Fail("too_many_filters", "the filters of the request have more than %d parts", maxFiltersInAll)
	case d.filters > most:
		d.Fail("invalid_filter", "the filter has more than %d bytes as a message", widecol.MaxFilterBytes)
	}
}

// filterNode reads a filter and those below it.
func (d *decoder) filterNode(most int) *widecol.RowFilter {
	f := new(widecol.RowFilter)
	d.countFilter(most)
	d.Object()
	for d.Key() {
		d.filterField(f, most)
	}
	return f
}

// filterField reads the field of a filter that Key stepped to.
func (d *decoder) filterField(f *widecol.RowFilter, most int) {
	op := widecol.FilterOpOf(string(d.Name()))
	switch {
	case op == 0:
		d.unknown()
	case f.Op != 0:
		d.Fail(conflictingFields, "%s and %s exclude each other", f.Op, op)
	default:
		f.Op = op
		d.filterValue(f, most)
	}
}

// filterValue reads the value of the field that says what a filter does.
func (d *decoder) filterValue(f *widecol.RowFilter, most int) {
	switch f.Op {
	case widecol.Chain, widecol.Interleave:
		f.Filters = d.filterList(most)
	case widecol.Condition:
		d.filterCondition(f, most)
	case widecol.Sink, widecol.PassAll, widecol.BlockAll, widecol.StripValue:
		f.False = !d.Bool()
	case widecol.RowKeyRegex, widecol.QualifierRegex, widecol.ValueRegex:
		f.Pattern = d.bytes()
	case widecol.FamilyRegex:
		f.Pattern = d.Text()
	case widecol.RowSample:
		f.P = d.filterSample()
	case widecol.RowOffset:
		f.N = d.integer(0, math.MaxInt32)
	case widecol.RowLimit, widecol.ColumnLimit:
		f.N = d.integer(1, math.MaxInt32)
	case widecol.ColumnRange:
		d.filterRange(f, "qualifier")
	case widecol.ValueRange:
		d.filterRange(f, "value")
	case widecol.TimestampRange:
		d.filterTimes(f)
	case widecol.ApplyLabel:
		f.Label = string(d.Text())
	}
}

func (d *decoder) filterList(most int) (filters []*widecol.RowFilter) {
	d.Object()
	for d.Key() {
		if string(d.Name()) != "filters" {
			d.unknown()
			continue
		}
		d.Array()
		for d.Next() {
			filters = append(filters, d.filterNode(most))
		}
	}
	return filters
}

func (d *decoder) filterCondition(f *widecol.RowFilter, most int) {
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "predicate_filter":
			f.If = d.filterNode(most)
		case "true_filter":
			f.Then = d.filterNode(most)
		case "false_filter":
			f.Else = d.filterNode(most)
		default:
			d.unknown()
		}
	}
}

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

// filterRange reads a range of qualifiers of a family, or of values.
func (d *decoder) filterRange(f *widecol.RowFilter, of string) {
	family := f.Op == widecol.ValueRange // no family is needed
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); name {
		case "start_" + of + "_closed":
			d.filterBound(&f.Start, widecol.Included)
		case "start_" + of + "_open":
			d.filterBound(&f.Start, widecol.Excluded)
		case "end_" + of + "_closed":
			d.filterBound(&f.End, widecol.Included)
		case "end_" + of + "_open":
			d.filterBound(&f.End, widecol.Excluded)
		case "family_name":
			if f.Op != widecol.ColumnRange {
				d.unknown()
				continue
			}
			family = true
			f.Family = string(d.Text())
			d.failOn(widecol.CheckFamilyName(f.Family))
		default:
			d.unknown()
		}
	}
	d.require(family, "family_name")
}

func (d *decoder) filterBound(b *widecol.Bound, kind widecol.BoundKind) {
	if b.Kind != widecol.Unbounded {
		d.Fail(conflictingFields, "a range has one start and one end")
	}
	b.Kind, b.Value = kind, d.bytes()
}

// filterTimes reads a range of times, whose end is not in it and 0 is none.
func (d *decoder) filterTimes(f *widecol.RowFilter) {
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "start_timestamp_micros":
			f.Times.Start = d.limit()
		case "end_timestamp_micros":
			f.Times.End = d.limit()
		default:
			d.unknown()
		}
	}
	if f.Times.End == 0 {
		f.Times.End = widecol.AllTimes.End
	}
}
