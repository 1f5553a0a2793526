package cell

import "bytes"

// A column is the name of a family and a qualifier, joined so that comparing
// bytes orders columns by family name first and by qualifier within it:
//
//	+--------+------+-----------+
//	| family | 0x00 | qualifier |   a cell, a version or column tombstone
//	+--------+------+-----------+
//	| family |                      a family tombstone: before all of its family
//	+--------+
//	|                               a row tombstone: before all of its row
//
// A family name is never empty and holds no NUL, so the first NUL ends it,
// whatever the qualifier holds. The layout is part of the on-disk formats.

// AppendColumn appends the column of a family and qualifier to dst.
func AppendColumn(dst []byte, family, qualifier []byte) []byte {
	dst = append(dst, family...)
	dst = append(dst, 0)
	return append(dst, qualifier...)
}

// SplitColumn returns the family and qualifier of a column, as parts of it.
// The qualifier of a family tombstone is nil.
func SplitColumn(column []byte) (family, qualifier []byte) {
	i := bytes.IndexByte(column, 0)
	if i < 0 {
		return column, nil
	}
	return column[:i], column[i+1:]
}

// Range is the columns from Start up to, but without, End. A nil End is open.
type Range struct {
	Start, End []byte
}

// FamilyRange holds every column of a family, its tombstone included.
func FamilyRange(family []byte) Range {
	return Range{Start: bytes.Clone(family), End: append(bytes.Clone(family), 1)}
}

// ColumnRange holds one column alone.
func ColumnRange(family, qualifier []byte) Range {
	c := AppendColumn(nil, family, qualifier)
	return Range{Start: c, End: append(bytes.Clone(c), 0)}
}

// PrefixRange holds the columns that start with the bytes of prefix.
func PrefixRange(prefix []byte) Range {
	return Range{Start: bytes.Clone(prefix), End: Successor(prefix)}
}

// Successor returns the smallest byte string above every string that starts
// with prefix, or nil when there is none.
func Successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			s := bytes.Clone(prefix[:i+1])
			s[i]++
			return s
		}
	}
	return nil
}
