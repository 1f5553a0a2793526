package server

import (
	"bytes"

	"colonnade/cell"
	"colonnade/server/strictjson"
	"colonnade/widecol"
)

// selection is what a scan or a count selects.
type selection struct {
	query  widecol.Query
	column columnFilter
	page   page // of a scan
}

func newSelection() selection {
	return selection{query: widecol.NewQuery(), column: columnFilter{limit: widecol.NoLimit}}
}

// decodeSelection reads the body of a scan, or of a count, which returns no cells.
func (x *requestContext) decodeSelection(d *decoder, s *selection, cells bool) {
	x.decodeSelectionAnd(d, s, cells, d.unknown)
}

// decodeSelectionAnd reads a body that has more fields than a selection. It calls more for each of them.
func (x *requestContext) decodeSelectionAnd(d *decoder, s *selection, cells bool, more func()) {
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); {
		case name == "row":
			d.rowSelection(s, cells)
		case name == "column":
			s.column = d.columnFilter(true)
		case name == "cell":
			x.decodeCellSelection(d, &s.query, cells)
		case name == "filter":
			s.query.RowFilter = d.rowFilter()
		default:
			more()
		}
	}
	s.query.Filter, s.query.ColumnCellLimit = s.column.Filter, s.column.limit
}

const (
	maxRowRanges      = 16_384  // keys and ranges of a selection
	maxRowRangesInAll = 1 << 18 // of a request, without those of fields key and prefix
	rowRangeMemory    = 128     // bytes of a range, without the text of its bounds
)

// rowSelection reads the row selector of a scan, or of a count, which has no order and no pages.
func (d *decoder) rowSelection(s *selection, cells bool) {
	source := ""
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); {
		case name == "reverse" && cells:
			s.query.Reverse = d.Bool()
		case name == "page_token" && cells:
			s.page.from = d.pageToken()
		default:
			d.rowField(&s.query, &source, name)
		}
	}
}

// rowField reads a field of a row selector. source is the field so far that selects rows.
func (d *decoder) rowField(q *widecol.Query, source *string, name string) {
	switch name {
	case "key", "keys", "prefix", "range", "ranges":
		d.onlySource(source, name)
		q.Rows = widecol.NewRowSet(d.rowRanges(name)...)
	case "limit":
		q.RowLimit = d.limit()
	case "offset":
		q.Offset = d.limit()
	case "cell_limit":
		q.RowCellLimit = d.limit()
	case "sample":
		q.Sample = d.sample()
	default:
		d.unknown()
	}
}

// onlySource refuses a second field that selects rows.
func (d *decoder) onlySource(source *string, name string) {
	if *source != "" {
		d.Fail(conflictingFields, "%s and %s exclude each other", *source, name)
	}
	*source = name
}

// rowRanges reads the value of a field that selects rows.
func (d *decoder) rowRanges(field string) []widecol.RowRange {
	switch field {
	case "key":
		return []widecol.RowRange{widecol.KeyRange(d.rowKey())}
	case "keys":
		return d.listOfRanges(func() widecol.RowRange { return widecol.KeyRange(d.rowKey()) })
	case "prefix":
		return []widecol.RowRange{widecol.PrefixRange(d.bytes())}
	case "range":
		return []widecol.RowRange{d.rowRange()}
	}
	return d.listOfRanges(d.rowRange)
}

func (d *decoder) listOfRanges(read func() widecol.RowRange) (ranges []widecol.RowRange) {
	d.Array()
	for d.Next() {
		if len(ranges) == maxRowRanges {
			d.Fail("too_many_rows", "a selection has more than %d keys or ranges", maxRowRanges)
		}
		if d.ranges++; d.ranges > maxRowRangesInAll {
			d.Fail("too_many_rows", "the request has more than %d keys and ranges in lists", maxRowRangesInAll)
		}
		ranges = append(ranges, read())
	}
	d.nonEmpty(len(ranges))
	return ranges
}

// rowRange reads a range of row keys. It includes the start unless it is "exclusive", and the end only if
// it is "inclusive".
func (d *decoder) rowRange() (r widecol.RowRange) {
	exclusive, inclusive := false, false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "start":
			r.Start = bytes.Clone(d.bytes())
		case "end":
			r.End = bytes.Clone(d.rowKey())
		case "exclusive":
			exclusive = d.Bool()
		case "inclusive":
			inclusive = d.Bool()
		default:
			d.unknown()
		}
	}
	if exclusive && r.Start == nil {
		d.FailIn("start", missingField, "exclusive needs a start")
	}
	if inclusive && r.End == nil {
		d.FailIn("end", missingField, "inclusive needs an end")
	}
	if r.End != nil && bytes.Compare(r.Start, r.End) > 0 {
		d.Fail("invalid_range", "the range starts behind its end")
	}
	if exclusive {
		r.Start = append(r.Start, 0)
	}
	if inclusive {
		r.End = append(r.End, 0)
	}
	return r
}

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

func (x *requestContext) decodeCellSelection(d *decoder, q *widecol.Query, cells bool) {
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); {
		case name == "time":
			q.Times = d.timeRange()
		case name == "value":
			q.Value = x.decodeValueFilter(d)
		case name == "limit" && cells:
			q.CellLimit = d.limit()
		case name == "strip_value" && cells:
			q.KeysOnly = d.Bool()
		default:
			d.unknown()
		}
	}
}

// timeRange reads a range of times. A missing bound is open.
func (d *decoder) timeRange() widecol.TimeRange {
	r := widecol.AllTimes
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "start":
			r.Start = d.limit()
		case "end":
			r.End = d.limit()
		default:
			d.unknown()
		}
	}
	if r.Start > r.End {
		d.Fail("invalid_range", "the range of times starts behind its end")
	}
	return r
}

// comparisons are the operators of a value filter.
var comparisons = map[string]widecol.Comparison{
	"=": widecol.Equal, "!=": widecol.NotEqual,
	"<": widecol.Less, "<=": widecol.LessOrEqual,
	">": widecol.Greater, ">=": widecol.GreaterOrEqual,
}

func (x *requestContext) decodeValueFilter(d *decoder) *widecol.ValueFilter {
	var f widecol.ValueFilter
	var value strictjson.Token
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "op":
			if f.Op = comparisons[string(d.Text())]; f.Op == 0 {
				d.Fail("invalid_operator", "op must be one of =, !=, <, <=, >, >=")
			}
		case "type":
			f.Type = d.cellType()
		case "value":
			value = d.Scalar()
		default:
			d.unknown()
		}
	}
	d.require(f.Op != 0, "op")
	d.require(f.Type != cell.None, "type")
	d.require(value.Kind != strictjson.Invalid, "value")
	if d.Err() == nil {
		f.Value = x.encodeFor(d, f.Type, value)
	}
	return &f
}
