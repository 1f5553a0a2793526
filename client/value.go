package client

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// Type is the type of a value.
type Type uint8

const (
	TypeString Type = iota + 1
	TypeI64
	TypeI32
	TypeByte
	TypeF64
	TypeF32
	TypeBool
	TypeBytes
)

var typeNames = [...]string{"", "string", "i64", "i32", "byte", "f64", "f32", "boolean", "bytes"}

// String returns the name of the type in the API.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "Type(" + strconv.Itoa(int(t)) + ")"
}

// Value is a value with its type. Values are equal (==) if their types and bits are: 0.0 is not -0.0. The
// zero Value has no type and cannot be written.
type Value struct {
	typ  Type
	null bool
	bits uint64 // of numbers and booleans
	text string // of strings and bytes
}

// String returns a value of type string. The server refuses text that is not UTF-8.
func String(s string) Value { return Value{typ: TypeString, text: s} }

// Bytes returns a value of type bytes. It copies b.
func Bytes(b []byte) Value { return Value{typ: TypeBytes, text: string(b)} }

// I64 returns a value of type i64.
func I64(n int64) Value { return Value{typ: TypeI64, bits: uint64(n)} }

// I32 returns a value of type i32.
func I32(n int32) Value { return Value{typ: TypeI32, bits: uint64(n)} }

// Byte returns a value of type byte.
func Byte(n byte) Value { return Value{typ: TypeByte, bits: uint64(n)} }

// F64 returns a value of type f64. The server refuses infinities and NaN.
func F64(f float64) Value { return Value{typ: TypeF64, bits: math.Float64bits(f)} }

// F32 returns a value of type f32. The server refuses infinities and NaN.
func F32(f float32) Value { return Value{typ: TypeF32, bits: uint64(math.Float32bits(f))} }

// Bool returns a value of type boolean.
func Bool(b bool) Value {
	if b {
		return Value{typ: TypeBool, bits: 1}
	}
	return Value{typ: TypeBool}
}

// Type returns the type.
func (v Value) Type() Type { return v.typ }

// IsNull reports whether the value was left out, by Query.StripValues, or is the zero Value.
func (v Value) IsNull() bool { return v.null || v.typ == 0 }

// Text returns a value of type string.
func (v Value) Text() (s string, ok bool) {
	if v.typ != TypeString || v.null {
		return "", false
	}
	return v.text, true
}

// Bytes returns a value of type bytes, as a copy.
func (v Value) Bytes() (b []byte, ok bool) {
	if v.typ != TypeBytes || v.null {
		return nil, false
	}
	return []byte(v.text), true
}

// Int returns a value of type i64, i32 or byte.
func (v Value) Int() (n int64, ok bool) {
	switch v.typ {
	case TypeI64, TypeI32, TypeByte:
		return int64(v.bits), !v.null
	}
	return 0, false
}

// Float returns a value of type f64 or f32.
func (v Value) Float() (f float64, ok bool) {
	switch v.typ {
	case TypeF64:
		return math.Float64frombits(v.bits), !v.null
	case TypeF32:
		return float64(math.Float32frombits(uint32(v.bits))), !v.null
	}
	return 0, false
}

// Bool returns a value of type boolean.
func (v Value) Bool() (b, ok bool) {
	return v.bits == 1 && v.typ == TypeBool, v.typ == TypeBool && !v.null
}

// Any returns the value as a string, int64, int32, byte, float64, float32, bool or []byte, or nil for null.
func (v Value) Any() any {
	if v.IsNull() {
		return nil
	}
	switch v.typ {
	case TypeString:
		return v.text
	case TypeI64:
		return int64(v.bits)
	case TypeI32:
		return int32(v.bits)
	case TypeByte:
		return byte(v.bits)
	case TypeF64:
		return math.Float64frombits(v.bits)
	case TypeF32:
		return math.Float32frombits(uint32(v.bits))
	case TypeBool:
		return v.bits == 1
	default:
		return []byte(v.text)
	}
}

// Encoded returns the value as bytes, as filters see it: the UTF-8 of a string; of numbers 8 bytes (i64, f64), 4 (i32,
// f32) or one (byte, boolean), the highest first; nothing for null.
func (v Value) Encoded() []byte {
	if v.IsNull() {
		return nil
	}
	switch v.typ {
	case TypeI64, TypeF64:
		return binary.BigEndian.AppendUint64(nil, v.bits)
	case TypeI32, TypeF32:
		return binary.BigEndian.AppendUint32(nil, uint32(v.bits))
	case TypeByte, TypeBool:
		return []byte{byte(v.bits)}
	}
	return []byte(v.text)
}

// String formats the value for people. Bytes are in base64.
func (v Value) String() string {
	if v.typ == TypeString && !v.null {
		return v.text
	}
	if v.typ == TypeBytes && !v.null {
		return base64.StdEncoding.EncodeToString([]byte(v.text))
	}
	return string(appendValue(nil, v))
}

// Time is the time of a version: microseconds since 1970 (UTC), from 0. The zero Time is none: a cell that is
// written without one gets that of the commit, and a bound without one is open.
type Time struct {
	// n is the time plus 1; a negative time, which the server refuses, is as it is.
	n int64
}

// At returns the Time of microseconds since 1970.
func At(micros int64) Time {
	if micros < 0 {
		return Time{micros}
	}
	return Time{micros + 1} // the largest becomes negative, and is refused, as it should be
}

// IsZero reports whether there is no time.
func (t Time) IsZero() bool { return t.n == 0 }

// Micros returns the microseconds since 1970, 0 for the zero Time.
func (t Time) Micros() int64 {
	if t.n <= 0 {
		return t.n
	}
	return t.n - 1
}

// Time returns the time as the standard library has it.
func (t Time) Time() time.Time { return time.UnixMicro(t.Micros()).UTC() }

// String returns the microseconds in decimal, "" for the zero Time.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Micros(), 10)
}

// Row is a row with some of its cells. Its key is any bytes.
type Row struct {
	Key string
	// Cells are in the order of the table when they were read: by family, by the bytes of the qualifier,
	// and the newest version first.
	Cells []Cell
}

// Cell is a version of a cell. Its qualifier is any bytes.
type Cell struct {
	Family, Qualifier string
	Value             Value
	Time              Time
	Label             string // that a Filter gave it; writes leave it out
}

// Get returns the first version of a column, which is the newest of a row that was read.
func (r Row) Get(family, qualifier string) (Cell, bool) {
	for _, c := range r.Cells {
		if c.Family == family && c.Qualifier == qualifier {
			return c, true
		}
	}
	return Cell{}, false
}
