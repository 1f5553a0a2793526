package client

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// Requests are appended as text: values must arrive as they are, and encoding/json would replace what is
// not UTF-8. What the API cannot take, such as a NaN, is sent in a form that the server refuses with its
// place.

// appendBytes appends a key, which is any bytes: a string if they are UTF-8, otherwise {"base64": "…"}.
func appendBytes(dst []byte, key string) []byte {
	if utf8.ValidString(key) {
		return jsontext.AppendString(dst, key)
	}
	return appendBase64(dst, key)
}

func appendBase64(dst []byte, key string) []byte {
	dst = append(dst, `{"base64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(key))
	return append(dst, `"}`...)
}

// appendColumnKey appends the column key of a family and a qualifier.
func appendColumnKey(dst []byte, family, qualifier string) []byte {
	return appendBytes(dst, family+":"+qualifier)
}

// appendRow appends a row to be written as an object.
func appendRow(dst []byte, r Row) []byte {
	dst = append(dst, `{"row_key":`...)
	dst = appendBytes(dst, r.Key)
	dst = append(dst, `,"cells":`...)
	dst = appendList(dst, r.Cells, func(dst []byte, c Cell) []byte { return appendCell(dst, &c) })
	return append(dst, '}')
}

// appendCell appends a cell as an object.
func appendCell(dst []byte, c *Cell) []byte {
	dst = append(dst, `{"column_key":`...)
	dst = appendColumnKey(dst, c.Family, c.Qualifier)
	dst = appendTyped(dst, c.Value)
	if !c.Time.IsZero() {
		dst = append(dst, `,"time":`...)
		dst = strconv.AppendInt(dst, c.Time.Micros(), 10)
	}
	return append(dst, '}')
}

// appendTyped appends the fields type and value, which follow others.
func appendTyped(dst []byte, v Value) []byte {
	dst = append(dst, `,"type":"`...)
	dst = append(dst, v.typ.String()...)
	dst = append(dst, `","value":`...)
	return appendValue(dst, v)
}

func appendValue(dst []byte, v Value) []byte {
	if v.IsNull() {
		return append(dst, "null"...)
	}
	switch v.typ {
	case TypeString:
		return jsontext.AppendString(dst, v.text)
	case TypeI64, TypeI32, TypeByte:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case TypeF64:
		return appendFloat(dst, math.Float64frombits(v.bits), 64)
	case TypeF32:
		return appendFloat(dst, float64(math.Float32frombits(uint32(v.bits))), 32)
	case TypeBool:
		return strconv.AppendBool(dst, v.bits == 1)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(v.text))
	return append(dst, '"')
}

// appendFloat appends a number with a point or an exponent, so that it does not count as an integer. What is
// no number becomes a string, which the server refuses.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return jsontext.AppendString(dst, strconv.FormatFloat(f, 'g', -1, bits))
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendList appends a list of elements.
func appendList[T any](dst []byte, list []T, appendOne func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOne(dst, e)
	}
	return append(dst, ']')
}

// object appends the fields of an object, those that are needed.
type object struct {
	dst  []byte
	some bool
}

func newObject(dst []byte) object { return object{dst: append(dst, '{')} }

// field begins a field. The caller appends its value to dst.
func (o *object) field(name string) {
	if o.some {
		o.dst = append(o.dst, ',')
	}
	o.some = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

// limit appends a field with a number, unless it is 0.
func (o *object) limit(name string, n int64) {
	if n != 0 {
		o.field(name)
		o.dst = strconv.AppendInt(o.dst, n, 10)
	}
}

func (o *object) end() []byte { return append(o.dst, '}') }

// AppendJSON appends the row as an object, in the form that imports and WriteLines take.
func (r Row) AppendJSON(dst []byte) []byte { return appendRow(dst, r) }
