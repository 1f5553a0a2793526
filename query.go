package colonnade

import (
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Query says what a scan returns. The zero Query is the whole table.
type Query struct {
	Rows    RowSet
	Columns ColumnSet
	Times   Times
	Limit   Limit
	// Reverse returns rows from the last to the first. The cells of each stay in their order.
	Reverse bool
	// KeysOnly may leave all values empty, which saves reading them.
	KeysOnly bool
	// Stats, if it is not nil, gets what a scan has cost, when its loop has ended.
	Stats *Stats
}

// Limit bounds what a scan returns. 0 is no limit.
type Limit struct {
	Rows           int64
	CellsPerRow    int64 // versions of a row, the first ones
	CellsPerColumn int64 // versions of each column of a row, the newest ones
}

// Stats says what a scan has cost. What is scanned is what was stepped over, returned or not.
type Stats struct {
	Rows, Cells  int64 // returned
	RowsScanned  int64
	CellsScanned int64 // versions and tombstones
	BytesScanned int64 // of their row keys, columns, times and values
	Partitions   int64 // that were read: a locality group is one, and all families without one
}

// RowSet selects rows. The zero RowSet is all rows.
type RowSet struct{ set widecol.RowSet }

// Keys selects the rows with some keys. A scan returns them in the order of the table.
func Keys(keys ...string) RowSet {
	ranges := make([]widecol.RowRange, 0, len(keys))
	for _, key := range keys {
		ranges = append(ranges, widecol.KeyRange([]byte(key)))
	}
	return RowSet{widecol.NewRowSet(ranges...)}
}

// Prefix selects the rows whose key starts with a prefix.
func Prefix(prefix string) RowSet { return RowSet{widecol.RowSet{widecol.PrefixRange([]byte(prefix))}} }

// Range selects the rows from start up to end, without end itself. An empty end is that of the table. The row after key
// begins at key + "\x00".
func Range(start, end string) RowSet {
	r := widecol.RowRange{Start: []byte(start)}
	if end != "" {
		r.End = []byte(end)
	}
	return RowSet{widecol.NewRowSet(r)}
}

// ColumnSet selects columns. The zero ColumnSet is all columns.
type ColumnSet struct {
	filter widecol.Filter
	err    *widecol.Error
}

// Columns selects columns by their keys: "family:qualifier" for one, "family:" or "family" for all of a family.
func Columns(keys ...string) ColumnSet {
	f, err := widecol.ColumnsFilter(keys...)
	return ColumnSet{f, err}
}

// ColumnPrefix selects the columns whose key, the text "family:qualifier", starts with a prefix.
func ColumnPrefix(prefix string) ColumnSet { return ColumnSet{filter: widecol.PrefixFilter(prefix)} }

// oneColumn selects exactly one column. Its qualifier may be empty.
func oneColumn(family, qualifier string) (widecol.Filter, *Error) {
	if err := widecol.CheckFamilyName(family); err != nil {
		return widecol.Filter{}, invalid("invalid_column_family_name", err.Error())
	}
	columns := cell.NewColumns(cell.ColumnRange([]byte(family), []byte(qualifier)))
	return widecol.Filter{Columns: columns, Families: []string{family}}, nil
}

// Times selects versions by their time, in microseconds since the Unix epoch: from Start up to End, without End itself.
// An End of 0 is open, so the zero Times is all times.
type Times struct{ Start, End int64 }

func (t Times) model() widecol.TimeRange {
	if t.End == 0 {
		t.End = widecol.EndOfTime
	}
	return widecol.TimeRange{Start: t.Start, End: t.End}
}

// model returns the query as the store takes it.
func (q *Query) model() (widecol.Query, error) {
	m := widecol.NewQuery()
	if q.Columns.err != nil {
		return m, failure(q.Columns.err)
	}
	for _, n := range []int64{q.Limit.Rows, q.Limit.CellsPerRow, q.Limit.CellsPerColumn} {
		if n < 0 {
			return m, invalid("invalid_limit", "a limit is below 0, which is none")
		}
	}
	if q.Rows.set != nil {
		m.Rows = q.Rows.set
	}
	m.Filter, m.Times, m.Reverse, m.KeysOnly = q.Columns.filter, q.Times.model(), q.Reverse, q.KeysOnly
	m.RowLimit, m.RowCellLimit, m.ColumnCellLimit = limit(q.Limit.Rows), limit(q.Limit.CellsPerRow), limit(q.Limit.CellsPerColumn)
	return m, nil
}

func limit(n int64) int64 {
	if n == 0 {
		return widecol.NoLimit
	}
	return n
}
