package colonnade

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cell"
)

// Value is a value with its type. The zero Value has no type and cannot be written.
type Value struct {
	typ  cell.Type
	data []byte
}

// String returns a value of type string, which must be UTF-8.
func String(s string) Value { return Value{cell.String, []byte(s)} }

// Bytes returns a value of type bytes. It does not copy b: a Write borrows it until it returns.
func Bytes(b []byte) Value { return Value{cell.Bytes, b} }

// I64 returns a value of type i64.
func I64(n int64) Value { return Value{cell.I64, binary.LittleEndian.AppendUint64(nil, uint64(n))} }

// I32 returns a value of type i32.
func I32(n int32) Value { return Value{cell.I32, binary.LittleEndian.AppendUint32(nil, uint32(n))} }

// Byte returns a value of type byte.
func Byte(n byte) Value { return Value{cell.Byte, []byte{n}} }

// F64 returns a value of type f64, which must be finite.
func F64(f float64) Value {
	return Value{cell.F64, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

// F32 returns a value of type f32, which must be finite.
func F32(f float32) Value {
	return Value{cell.F32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(f))}
}

// Bool returns a value of type boolean.
func Bool(b bool) Value {
	if b {
		return Value{cell.Bool, []byte{1}}
	}
	return Value{cell.Bool, []byte{0}}
}

// Type returns the name of the type: string, bytes, i64, i32, byte, f64, f32 or boolean.
func (v Value) Type() string { return v.typ.String() }

// Bytes returns the content of a string or bytes, without a copy: nobody may change it. It is nil for other types.
func (v Value) Bytes() []byte {
	if v.typ != cell.String && v.typ != cell.Bytes {
		return nil
	}
	return v.data
}

// Int returns a value of type i64, i32 or byte.
func (v Value) Int() (n int64, ok bool) {
	if v.typ == cell.I64 && len(v.data) == 8 { // the common type, without a call
		return int64(binary.LittleEndian.Uint64(v.data)), true
	}
	return v.shortInt()
}

func (v Value) shortInt() (n int64, ok bool) {
	switch {
	case v.typ == cell.I32 && len(v.data) == 4:
		return int64(int32(binary.LittleEndian.Uint32(v.data))), true
	case v.typ == cell.Byte && len(v.data) == 1:
		return int64(v.data[0]), true
	}
	return 0, false
}

// Float returns a value of type f64 or f32.
func (v Value) Float() (f float64, ok bool) {
	switch {
	case !v.typ.Fits(v.data):
	case v.typ == cell.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.data)), true
	case v.typ == cell.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.data))), true
	}
	return 0, false
}

// Bool returns a value of type boolean.
func (v Value) Bool() (b, ok bool) {
	if v.typ != cell.Bool || !v.typ.Fits(v.data) {
		return false, false
	}
	return v.data[0] == 1, true
}

// String returns the value for people: a string or bytes as they are, numbers in decimal. It is empty for a value that
// KeysOnly has left out.
func (v Value) String() string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	if f, ok := v.Float(); ok {
		bits := 64
		if v.typ == cell.F32 {
			bits = 32
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	}
	if b, ok := v.Bool(); ok {
		return strconv.FormatBool(b)
	}
	return string(v.Bytes())
}

// check returns an error for a value that cannot be written. The server refuses the same.
func (v *Value) check() *Error {
	if v.typ == cell.None {
		return invalid("invalid_value", "a value has no type: make it with String, Bytes, I64, …")
	}
	if v.typ == cell.String && !utf8.Valid(v.data) {
		return invalid("invalid_value", "a string is not UTF-8: write it as Bytes")
	}
	if f, ok := v.Float(); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return invalid("invalid_value", fmt.Sprintf("%v is not a finite number", f))
	}
	return nil
}
