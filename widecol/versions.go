package widecol

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/colonnade-db/colonnade/cell"
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

// String returns the operator as it is written.
func (c Comparison) String() string {
	return [...]string{"", "=", "!=", "<", "<=", ">", ">="}[c]
}

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
	return t == f.Type && f.Op.holds(compareValues(t, value, f.Value))
}

// Select appends the versions that the filter selects to dst, which may be the beginning of cells. It stops at a
// version of the filter's type whose value does not fit that, and returns it.
func (f *ValueFilter) Select(dst, cells []cell.Cell) (_ []cell.Cell, misfit *cell.Cell) {
	if f.Type == cell.I64 {
		return f.selectInt64(dst, cells)
	}
	for i := range cells {
		c := &cells[i]
		if c.Type != f.Type {
			continue
		}
		if !c.Type.Fits(c.Value) {
			return dst, c
		}
		if f.Op.holds(compareValues(f.Type, c.Value, f.Value)) {
			dst = append(dst, *c)
		}
	}
	return dst, nil
}

// selectInt64 is Select for the type of most counts and sums, without a call for each version.
func (f *ValueFilter) selectInt64(dst, cells []cell.Cell) (_ []cell.Cell, misfit *cell.Cell) {
	want := int64(binary.LittleEndian.Uint64(f.Value))
	less, equal, greater := f.Op.holds(-1), f.Op.holds(0), f.Op.holds(1)
	for i := range cells {
		c := &cells[i]
		if c.Type != cell.I64 {
			continue
		}
		if len(c.Value) != 8 {
			return dst, c
		}
		selected := greater
		if v := int64(binary.LittleEndian.Uint64(c.Value)); v < want {
			selected = less
		} else if v == want {
			selected = equal
		}
		if !selected {
			continue
		}
		if n := len(dst); n < cap(dst) && &dst[:n+1][n] == c {
			dst = dst[:n+1] // it is there already
		} else {
			dst = append(dst, *c)
		}
	}
	return dst, nil
}

// holds reports whether the operator holds for values that compare as order says: below 0, 0 or above.
func (op Comparison) holds(order int) bool {
	switch op {
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
