package cell

import (
	"bytes"
	"slices"
)

// Columns is a set of columns, given as ranges. A nil *Columns contains all
// columns. It is immutable and safe for concurrent use.
type Columns struct {
	ranges []Range // ascending, disjoint, none empty
}

// NewColumns returns the union of the ranges.
func NewColumns(ranges ...Range) *Columns {
	rs := slices.DeleteFunc(slices.Clone(ranges), func(r Range) bool {
		return r.End != nil && bytes.Compare(r.Start, r.End) >= 0
	})
	slices.SortFunc(rs, func(a, b Range) int { return bytes.Compare(a.Start, b.Start) })
	var merged []Range
	for _, r := range rs {
		if n := len(merged); n > 0 && reaches(merged[n-1].End, r.Start) {
			if merged[n-1].End != nil && (r.End == nil || bytes.Compare(r.End, merged[n-1].End) > 0) {
				merged[n-1].End = r.End
			}
			continue
		}
		merged = append(merged, r)
	}
	return &Columns{ranges: merged}
}

// reaches reports whether a range with this end touches or overlaps one with this start.
func reaches(end, start []byte) bool {
	return end == nil || bytes.Compare(start, end) <= 0
}

// Contains reports whether the column is in the set.
func (s *Columns) Contains(column []byte) bool {
	if s == nil {
		return true
	}
	for i := range s.ranges {
		r := &s.ranges[i]
		if bytes.Compare(column, r.Start) < 0 {
			return false
		}
		if r.End == nil || bytes.Compare(column, r.End) < 0 {
			return true
		}
	}
	return false
}

// Wants reports whether a read of the set needs entries with this column: those
// in the set, and tombstones of families and rows, which may cover cells in it.
func (s *Columns) Wants(column []byte) bool {
	return s.Contains(column) || bytes.IndexByte(column, 0) < 0
}

// Overlaps reports whether the set contains columns of the family. It may say
// yes wrongly, never no.
func (s *Columns) Overlaps(family []byte) bool {
	return s == nil || s.OverlapsRange(FamilyRange(family))
}

// OverlapsRange is Overlaps for a range of columns.
func (s *Columns) OverlapsRange(f Range) bool {
	if s == nil {
		return true
	}
	for i := range s.ranges {
		r := &s.ranges[i]
		if bytes.Compare(r.Start, f.End) < 0 && (r.End == nil || bytes.Compare(f.Start, r.End) < 0) {
			return true
		}
	}
	return false
}

// Ranges returns the ranges of the set: ascending, disjoint, not touching. The
// caller must not change them. A nil set returns none, though it contains all.
func (s *Columns) Ranges() []Range {
	if s == nil {
		return nil
	}
	return s.ranges
}
