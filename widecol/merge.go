package widecol

import (
	"encoding/binary"
	"fmt"
)

// MergeOperator says how a family combines values. The versions of such a family are numbers of the type i64, which
// mutations with the Op Merge alone write: each combines its value with that of the version of its column and time.
type MergeOperator uint8

const (
	NoMerge  MergeOperator = iota // the family takes Set, and no Merge
	MergeSum                      // adds, and wraps around
	MergeMin                      // keeps the smaller number
	MergeMax                      // keeps the larger number

	mergeOperators = int(iota)
)

func (o MergeOperator) String() string {
	if int(o) < mergeOperators {
		return [mergeOperators]string{"none", "sum", "min", "max"}[o]
	}
	return fmt.Sprintf("merge operator %d", uint8(o))
}

// Merge returns what old and value become, both of the type i64. It changes neither. Without an old value, which
// is nil then, it returns value.
func (o MergeOperator) Merge(old, value []byte) []byte {
	if old == nil {
		return value
	}
	a, b := int64(binary.LittleEndian.Uint64(old)), int64(binary.LittleEndian.Uint64(value))
	switch o {
	case MergeSum:
		a += b
	case MergeMin:
		a = min(a, b)
	case MergeMax:
		a = max(a, b)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(a))
}

// CheckMerge returns an error if a family of a table with this operator does not take the Op of a mutation.
func (o MergeOperator) CheckMerge(table, family string, op Op) *Error {
	switch {
	case op == Set && o != NoMerge:
		return Errorf(Invalid, "merge_only", "column family %s of table %s has the merge operator %s: its cells are merged, not set", quote(family), quote(table), o)
	case op == Merge && o == NoMerge:
		return Errorf(Invalid, "no_merge_operator", "column family %s of table %s has no merge operator: its cells are set, not merged", quote(family), quote(table))
	}
	return nil
}
