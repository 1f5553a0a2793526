package widecol

// Position is a place in the result of a query: behind a version, or before all of them, which is the zero value.
// Rows.More returns it, and Query.After goes on from there.
//
// It does not depend on a snapshot. Rows and versions that were written or deleted meanwhile are there or not, and
// all others come once.
type Position struct {
	// Row is the row of the version. It is nil before all versions.
	Row []byte
	// Seen counts the rows that Sample has decided about, and Kept those that it kept. Row is the last of both.
	Seen, Kept int64
	// Column and Time are those of the version. A nil Column means that the row had no version behind it.
	Column []byte
	Time   int64
	// Copies is how many copies of the version there are before the place. A filter tree can make several.
	Copies int64
}

// Behind returns the part of the set behind a row, in the order of rows or in its reverse. It shares the keys
// of s.
func (s RowSet) Behind(row []byte, reverse bool) RowSet {
	part := RowRange{Start: append(append(make([]byte, 0, len(row)+1), row...), 0)}
	if reverse {
		part = RowRange{End: row}
	}
	ranges := make([]RowRange, 0, len(s))
	for _, r := range s {
		if string(r.Start) < string(part.Start) {
			r.Start = part.Start
		}
		if part.End != nil && (r.End == nil || string(part.End) < string(r.End)) {
			r.End = part.End
		}
		ranges = append(ranges, r)
	}
	return NewRowSet(ranges...)
}
