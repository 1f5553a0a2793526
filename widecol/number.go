package widecol

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/colonnade-db/colonnade/cell"
)

// number is a version that an Aggregate can add: an int64 or float64 in bits, and the type that it was stored with.
type number struct {
	typ  cell.Type
	bits uint64
}

// rankOf orders the types of equal numbers: the earlier one is taken. It is 0 for what is no number.
var rankOf = [cell.TypeCount]uint8{cell.I64: 1, cell.I32: 2, cell.Byte: 3, cell.F64: 4, cell.F32: 5}

// numberOf decodes a value of a type that it has. ok is false for what is no number.
func numberOf(t cell.Type, value []byte) (n number, ok bool) {
	switch t {
	case cell.I64, cell.F64:
		n.bits = binary.LittleEndian.Uint64(value)
	case cell.I32:
		n.bits = uint64(int64(int32(binary.LittleEndian.Uint32(value))))
	case cell.Byte:
		n.bits = uint64(value[0])
	case cell.F32:
		n.bits = math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(value))))
	default:
		return n, false
	}
	n.typ = t
	return n, true
}

func (n number) integer() bool { return n.typ != cell.F64 && n.typ != cell.F32 }

func (n number) float() float64 { return math.Float64frombits(n.bits) }

// encode returns a number in its type. All NaNs are the same one.
func (n number) encode() Number {
	switch v := []byte(nil); n.typ {
	case cell.I64:
		return Number{n.typ, binary.LittleEndian.AppendUint64(v, n.bits)}
	case cell.I32:
		return Number{n.typ, binary.LittleEndian.AppendUint32(v, uint32(n.bits))}
	case cell.Byte:
		return Number{n.typ, append(v, byte(n.bits))}
	case cell.F32:
		f := float32(n.float())
		if f != f {
			f = float32(math.NaN())
		}
		return Number{n.typ, binary.LittleEndian.AppendUint32(v, math.Float32bits(f))}
	}
	return floatNumber(n.float())
}

// floatNumber encodes an f64.
func floatNumber(f float64) Number {
	if f != f {
		f = math.NaN()
	}
	return Number{cell.F64, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

// CompareNumbers compares two numbers in the order of Min and Max, without rounding either. NaN is below all others,
// and -0.0 below 0.0 and 0. Of numbers that are equal then, the one whose type comes first in i64, i32, byte,
// f64, f32 is taken for both Min and Max; CompareNumbers returns 0.
func CompareNumbers(a, b Number) int {
	m, _ := numberOf(a.Type, a.Value)
	n, _ := numberOf(b.Type, b.Value)
	return orderOf(m, n)
}

// compareNumbers is the order in which Min takes the lowest.
func compareNumbers(a, b number) int {
	if order := orderOf(a, b); order != 0 {
		return order
	}
	return cmp.Compare(rankOf[a.typ], rankOf[b.typ])
}

// above reports whether Max takes a instead of b.
func (a number) above(b number) bool {
	order := orderOf(a, b)
	return order > 0 || order == 0 && rankOf[a.typ] < rankOf[b.typ]
}

func orderOf(a, b number) int {
	switch {
	case a.integer() && b.integer():
		return cmp.Compare(int64(a.bits), int64(b.bits))
	case a.integer():
		return orderOfMixed(int64(a.bits), b.float())
	case b.integer():
		return -orderOfMixed(int64(b.bits), a.float())
	}
	x, y := a.float(), b.float()
	if x == 0 && y == 0 {
		return cmp.Compare(b.bits>>63, a.bits>>63)
	}
	return cmp.Compare(x, y) // NaN is the lowest
}

// orderOfMixed compares an integer and a float, of which neither can be converted to the other's type.
func orderOfMixed(n int64, f float64) int {
	const above = 1 << 63 // the first float above every int64
	switch {
	case f != f || f < -above:
		return 1
	case f >= above:
		return -1
	}
	whole := math.Trunc(f)
	switch order := cmp.Compare(n, int64(whole)); {
	case order != 0:
		return order
	case f != whole:
		return cmp.Compare(whole, f)
	case f == 0 && math.Signbit(f):
		return 1
	}
	return 0
}
