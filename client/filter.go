package client

import (
	"strconv"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// Filter is a filter tree, as Bigtable's clients know it: docs/api.md says what each filter does. The zero Filter
// is none. A Filter does not change, and may be part of several others.
type Filter struct {
	field string // of the API, "" for none
	value string // as JSON
}

// Chain applies filters one after the other. There must be two at least.
func Chain(filters ...Filter) Filter { return joined("chain", filters) }

// Interleave applies each of its filters to the cells and joins what they pass on, copies too. There must be two at
// least.
func Interleave(filters ...Filter) Filter { return joined("interleave", filters) }

func joined(field string, filters []Filter) Filter {
	return Filter{field, string(append(appendList([]byte(`{"filters":`), filters, appendFilter), '}'))}
}

// Choose applies one filter to rows of which a predicate passes on a cell, and another one to the other rows. The
// zero Filter in place of either passes on nothing.
func Choose(predicate, then, otherwise Filter) Filter {
	o := newObject(nil)
	for _, f := range []struct {
		name string
		Filter
	}{{"predicate_filter", predicate}, {"true_filter", then}, {"false_filter", otherwise}} {
		if f.field != "" {
			o.field(f.name)
			o.dst = appendFilter(o.dst, f.Filter)
		}
	}
	return Filter{"condition", string(o.end())}
}

// Sink moves the cells to the answer, past all other filters.
func Sink() Filter { return Filter{"sink", "true"} }

// PassAll passes on every cell.
func PassAll() Filter { return Filter{"pass_all_filter", "true"} }

// BlockAll passes on no cell.
func BlockAll() Filter { return Filter{"block_all_filter", "true"} }

// RowKeyRegex passes on rows whose key matches a pattern (RE2, over bytes) as a whole.
func RowKeyRegex(pattern string) Filter { return textFilter("row_key_regex_filter", pattern) }

// FamilyRegex passes on cells whose family matches.
func FamilyRegex(pattern string) Filter { return textFilter("family_name_regex_filter", pattern) }

// QualifierRegex passes on cells whose qualifier matches.
func QualifierRegex(pattern string) Filter {
	return textFilter("column_qualifier_regex_filter", pattern)
}

// ValueRegex passes on cells whose value, as bytes, matches.
func ValueRegex(pattern string) Filter { return textFilter("value_regex_filter", pattern) }

func textFilter(field, pattern string) Filter {
	return Filter{field, string(appendBytes(nil, pattern))}
}

// RowSample passes on rows with a probability. The row key decides.
func RowSample(probability float64) Filter {
	return Filter{"row_sample_filter", string(appendFloat(nil, probability, 64))}
}

// QualifierRange passes on cells of a family whose qualifier is in a range.
func QualifierRange(family string, r Range) Filter {
	o := newObject(nil)
	o.field("family_name")
	o.dst = jsontext.AppendString(o.dst, family)
	r.appendBounds(&o, "qualifier")
	return Filter{"column_range_filter", string(o.end())}
}

// ValueRange passes on cells whose value, as bytes, is in a range.
func ValueRange(r Range) Filter {
	o := newObject(nil)
	r.appendBounds(&o, "value")
	return Filter{"value_range_filter", string(o.end())}
}

// appendBounds appends the bounds of a range of something.
func (r Range) appendBounds(o *object, of string) {
	bound := func(side, value string, closed bool) {
		if value == "" {
			return
		}
		form := "_open"
		if closed {
			form = "_closed"
		}
		o.field(side + of + form)
		o.dst = appendBytes(o.dst, value)
	}
	bound("start_", r.Start, !r.ExcludeStart)
	bound("end_", r.End, r.IncludeEnd)
}

// TimeRange passes on versions of some times.
func TimeRange(t Times) Filter {
	o := newObject(nil)
	o.limit("start_timestamp_micros", t.Start.Micros())
	o.limit("end_timestamp_micros", t.End.Micros())
	return Filter{"timestamp_range_filter", string(o.end())}
}

// SkipCells drops the first cells of each row.
func SkipCells(n int64) Filter { return numberFilter("cells_per_row_offset_filter", n) }

// CellsPerRow passes on the first cells of each row.
func CellsPerRow(n int64) Filter { return numberFilter("cells_per_row_limit_filter", n) }

// CellsPerColumn passes on the first versions of each column.
func CellsPerColumn(n int64) Filter { return numberFilter("cells_per_column_limit_filter", n) }

func numberFilter(field string, n int64) Filter { return Filter{field, strconv.FormatInt(n, 10)} }

// EmptyValues makes each value empty, of type bytes.
func EmptyValues() Filter { return Filter{"strip_value_transformer", "true"} }

// Label gives the cells a label: Cell.Label.
func Label(label string) Filter {
	return Filter{"apply_label_transformer", string(jsontext.AppendString(nil, label))}
}

func appendFilter(dst []byte, f Filter) []byte {
	o := newObject(dst)
	if f.field != "" {
		o.field(f.field)
		o.dst = append(o.dst, f.value...)
	}
	return o.end()
}

// appendField appends the field "filter", if there is one.
func (f *Filter) appendField(o *object) {
	if f.field != "" {
		o.field("filter")
		o.dst = appendFilter(o.dst, *f)
	}
}
