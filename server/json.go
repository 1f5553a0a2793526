package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cell"
)

// Responses are appended to a buffer. These functions never fail, and allocate only when the buffer
// grows.

// appendString is appendText for names and messages.
func appendString(dst []byte, s string) []byte { return appendText(dst, []byte(s)) }

// appendText appends s as a JSON string. A byte that is not UTF-8 becomes U+FFFD.
func appendText(dst, s []byte) []byte {
	i := plain(s, 0)
	if i == len(s) {
		return appendPlain(dst, s)
	}
	dst, _ = appendEscaped(dst, s, i, true)
	return dst
}

// appendUTF8 appends s as a JSON string. It returns false if s is not UTF-8. Then only what lies behind dst has
// changed.
func appendUTF8(dst, s []byte) ([]byte, bool) {
	i := plain(s, 0)
	if i == len(s) {
		return appendPlain(dst, s), true
	}
	start := len(dst)
	if dst, ok := appendEscaped(dst, s, i, false); ok {
		return dst, true
	}
	return dst[:start], false
}

// appendPlain appends s as a JSON string without escapes.
func appendPlain(dst, s []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// appendEscaped appends s, of which s[:i] is plain, as a JSON string. At a byte that is not UTF-8 it goes on or, if
// replace is false, stops.
func appendEscaped(dst, s []byte, i int, replace bool) (_ []byte, ok bool) {
	dst = append(dst, '"')
	start := 0 // s[:start] is appended
	for ; i < len(s); i = plain(s, i) {
		if next := foreign(s, i); next > i {
			i = next
			continue
		}
		n, escape := escapeAt(s, i)
		if escape == invalid && !replace {
			return dst, false
		}
		if escape != "" {
			dst = append(dst, s[start:i]...)
			dst = append(dst, escape...)
			start = i + n
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), true
}

// invalid is the escape of a byte that is not UTF-8.
const invalid = `\ufffd`

// plain returns the index of the first byte at or after i that may need an
// escape: a quote, a backslash, a control character, or one that is not ASCII.
func plain(s []byte, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if m := marks(s[i:]); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	if i < len(s) && len(s) >= 8 {
		// The last eight bytes, without those before i.
		if m := marks(s[len(s)-8:]) >> (8 * (8 - (len(s) - i))); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
		return len(s)
	}
	if n := len(s) - i; n > 0 {
		if m := marks8(short(s[i:])) << (8 * (8 - n)); m != 0 {
			return i + bits.TrailingZeros64(m)/8 - (8 - n)
		}
	}
	return len(s)
}

// short returns the bytes of s, 1 to 7, as the lowest ones of a number.
func short(s []byte) uint64 {
	if len(s) >= 4 {
		low, high := binary.LittleEndian.Uint32(s), binary.LittleEndian.Uint32(s[len(s)-4:])
		return uint64(low) | uint64(high)<<(8*(len(s)-4))
	}
	return uint64(s[0]) | uint64(s[len(s)/2])<<(8*(len(s)/2)) | uint64(s[len(s)-1])<<(8*(len(s)-1))
}

// marks sets the highest bit of each of the first eight bytes of s that may need an escape. Only the
// lowest mark is certain: a subtraction can also mark the byte above a marked one.
func marks(s []byte) uint64 { return marks8(binary.LittleEndian.Uint64(s)) }

// marks8 is marks for a number that has the first byte as its lowest.
func marks8(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := w^ones*'"', w^ones*'\\'
	return ((quote - ones) | (backslash - ones) | (w - ones*0x20) | w) & high
}

// foreign returns the index of the first byte at or after i that does not belong to a character of
// two or three bytes without an escape. It stops at first bytes that restrict the second byte and
// leaves them to escapeAt.
func foreign(s []byte, i int) int {
	for i+1 < len(s) && s[i+1]&0xc0 == 0x80 {
		switch c := s[i]; {
		case 0xc2 <= c && c <= 0xdf:
			i += 2
		case 0xe1 <= c && c <= 0xec && c != 0xe2 && i+2 < len(s) && s[i+2]&0xc0 == 0x80:
			i += 3
		default:
			return i
		}
	}
	return i
}

// escapeAt returns the size of the character at i and its escape, "" for none. It escapes U+2028 and
// U+2029, which JSON allows in strings and JavaScript once did not, and replaces invalid UTF-8.
func escapeAt(s []byte, i int) (n int, escape string) {
	switch c := s[i]; {
	case c == '"':
		return 1, `\"`
	case c == '\\':
		return 1, `\\`
	case c < 0x20:
		return 1, controls[c]
	}
	switch r, n := utf8.DecodeRune(s[i:]); {
	case r == '\u2028':
		return n, `\u2028`
	case r == '\u2029':
		return n, `\u2029`
	case r == utf8.RuneError && n == 1:
		return n, invalid
	default:
		return n, ""
	}
}

// controls are the escapes of the control characters.
var controls = func() (escapes [0x20]string) {
	for c := range escapes {
		escapes[c] = `\u00` + strconv.FormatInt(int64(c>>4), 16) + strconv.FormatInt(int64(c&15), 16)
	}
	escapes['\n'], escapes['\r'], escapes['\t'], escapes['\b'], escapes['\f'] = `\n`, `\r`, `\t`, `\b`, `\f`
	return escapes
}()

// typeAndValue is the text before a value of each type.
var typeAndValue = func() (fields [cell.TypeCount]string) {
	for t := range fields {
		fields[t] = `,"type":"` + cell.Type(t).String() + `","value":`
	}
	return fields
}()

// appendValue appends an encoded value of type t, for which t.Fits must hold.
func appendValue(dst []byte, t cell.Type, v []byte) []byte {
	switch t {
	case cell.String:
		return appendText(dst, v)
	case cell.I64:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(v)), 10)
	case cell.Bool:
		return strconv.AppendBool(dst, v[0] == 1)
	case cell.Byte:
		return strconv.AppendUint(dst, uint64(v[0]), 10)
	case cell.I32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(v))), 10)
	case cell.F32:
		return appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32)
	case cell.F64:
		return appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64)
	default:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v)
		return append(dst, '"')
	}
}

// appendFloat appends the shortest number that reads back as f. It always has a point or an
// exponent, so that no parser takes it for an integer and loses the sign of -0. JSON has no
// infinities and NaN, and no request can store one.
func appendFloat(dst []byte, f float64, bitSize int) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bitSize)
	if format == 'f' && bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}
