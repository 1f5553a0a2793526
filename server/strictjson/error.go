package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a fault in a text and its place.
type Error struct {
	Code    string // a stable name, one of the constants or the caller's
	At      string // the place as a path, such as items[3].cells[0].time; "" is the whole text
	Offset  int    // the place in bytes
	Message string
}

func (e *Error) Error() string {
	if e.At == "" {
		return e.Message
	}
	return e.At + ": " + e.Message
}

// Codes of the errors that a Reader finds.
const (
	InvalidJSON      = "invalid_json"
	InvalidUTF8      = "invalid_utf8"
	DuplicateField   = "duplicate_field"
	TooDeep          = "too_deep"
	TooManyFields    = "too_many_fields"
	WrongType        = "wrong_type"
	NumberOutOfRange = "number_out_of_range"
)

// maxKeyInPath keeps a path short whatever its keys are.
const maxKeyInPath = 64

// Path returns the place of the last value that was read, or of the next one.
func (r *Reader) Path() string {
	var b strings.Builder
	for i := range r.depth {
		f := &r.frames[i]
		if f.index < 0 {
			break
		}
		if f.array {
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(f.index))
			b.WriteByte(']')
			continue
		}
		if f.key.start == 0 {
			break // the field's name is not read yet
		}
		writeKey(&b, r.data[f.key.start:f.key.end])
	}
	return b.String()
}

// writeKey appends a key to a path: as it is if it is a plain name, else quoted, so that a path is always
// one line of printable text.
func writeKey(b *strings.Builder, key []byte) {
	plain := len(key) > 0 && len(key) <= maxKeyInPath
	for _, c := range key {
		plain = plain && (c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if plain {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.Write(key)
		return
	}
	b.WriteByte('[')
	if len(key) > maxKeyInPath {
		b.WriteString(strconv.QuoteToASCII(string(key[:maxKeyInPath])))
		b.WriteString("…")
	} else {
		b.WriteString(strconv.QuoteToASCII(string(key)))
	}
	b.WriteByte(']')
}

// Fail records an error at the place of the last value. The first error stays; every read after it does
// nothing.
func (r *Reader) Fail(code, format string, args ...any) {
	r.fail(r.pos, code, format, args...)
}

// FailIn is Fail for a field of the last object.
func (r *Reader) FailIn(field, code, format string, args ...any) {
	if r.err != nil {
		return
	}
	r.fail(r.pos, code, format, args...)
	var b strings.Builder
	b.WriteString(r.err.At)
	writeKey(&b, []byte(field))
	r.err.At = b.String()
}

// FailBelow is Fail for a place below that of the last value: a path such as .a[3].b.
func (r *Reader) FailBelow(path, code, format string, args ...any) {
	if r.err == nil {
		r.fail(r.pos, code, format, args...)
		r.err.At += path
	}
}

func (r *Reader) fail(offset int, code, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Code: code, At: r.Path(), Offset: offset, Message: fmt.Sprintf(format, args...)}
	}
}

// syntax records a syntax error at offset i.
func (r *Reader) syntax(i int, expected string) {
	switch {
	case i >= len(r.data):
		r.fail(i, InvalidJSON, "the JSON text ends after %d bytes where %s should be", i, expected)
	case r.data[i] >= 0x21 && r.data[i] < 0x7f:
		r.fail(i, InvalidJSON, "%q at byte %d where %s should be", rune(r.data[i]), i, expected)
	default:
		r.fail(i, InvalidJSON, "byte 0x%02x at byte %d where %s should be", r.data[i], i, expected)
	}
}
