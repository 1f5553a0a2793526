package server

import (
	"bytes"

	"colonnade/server/strictjson"
	"colonnade/widecol"
)

// selection is what a scan or a count selects.
type selection struct {
	query  widecol.Query
	column columnFilter
}

func newSelection() selection {
	return selection{query: widecol.NewQuery(), column: columnFilter{limit: widecol.NoLimit}}
}

// selection reads the body of a scan, or of a count, which takes no limits on cells.
func (d *decoder) selection(s *selection, cells bool) {
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); {
		case name == "row":
			d.rowSelection(&s.query)
		case name == "column":
			s.column = d.columnFilter(true)
		case name == "cell" && cells:
			d.cellSelection(&s.query)
		default:
			d.unknown()
		}
	}
	s.query.Filter, s.query.ColumnCellLimit = s.column.Filter, s.column.limit
}

func (d *decoder) rowSelection(q *widecol.Query) {
	bounded := false
	d.Object()
	for d.Key() {
		switch name := string(d.Name()); name {
		case "prefix", "range":
			if bounded {
				d.Fail(conflictingFields, "prefix and range exclude each other")
			}
			bounded = true
			if name == "prefix" {
				q.SetPrefix(d.Text())
			} else {
				d.rowRange(q)
			}
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
}

// rowRange reads a range of row keys. It includes the end only with "inclusive".
func (d *decoder) rowRange(q *widecol.Query) {
	inclusive := false
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "start":
			q.Start = bytes.Clone(d.Text())
		case "end":
			q.End = bytes.Clone(d.rowKey())
		case "inclusive":
			inclusive = d.Bool()
		default:
			d.unknown()
		}
	}
	if q.End == nil {
		return
	}
	if bytes.Compare(q.Start, q.End) > 0 {
		d.Fail("invalid_range", "the range starts behind its end")
	}
	if inclusive {
		q.End = append(q.End, 0)
	}
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

func (d *decoder) cellSelection(q *widecol.Query) {
	d.Object()
	for d.Key() {
		switch string(d.Name()) {
		case "limit":
			q.CellLimit = d.limit()
		default:
			d.unknown()
		}
	}
}
