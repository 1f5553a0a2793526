package widecol

import (
	"strings"

	"github.com/colonnade-db/colonnade/cell"
)

// NoLimit, as a limit of a Query, means no limit.
const NoLimit int64 = -1

// Query selects rows and cells of a table. NewQuery returns one that selects everything.
//
// It is applied in this order: the rows in Rows; their versions that are visible, not garbage (GC) and
// pass Filter, Times and Value; RowFilter; ColumnCellLimit, then RowCellLimit; rows without a version left
// do not count; Sample, Offset and RowLimit over the remaining rows; CellLimit over the result.
type Query struct {
	Rows   RowSet // returned in key order, or its reverse, each once
	Filter Filter // columns
	Times  TimeRange
	Value  *ValueFilter // nil for all values

	// RowFilter is a filter tree that Check accepts, nil for none. Limits count the copies that it makes.
	RowFilter *RowFilter

	ColumnCellLimit int64 // versions per column
	RowCellLimit    int64 // versions per row
	RowLimit        int64 // rows
	Offset          int64 // rows skipped; 0 for none
	CellLimit       int64 // versions in all

	// Sample, in (0, 1], selects a part of the rows, evenly spread. Of the rows i = 0, 1, 2, … that
	// would be returned, it keeps row i if floor(i*Sample) is a number that no earlier row has reached.
	// 1 keeps all.
	Sample float64

	// KeysOnly allows the Store to leave values out of the cells. Value is applied before.
	KeysOnly bool

	// Reverse returns the rows in descending key order. The cells of each row stay in the usual order.
	// Sample, Offset, RowLimit and CellLimit count in the order returned: they begin with the last row.
	Reverse bool

	// After, unless nil, goes on behind a place in the result of this query, which may have had other
	// RowLimit and CellLimit. These count from there; all else counts as if the query had begun with its
	// first row.
	After *Position

	// Yield, unless nil, lets the caller interrupt a query that looks at much and returns little. Scan,
	// Next and More call it at least once for every YieldEvery rows or chunks that they look at, on the goroutine
	// of their caller, without a lock of the Store. It may take as long as it likes. Its error ends the
	// query, and Err returns it.
	Yield func() error

	// Explain, unless nil, gets what the Store does for the query. It is whole when Next has returned false, or
	// Rows is closed; More adds nothing. Queries that are read at the same time need one each, and Divide gives its
	// parts new ones.
	Explain *Explain
}

// YieldEvery is how many rows, or chunks of rows, a query looks at between two calls of Yield at most.
const YieldEvery = 64

// NewQuery returns a query for the whole table.
func NewQuery() Query { return everything }

// everything is made once: to copy a Query right after its fields were set takes the CPU much longer.
var everything = Query{
	Rows:            AllRows(),
	Times:           AllTimes,
	ColumnCellLimit: NoLimit,
	RowCellLimit:    NoLimit,
	RowLimit:        NoLimit,
	CellLimit:       NoLimit,
	Sample:          1,
}

// SetKey makes q select the row with exactly this key.
func (q *Query) SetKey(row []byte) { q.Rows = RowSet{KeyRange(row)} }

// SetPrefix makes q select the rows whose key starts with prefix.
func (q *Query) SetPrefix(prefix []byte) { q.Rows = RowSet{PrefixRange(prefix)} }

// SetRange makes q select the rows from start to end, start included, end not. A nil end is the end of
// the table. q keeps both.
func (q *Query) SetRange(start, end []byte) { q.Rows = NewRowSet(RowRange{start, end}) }

// Sampled reports whether the sample keeps row i, counted from 0, after it has kept taken of the rows
// before it.
func (q *Query) Sampled(i, taken int64) bool {
	// Most decimal fractions have no exact float64. Without the slack, a sample of 0.29 would take row
	// 101 instead of row 100.
	const slack = 1e-9
	return q.Sample >= 1 || float64(i)*q.Sample >= float64(taken)-slack
}

// Filter selects columns. The zero value selects all.
type Filter struct {
	// Columns is the set of columns, nil for all.
	Columns *cell.Columns
	// Families are the families that the filter names. A Store returns UnknownFamily for one that the
	// table does not have.
	Families []string
}

// ColumnsFilter selects the columns with the given column keys. A key is
// "family:qualifier", split at the first colon, for one column, and "family:"
// or "family" for the whole family.
func ColumnsFilter(keys ...string) (Filter, *Error) {
	var f Filter
	ranges := make([]cell.Range, 0, len(keys))
	for i, key := range keys {
		family, qualifier, _ := strings.Cut(key, ":")
		if err := CheckFamilyName(family); err != nil {
			return Filter{}, Errorf(Invalid, "invalid_column_key", "column key %s does not start with the name of a column family", quote(key)).At(i)
		}
		if len(qualifier) > MaxQualifier {
			return Filter{}, Errorf(Invalid, "invalid_column_key", "qualifier has %d bytes, allowed are 0 to %d", len(qualifier), MaxQualifier).At(i)
		}
		f.Families = append(f.Families, family)
		if qualifier == "" {
			ranges = append(ranges, cell.FamilyRange([]byte(family)))
		} else {
			ranges = append(ranges, cell.ColumnRange([]byte(family), []byte(qualifier)))
		}
	}
	f.Columns = cell.NewColumns(ranges...)
	return f, nil
}

// PrefixFilter selects the columns whose column key, the text
// "family:qualifier", starts with prefix.
func PrefixFilter(prefix string) Filter {
	family, qualifier, colon := strings.Cut(prefix, ":")
	if strings.IndexByte(family, 0) >= 0 {
		// No family name starts like this. A column could, after its separator.
		return Filter{Columns: cell.NewColumns()}
	}
	p := []byte(family)
	if colon {
		p = cell.AppendColumn(nil, p, []byte(qualifier))
	} else if family == "" {
		return Filter{}
	}
	return Filter{Columns: cell.NewColumns(cell.PrefixRange(p))}
}
