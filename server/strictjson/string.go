package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// ones times a byte is that byte eight times.
const ones = 0x0101010101010101

// special marks, in the high bit of each byte, the bytes of x that end a run of plain text: a quote, a
// backslash, a control character or a byte that is not ASCII. Only the lowest mark is certain: a
// subtraction may borrow from the byte above a marked one.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	backslash := x ^ ones*'\\'
	return ((quote - ones) | (backslash - ones) | (x - ones*0x20) | x) & (ones * 0x80)
}

// scanString returns the index of the closing quote of the string whose first byte is at i, and whether it
// has escapes. The index is -1 after an error.
func (r *Reader) scanString(i int) (end int, escaped bool) {
	data := r.data
	for {
		for i+8 <= len(data) {
			m := special(binary.LittleEndian.Uint64(data[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			r.syntax(len(data), "the end of a string")
			return -1, false
		}
		switch c := data[i]; {
		case c == '"':
			return i, escaped
		case c == '\\':
			escaped = true
			if i = r.scanEscape(i); i < 0 {
				return -1, false
			}
		case c < 0x20:
			r.fail(i, InvalidJSON, "control character 0x%02x at byte %d in a string: write it as an escape", c, i)
			return -1, false
		case c < utf8.RuneSelf:
			i++ // the last bytes of the text, one by one
		default:
			if i = r.scanRunes(i); i < 0 {
				return -1, false
			}
		}
	}
}

// scanRunes steps over runes that are not ASCII, from i on. It returns -1 for invalid UTF-8.
func (r *Reader) scanRunes(i int) int {
	for i < len(r.data) && r.data[i] >= utf8.RuneSelf {
		c, n := utf8.DecodeRune(r.data[i:])
		if c == utf8.RuneError && n == 1 {
			r.fail(i, InvalidUTF8, "byte 0x%02x at byte %d is not UTF-8", r.data[i], i)
			return -1
		}
		i += n
	}
	return i
}

// scanEscape returns the index after the escape whose backslash is at i, or -1. The two halves of a
// surrogate pair count as one escape.
func (r *Reader) scanEscape(i int) int {
	if i+1 < len(r.data) {
		switch r.data[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return i + 2
		}
	}
	c, ok := hex4(r.data[min(i, len(r.data)):])
	if !ok {
		r.fail(i, InvalidJSON, "invalid escape at byte %d", i)
		return -1
	}
	if !utf16.IsSurrogate(c) {
		return i + 6
	}
	low, ok := hex4(r.data[i+6:])
	if !ok || utf16.DecodeRune(c, low) == utf8.RuneError {
		r.fail(i, InvalidUTF8, "escape \\u%04x at byte %d is half of a surrogate pair", c, i)
		return -1
	}
	return i + 12
}

// hex4 reads an escape of the form \u0041 at the start of b.
func hex4(b []byte) (c rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, d := range b[2:6] {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
}

// unescape replaces the escapes of a string that scanString has accepted, in place: no escape is shorter
// than its character.
func unescape(s []byte) []byte {
	out := s[:0]
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(s[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := hex4(s[i+2:])
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
		i += 2
	}
	return out
}
