package widecol

import (
	"bytes"
	"slices"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
)

// RowRange is a range of row keys from Start to End, Start included, End not. An empty Start is the
// start of the table, a nil End its end. A range whose Start is not below its End is empty.
type RowRange struct {
	Start, End []byte
}

// KeyRange returns the range of exactly one row key. It copies the key.
func KeyRange(row []byte) RowRange {
	key := append(append(make([]byte, 0, len(row)+1), row...), 0)
	return RowRange{Start: key[:len(row):len(row)], End: key}
}

// PrefixRange returns the range of the row keys that start with prefix. It copies the prefix.
func PrefixRange(prefix []byte) RowRange {
	r := RowRange{Start: bytes.Clone(prefix)}
	if len(prefix) > 0 {
		r.End = cell.Successor(prefix)
	}
	return r
}

// Contains reports whether the range has a row key.
func (r RowRange) Contains(row []byte) bool {
	return bytes.Compare(row, r.Start) >= 0 && (r.End == nil || bytes.Compare(row, r.End) < 0)
}

// Key returns the row key of a range of exactly one, otherwise nil. It is a part of the range.
func (r RowRange) Key() []byte {
	if n := len(r.Start); len(r.End) == n+1 && r.End[n] == 0 && string(r.End[:n]) == string(r.Start) {
		return r.Start
	}
	return nil
}

func (r RowRange) empty() bool { return r.End != nil && bytes.Compare(r.Start, r.End) >= 0 }

// RowSet is a set of row keys: its ranges ascend, and none is empty or touches another. The zero value
// has no rows. A RowSet is not changed once it is made, so goroutines may share it.
type RowSet []RowRange

// AllRows returns the set of all row keys.
func AllRows() RowSet { return allRows }

var allRows = RowSet{{}}

// NewRowSet returns the union of ranges, which may overlap and be in any order. It keeps their keys, and
// not the slice.
func NewRowSet(ranges ...RowRange) RowSet {
	s := make(RowSet, 0, len(ranges))
	for _, r := range ranges {
		if !r.empty() {
			s = append(s, r)
		}
	}
	slices.SortFunc(s, func(a, b RowRange) int { return bytes.Compare(a.Start, b.Start) })
	joined := s[:0]
	for _, r := range s {
		if n := len(joined); n > 0 && joined[n-1].reaches(r.Start) {
			joined[n-1].extend(r.End)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// reaches reports whether a range with this start overlaps or touches r, if it starts no earlier.
func (r RowRange) reaches(start []byte) bool {
	return r.End == nil || bytes.Compare(start, r.End) <= 0
}

// extend moves the end of r to end, if that is later.
func (r *RowRange) extend(end []byte) {
	if r.End != nil && (end == nil || bytes.Compare(end, r.End) > 0) {
		r.End = end
	}
}

// All reports whether the set has all row keys.
func (s RowSet) All() bool { return len(s) == 1 && len(s[0].Start) == 0 && s[0].End == nil }

// Contains reports whether the set has a row key.
func (s RowSet) Contains(row []byte) bool {
	i := sort.Search(len(s), func(i int) bool { return bytes.Compare(s[i].Start, row) > 0 })
	return i > 0 && s[i-1].Contains(row)
}
