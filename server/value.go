package server

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/server/strictjson"
)

// encodeValue encodes the value of a token in type t. If it cannot, it returns a reason: what the
// value has to be. Strings stay in the body, other values go to x.values.
func (x *requestContext) encodeValue(t cell.Type, token strictjson.Token) (value []byte, reason string) {
	switch t {
	case cell.String:
		if token.Kind == strictjson.String {
			return token.Text(), ""
		}
		return nil, "a string"
	case cell.Bytes:
		if token.Kind == strictjson.String {
			if value, ok := x.unbase64(token.Text()); ok {
				return value, ""
			}
		}
		return nil, "a string in base64 (RFC 4648, section 4, padded)"
	case cell.Bool:
		switch token.Kind {
		case strictjson.True:
			return valueTrue, ""
		case strictjson.False:
			return valueFalse, ""
		}
		return nil, "true or false"
	case cell.F32, cell.F64:
		return x.encodeFloat(t, token)
	}
	return x.encodeInteger(t, token)
}

// The values of type boolean. They must not be changed.
var valueTrue, valueFalse = []byte{1}, []byte{0}

func (x *requestContext) encodeInteger(t cell.Type, token strictjson.Token) ([]byte, string) {
	n, ok := int64(0), false
	switch {
	case token.Kind == strictjson.Number:
		n, ok = strictjson.Int64(token.Raw)
	case token.Kind == strictjson.String && t == cell.I64:
		n, ok = decimal(token.Text())
	}
	switch t {
	case cell.Byte:
		if ok && n >= 0 && n <= math.MaxUint8 {
			return x.keepValue(uint64(n), 1), ""
		}
		return nil, "an integer from 0 to 255"
	case cell.I32:
		if ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return x.keepValue(uint64(n), 4), ""
		}
		return nil, "an integer from -2147483648 to 2147483647"
	default:
		if ok {
			return x.keepValue(uint64(n), 8), ""
		}
		return nil, "an integer from -9223372036854775808 to 9223372036854775807, or a string that holds one"
	}
}

// decimal parses an integer in JSON's form.
func decimal(text []byte) (int64, bool) {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	return strictjson.Int64(text)
}

func (x *requestContext) encodeFloat(t cell.Type, token strictjson.Token) ([]byte, string) {
	if token.Kind == strictjson.Number && t == cell.F32 {
		if f, ok := strictjson.Float32(token.Raw); ok {
			return x.keepValue(uint64(math.Float32bits(f)), 4), ""
		}
	}
	if token.Kind == strictjson.Number && t == cell.F64 {
		if f, ok := strictjson.Float64(token.Raw); ok {
			return x.keepValue(math.Float64bits(f), 8), ""
		}
	}
	return nil, "a number in its range; one written as an integer must be exact"
}

// keepValue appends the low size bytes of v to x.values.
func (x *requestContext) keepValue(v uint64, size int) []byte {
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	value := x.room(size)
	copy(value, le[:])
	return value
}

// unbase64 decodes a base64 text into x.values.
func (x *requestContext) unbase64(text []byte) ([]byte, bool) {
	value := x.room(strictBase64.DecodedLen(len(text)))
	n, err := strictBase64.Decode(value, text)
	// The decoder skips line ends, which are not part of the alphabet.
	return value[:n], err == nil && strictBase64.EncodedLen(n) == len(text)
}

var strictBase64 = base64.StdEncoding.Strict()

// valuesChunk is the size of a chunk of x.values. Values never move: when a chunk is full, a new one
// starts.
const valuesChunk = 16 << 10

// room returns size bytes that are valid until the end of the request.
func (x *requestContext) room(size int) []byte {
	n := len(x.values)
	if cap(x.values)-n < size {
		x.values, n = make([]byte, 0, max(size, valuesChunk)), 0
	}
	x.values = x.values[:n+size]
	return x.values[n : n+size : n+size]
}
