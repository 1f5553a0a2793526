package memtable

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
)

// maxMisses is the number of unwanted entries in a row after which a search continues: stepping over
// them costs about as much as a search in a wide row.
const maxMisses = 16

// filter does for all columns of a row what cell.Columns.Wants does for one. Columns ascend, so it
// keeps its place in the ranges.
type filter struct {
	all    bool // every column is wanted
	ranges []cell.Range
	rest   []cell.Range // those that do not end before the current column
	misses int          // in a row
}

func newFilter(s *cell.Columns) filter {
	return filter{all: s == nil, ranges: s.Ranges()}
}

// reset prepares for a new row.
func (f *filter) reset() {
	f.rest = f.ranges
	f.misses = 0
}

// wants reports whether the read needs the column. Columns must come in order.
func (f *filter) wants(column []byte) bool {
	if f.all {
		return true
	}
	for len(f.rest) > 0 && f.rest[0].End != nil && bytes.Compare(column, f.rest[0].End) >= 0 {
		f.rest = f.rest[1:]
	}
	in := len(f.rest) > 0 && bytes.Compare(column, f.rest[0].Start) >= 0
	if in || bytes.IndexByte(column, 0) < 0 {
		f.misses = 0
		return true
	}
	f.misses++
	return false
}

// target returns where to continue after an unwanted column: at the next range, or before it at the
// tombstone of the range's family. It returns false if no range is left.
func (f *filter) target(column []byte) ([]byte, bool) {
	f.misses = 0
	if len(f.rest) == 0 {
		return nil, false
	}
	start := f.rest[0].Start
	if family, _ := cell.SplitColumn(start); bytes.Compare(column, family) < 0 {
		return family, true
	}
	return start, true
}
