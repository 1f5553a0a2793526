package format

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

var errNotUTF8 = errors.New("it is not UTF-8, as a string must be")

// appendText appends the value that a field of text has by its type, as JSON.
func appendText(dst []byte, typ, text string) ([]byte, error) {
	switch typ {
	case "string":
		if !utf8.ValidString(text) {
			return dst, errNotUTF8
		}
		return jsontext.AppendString(dst, text), nil
	case "i64":
		return appendInteger(dst, text, typ, math.MinInt64, math.MaxInt64)
	case "i32":
		return appendInteger(dst, text, typ, math.MinInt32, math.MaxInt32)
	case "byte":
		return appendInteger(dst, text, typ, 0, math.MaxUint8)
	case "f64":
		return appendDecimal(dst, text, typ, 64)
	case "f32":
		return appendDecimal(dst, text, typ, 32)
	case "boolean":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return dst, notOf(text, typ)
		}
		return strconv.AppendBool(dst, b), nil
	case "bytes":
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			return dst, fmt.Errorf("%.40q is no bytes in base64", text)
		}
		return jsontext.AppendString(dst, text), nil
	}
	return dst, fmt.Errorf("%q is no type: the types are %q", typ, Types)
}

func notOf(text, typ string) error { return fmt.Errorf("%.40q is no %s", text, typ) }

func appendInteger(dst []byte, text, typ string, low, high int64) ([]byte, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return dst, notOf(text, typ)
	}
	return strconv.AppendInt(dst, n, 10), nil
}

// appendDecimal appends a number as it is spelled, if JSON can have it so: the server then refuses an integer that
// the type would have to round.
func appendDecimal(dst []byte, text, typ string, bits int) ([]byte, error) {
	f, err := strconv.ParseFloat(text, bits)
	switch {
	case err != nil || strings.ContainsAny(text, "_xX"): // as in programs of Go
		return dst, notOf(text, typ)
	case math.IsNaN(f) || math.IsInf(f, 0):
		return dst, fmt.Errorf("%.40q is no value of a cell", text)
	case isNumber(text):
		return append(dst, text...), nil
	}
	return appendFloat(dst, f, bits), nil
}

// isNumber reports whether a number that was parsed is spelled as in JSON.
func isNumber(text string) bool {
	digits := bytes.TrimPrefix([]byte(text), []byte("-"))
	whole, rest, point := bytes.Cut(digits, []byte("."))
	if point && (len(rest) == 0 || rest[0] < '0' || rest[0] > '9') {
		return false
	}
	if len(whole) == 0 || whole[0] < '0' || whole[0] > '9' {
		return false
	}
	return whole[0] != '0' || len(whole) == 1 || whole[1] < '0' || whole[1] > '9'
}

// appendFloat appends a finite number with a point or an exponent, so that it does not count as an integer.
func appendFloat(dst []byte, f float64, bits int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// maxTime is the last time of a version.
const maxTime = math.MaxInt64 - 1

// parseTime returns the text of a time, empty for none.
func parseTime(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 || n > maxTime {
		return nil, fmt.Errorf("%.40q is no time in microseconds since 1970", text)
	}
	return []byte(text), nil
}
