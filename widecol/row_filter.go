package widecol

import (
	"encoding/binary"
	"math"
)

// RowFilter is a filter tree over the cells of a row, as Bigtable's clients know it: this node, and below
// it those of Filters, If, Then and Else. It is a stream of cells in, a stream of cells out. A filter may
// drop cells, copy them, empty their values and label them. It never changes their order.
//
// Only the fields that its Op names have a meaning. A Store takes a tree that Check accepts. The tree must
// not change while a query uses it; goroutines may share it.
//
// Copies of one version come next to each other: those that the tree lets through, in the order of the
// branches of the interleaves that made them, then those that reached a sink, in the order of the tree.
//
// Values are bytes to a filter, as ValueBytes has them. A value that was stripped is empty and has the type
// cell.Bytes.
type RowFilter struct {
	Op FilterOp

	// Filters are the filters of Chain and Interleave, at least two.
	Filters []*RowFilter
	// If, Then and Else are those of Condition. A nil Then or Else lets nothing through.
	If, Then, Else *RowFilter

	Pattern    []byte    // of RowKeyRegex, FamilyRegex, QualifierRegex and ValueRegex; see CompilePattern
	Family     string    // of ColumnRange
	Start, End Bound     // of the qualifiers of ColumnRange, and of the values of ValueRange
	Times      TimeRange // of TimestampRange
	N          int64     // of RowOffset, RowLimit and ColumnLimit
	P          float64   // of RowSample
	Label      string    // of ApplyLabel

	// False says that a request had false for Sink, PassAll, BlockAll or StripValue. Check refuses it, as
	// Bigtable does.
	False bool
}

// FilterOp says what a RowFilter does.
type FilterOp uint8

const (
	// Chain applies its filters one after the other.
	Chain FilterOp = iota + 1
	// Interleave applies each of its filters to the cells, and joins what they let through.
	Interleave
	// Condition applies Then if the filter If lets at least one cell of the row through, Else if not.
	Condition
	// Sink moves the cells to the result, past all filters behind it.
	Sink
	// PassAll lets every cell through, BlockAll none.
	PassAll
	BlockAll
	// RowKeyRegex lets through the rows whose key matches.
	RowKeyRegex
	// RowSample lets through the rows that SampledRow selects.
	RowSample
	// FamilyRegex and QualifierRegex let through the cells of families and qualifiers that match.
	FamilyRegex
	QualifierRegex
	// ColumnRange lets through the cells of a range of qualifiers of one family.
	ColumnRange
	// TimestampRange lets through the versions of a range of times.
	TimestampRange
	// ValueRegex and ValueRange let through the cells whose value matches, or is in a range.
	ValueRegex
	ValueRange
	// RowOffset drops the first N cells of each row, RowLimit all but the first N.
	RowOffset
	RowLimit
	// ColumnLimit drops all but the first N versions of each column.
	ColumnLimit
	// StripValue empties the values.
	StripValue
	// ApplyLabel labels the cells.
	ApplyLabel

	filterOps = iota + 1
)

// filterNames are the names of google.bigtable.v2.RowFilter, and the numbers of its fields.
var filterNames = [filterOps]struct {
	name   string
	number int
}{
	Chain: {"chain", 1}, Interleave: {"interleave", 2}, Condition: {"condition", 3},
	Sink: {"sink", 16}, PassAll: {"pass_all_filter", 17}, BlockAll: {"block_all_filter", 18},
	RowKeyRegex: {"row_key_regex_filter", 4}, RowSample: {"row_sample_filter", 14},
	FamilyRegex: {"family_name_regex_filter", 5}, QualifierRegex: {"column_qualifier_regex_filter", 6},
	ColumnRange: {"column_range_filter", 7}, TimestampRange: {"timestamp_range_filter", 8},
	ValueRegex: {"value_regex_filter", 9}, ValueRange: {"value_range_filter", 15},
	RowOffset: {"cells_per_row_offset_filter", 10}, RowLimit: {"cells_per_row_limit_filter", 11},
	ColumnLimit: {"cells_per_column_limit_filter", 12},
	StripValue:  {"strip_value_transformer", 13}, ApplyLabel: {"apply_label_transformer", 19},
}

// String returns the name of the op in Bigtable's API.
func (o FilterOp) String() string {
	if o == 0 || int(o) >= len(filterNames) {
		return "none"
	}
	return filterNames[o].name
}

// FilterOpOf returns the op with this name, 0 if there is none.
func FilterOpOf(name string) FilterOp {
	for o := Chain; o < filterOps; o++ {
		if filterNames[o].name == name {
			return o
		}
	}
	return 0
}

// Bound is one end of a range of bytes. The zero value is no bound.
type Bound struct {
	Kind  BoundKind
	Value []byte
}

// BoundKind says whether a range has the value of its bound.
type BoundKind uint8

const (
	Unbounded BoundKind = iota
	Included            // the value is in the range
	Excluded            // it is not
)

// SampledRow reports whether RowSample with the probability p selects a row. It depends on the key alone,
// so that a read that is repeated, divided or continued selects the same rows.
func SampledRow(row []byte, p float64) bool {
	h := uint64(14695981039346656037) // FNV-1a, whose high bits need mixing
	for _, b := range row {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return float64((h^h>>33)>>11) < p*(1<<53)
}

// size returns the size of the message that encodes the filter for Bigtable.
func (f *RowFilter) size() int {
	if f.Op == 0 || f.Op >= filterOps {
		return 0
	}
	switch f.Op {
	case Chain, Interleave:
		n := 0
		for _, sub := range f.Filters {
			n += fieldSize(1, sub.size())
		}
		return f.field(n)
	case Condition:
		n := 0
		for _, sub := range []*RowFilter{f.If, f.Then, f.Else} {
			if sub != nil {
				n += fieldSize(1, sub.size())
			}
		}
		return f.field(n)
	case RowKeyRegex, FamilyRegex, QualifierRegex, ValueRegex:
		return f.field(len(f.Pattern))
	case ApplyLabel:
		return f.field(len(f.Label))
	case ColumnRange:
		return f.field(fieldSize(1, len(f.Family)) + f.Start.size() + f.End.size())
	case ValueRange:
		return f.field(f.Start.size() + f.End.size())
	case TimestampRange:
		n := numberSize(1, f.Times.Start)
		if f.Times.End != AllTimes.End {
			n += numberSize(1, f.Times.End)
		}
		return f.field(n)
	case RowSample:
		return 1 + 8
	case RowOffset, RowLimit, ColumnLimit:
		return numberSize(filterNames[f.Op].number, f.N)
	default: // a flag
		return numberSize(filterNames[f.Op].number, 1)
	}
}

func (f *RowFilter) field(n int) int { return fieldSize(filterNames[f.Op].number, n) }

func (b Bound) size() int {
	if b.Kind == Unbounded {
		return 0
	}
	return fieldSize(1, len(b.Value))
}

// fieldSize is the size of a field of n bytes, with its number and length.
func fieldSize(number, n int) int { return numberSize(number, int64(n)) + n }

// numberSize is the size of a field with a number.
func numberSize(number int, v int64) int {
	return len(binary.AppendUvarint(nil, uint64(number)<<3)) + len(binary.AppendUvarint(nil, uint64(v)))
}

// copies bounds how many copies of one cell the filter can make.
func (f *RowFilter) copies() (through, sunk float64) {
	switch {
	case f == nil:
		return 0, 0
	case f.Op == Chain:
		through = 1
		for _, sub := range f.Filters {
			t, s := sub.copies()
			sunk += through * s
			through *= t
		}
		return min(through, math.MaxInt32), min(sunk, math.MaxInt32)
	case f.Op == Interleave:
		for _, sub := range f.Filters {
			t, s := sub.copies()
			through, sunk = through+t, sunk+s
		}
		return through, sunk
	case f.Op == Condition: // without sinks
		then, _ := f.Then.copies()
		other, _ := f.Else.copies()
		return max(then, other), 0
	case f.Op == Sink:
		return 0, 1
	case f.Op == BlockAll:
		return 0, 0
	}
	return 1, 0
}

// Copies bounds how many copies of one cell a checked filter can make, from 0 to MaxFilterCopies.
func (f *RowFilter) Copies() int {
	through, sunk := f.copies()
	return int(through + sunk)
}
