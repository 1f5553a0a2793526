package widecol

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"colonnade/cell"
)

// TimeRange selects versions by their time, in microseconds since the Unix epoch: from Start to End,
// Start included, End not.
type TimeRange = cell.TimeRange

// AllTimes has every time of a cell.
var AllTimes = cell.AllTimes

// Comparison is the operator of a ValueFilter.
type Comparison uint8

const (
	Equal          Comparison = iota + 1 // =
	NotEqual                             // !=
	Less                                 // <
	LessOrEqual                          // <=
	Greater                              // >
	GreaterOrEqual                       // >=
)

// ValueFilter selects versions by their value: those of the type Type whose value is Op Value. A version of
// another type never matches, whatever the operator. Numbers compare as numbers, NaN below all others;
// strings and bytes compare by their bytes, and false is below true.
type ValueFilter struct {
	Op    Comparison
	Type  cell.Type
	Value []byte // encoded as Type says; Type.Fits must hold
}

// Matches reports whether the filter selects a value of type t. The value must fit t; see cell.Type.Fits.
func (f *ValueFilter) Matches(t cell.Type, value []byte) bool {
	if t != f.Type {
		return false
	}
	order := compareValues(t, value, f.Value)
	switch f.Op {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	default:
		return order >= 0
	}
}

// compareValues compares two encoded values of type t.
func compareValues(t cell.Type, a, b []byte) int {
	switch t {
	case cell.I64:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case cell.I32:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case cell.F64:
		return cmp.Compare(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case cell.F32:
		return cmp.Compare(math.Float32frombits(binary.LittleEndian.Uint32(a)), math.Float32frombits(binary.LittleEndian.Uint32(b)))
	default: // one byte, or text
		return bytes.Compare(a, b)
	}
}
