package client

import (
	"strconv"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// RowSet selects rows by their keys. The zero RowSet is all rows.
type RowSet struct {
	field  string // of the API, "" for all
	keys   []string
	ranges []Range
}

// Range is the rows from Start up to End, without End itself. "" is an open bound.
type Range struct {
	Start, End   string
	ExcludeStart bool
	IncludeEnd   bool
}

// Key selects one row.
func Key(key string) RowSet { return RowSet{field: "key", keys: []string{key}} }

// Keys selects the rows with these keys, of which there must be one.
func Keys(keys ...string) RowSet { return RowSet{field: "keys", keys: keys} }

// Prefix selects the rows whose key starts with prefix.
func Prefix(prefix string) RowSet { return RowSet{field: "prefix", keys: []string{prefix}} }

// Ranges selects the rows in any of these ranges, of which there must be one.
func Ranges(ranges ...Range) RowSet { return RowSet{field: "ranges", ranges: ranges} }

// appendField appends the field that selects the rows, if there is one.
func (s *RowSet) appendField(o *object) {
	if s.field == "" {
		return
	}
	o.field(s.field)
	switch s.field {
	case "keys":
		o.dst = appendList(o.dst, s.keys, appendBytes)
	case "ranges":
		o.dst = appendList(o.dst, s.ranges, appendRange)
	default:
		o.dst = appendBytes(o.dst, s.keys[0])
	}
}

func appendRange(dst []byte, r Range) []byte {
	o := newObject(dst)
	if r.Start != "" {
		o.field("start")
		o.dst = appendBytes(o.dst, r.Start)
	}
	if r.End != "" {
		o.field("end")
		o.dst = appendBytes(o.dst, r.End)
	}
	if r.ExcludeStart {
		o.field("exclusive")
		o.dst = append(o.dst, "true"...)
	}
	if r.IncludeEnd {
		o.field("inclusive")
		o.dst = append(o.dst, "true"...)
	}
	return o.end()
}

// ColumnSet selects columns. The zero ColumnSet is all columns.
type ColumnSet struct {
	field string // of the API, "" for all
	keys  []string
}

// Columns selects columns by their keys, "family:qualifier", or all of a family with "family:" or "family".
// There must be one.
func Columns(keys ...string) ColumnSet { return ColumnSet{field: "multi_key", keys: keys} }

// Families selects all columns of some families, of which there must be one.
func Families(names ...string) ColumnSet { return ColumnSet{field: "families", keys: names} }

// ColumnPrefix selects the columns whose key, the text "family:qualifier", starts with prefix.
func ColumnPrefix(prefix string) ColumnSet {
	return ColumnSet{field: "prefix", keys: []string{prefix}}
}

// appendField appends the field "column", if it is needed. limit is the most versions of a column, or 0.
func (s *ColumnSet) appendField(o *object, limit int64) {
	if s.field == "" && limit == 0 {
		return
	}
	o.field("column")
	column := newObject(o.dst)
	if s.field == "prefix" {
		column.field(s.field)
		column.dst = appendBytes(column.dst, s.keys[0])
	} else if s.field != "" {
		column.field(s.field)
		column.dst = appendList(column.dst, s.keys, appendBytes)
	}
	column.limit("cell_limit", limit)
	o.dst = column.end()
}

// Times are the times from Start up to End, without End itself. A zero bound is open.
type Times struct {
	Start, End Time
}

// appendField appends the field "time", unless all times are selected.
func (t Times) appendField(o *object) {
	if t == (Times{}) {
		return
	}
	o.field("time")
	times := newObject(o.dst)
	if !t.Start.IsZero() {
		times.field("start")
		times.dst = strconv.AppendInt(times.dst, t.Start.Micros(), 10)
	}
	if !t.End.IsZero() {
		times.field("end")
		times.dst = strconv.AppendInt(times.dst, t.End.Micros(), 10)
	}
	o.dst = times.end()
}

// ValueFilter selects versions whose value compares with Value. Op is one of =, !=, <, <=, > and >=. A version
// of another type is never selected.
type ValueFilter struct {
	Op    string
	Value Value
}

// Query is what a Scan returns, or a Count counts. The zero Query is the whole table. docs/api.md has the order
// in which limits apply.
type Query struct {
	Rows    RowSet
	Columns ColumnSet
	Times   Times
	Value   *ValueFilter // nil for all values
	// StripValues answers null values, which have their type. Count does not take it, nor Limit.Cells.
	StripValues bool
	// Filter is a filter tree for what the fields above cannot say. It comes after them.
	Filter Filter

	Limit Limit
	// Reverse returns rows from the last to the first; limits count in that order. Count does not take it, nor Page.
	Reverse bool
	// Page goes on behind another page of this query, which may have had other Limits of rows and cells.
	Page PageToken
	// Sample selects this part of the rows, evenly spread: 0.25 is the first, fifth, ninth, …  0 is all.
	Sample float64

	// Stats, if it is not nil, gets what a scan has cost when the loop over it has come to the end.
	Stats *Stats
}

// Limit bounds what a Query returns. 0 is no limit.
type Limit struct {
	Rows, Offset   int64 // rows, and how many to skip before them
	Cells          int64 // versions in all
	CellsPerRow    int64 // versions of each row
	CellsPerColumn int64 // versions of each column of a row
}

func (q *Query) append(dst []byte) []byte {
	o := newObject(dst)
	o.field("row")
	row := newObject(o.dst)
	q.Rows.appendField(&row)
	row.limit("limit", q.Limit.Rows)
	row.limit("offset", q.Limit.Offset)
	row.limit("cell_limit", q.Limit.CellsPerRow)
	if q.Sample != 0 {
		row.field("sample")
		row.dst = appendFloat(row.dst, q.Sample, 64)
	}
	if q.Reverse {
		row.field("reverse")
		row.dst = append(row.dst, "true"...)
	}
	if q.Page != "" {
		row.field("page_token")
		row.dst = jsontext.AppendString(row.dst, string(q.Page))
	}
	o.dst = row.end()
	q.Columns.appendField(&o, q.Limit.CellsPerColumn)
	q.Filter.appendField(&o)

	o.field("cell")
	cell := newObject(o.dst)
	q.Times.appendField(&cell)
	if q.Value != nil {
		cell.field("value")
		cell.dst = append(cell.dst, `{"op":`...)
		cell.dst = jsontext.AppendString(cell.dst, q.Value.Op)
		cell.dst = append(appendTyped(cell.dst, q.Value.Value), '}')
	}
	if q.StripValues {
		cell.field("strip_value")
		cell.dst = append(cell.dst, "true"...)
	}
	cell.limit("limit", q.Limit.Cells)
	o.dst = cell.end()
	return o.end()
}
