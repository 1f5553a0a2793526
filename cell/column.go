package cell

import "bytes"

// A column joins the names of a family and a qualifier, so that comparing bytes
// orders columns by family, then by qualifier:
//
//	+--------+------+-----------+
//	| family | 0x00 | qualifier |   a cell, a version or column tombstone
//	+--------+------+-----------+
//	| family |                      a family tombstone: before all of its family
//	+--------+
//	|                               a row tombstone: before all of its row
//
// A family name is never empty and has no NUL, so the first NUL ends it. A
// qualifier may hold any bytes. The layout is part of the on-disk formats.

// AppendColumn appends the column of a family and qualifier to dst.
func AppendColumn(dst []byte, family, qualifier []byte) []byte {
	dst = append(dst, family...)
	dst = append(dst, 0)
	return append(dst, qualifier...)
}

// SplitColumn returns the family and qualifier of a column as subslices. The
// qualifier of a family tombstone is nil.
func SplitColumn(column []byte) (family, qualifier []byte) {
	i := bytes.IndexByte(column, 0)
	if i < 0 {
		return column, nil
	}
	return column[:i], column[i+1:]
}

// Range is the columns from Start to End, End excluded. A nil End is open.
type Range struct {
	Start, End []byte
}

// FamilyRange returns the range of every column of a family, its tombstone included.
func FamilyRange(family []byte) Range {
	return Range{Start: bytes.Clone(family), End: append(bytes.Clone(family), 1)}
}

// ColumnRange returns the range of one column.
func ColumnRange(family, qualifier []byte) Range {
	c := AppendColumn(nil, family, qualifier)
	return Range{Start: c, End: append(bytes.Clone(c), 0)}
}

// PrefixRange returns the range of the columns that start with prefix.
func PrefixRange(prefix []byte) Range {
	return Range{Start: bytes.Clone(prefix), End: Successor(prefix)}
}

// Successor returns the smallest string above every string that starts with
// prefix, or nil if there is none.
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
