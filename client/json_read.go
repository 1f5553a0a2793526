package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON while it comes, and holds only the current string. After an error, which it keeps, it
// returns zero values and every list and object ends.
type jsonReader struct {
	src  io.Reader
	buf  []byte
	at   int // buf[at:end] was not read yet
	end  int
	err  error // io.ErrUnexpectedEOF at the end of src
	done bool  // src has ended, by io.EOF

	name []byte // of the last field; scratch once that is known
	text []byte // of the last key or value
}

// readSize is how much is read at once: less than a server sends at once.
const readSize = 32 << 10

func newJSONReader(src io.Reader) jsonReader {
	return jsonReader{src: src, buf: make([]byte, readSize)}
}

func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = malformed(fmt.Errorf(format, args...))
	}
}

// fill reads more when all of the buffer was read.
func (r *jsonReader) fill() bool {
	for range 100 {
		if r.err != nil {
			return false
		}
		n, err := r.src.Read(r.buf)
		if n > 0 {
			r.at, r.end = 0, n
			return true // the next Read repeats an err
		}
		if err == io.EOF {
			r.done, err = true, io.ErrUnexpectedEOF
		}
		r.err = err
	}
	r.err = io.ErrNoProgress
	return false
}

// peek returns the next byte that is no white space, 0 at the end and after an error.
func (r *jsonReader) peek() byte {
	for {
		for ; r.at < r.end; r.at++ {
			switch c := r.buf[r.at]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c
			}
		}
		if !r.fill() {
			return 0
		}
	}
}

// open reads the byte that begins something.
func (r *jsonReader) open(c byte) bool {
	if got := r.peek(); got != c {
		r.fail("%q where %q is expected", got, c)
		return false
	}
	r.at++
	return true
}

// more reports whether the object or list that ends with a byte has an n-th element, counted from 0. It reads
// what is before the element, or the end.
func (r *jsonReader) more(n int, end byte) bool {
	c := r.peek()
	switch {
	case r.err != nil:
		return false
	case c == end:
		r.at++
		return false
	case n > 0:
		return r.open(',')
	}
	return true
}

// key reads the name of a field, valid until the next one.
func (r *jsonReader) key() []byte {
	r.name = r.string(r.name[:0])
	r.open(':')
	return r.name
}

// string reads a string and appends it to dst.
func (r *jsonReader) string(dst []byte) []byte {
	if !r.open('"') {
		return dst
	}
	for {
		i := r.at
		for i < r.end && r.buf[i] != '"' && r.buf[i] != '\\' {
			i++
		}
		dst = append(dst, r.buf[r.at:i]...)
		r.at = i
		switch {
		case i == r.end:
			if !r.fill() {
				return dst
			}
		case r.buf[i] == '"':
			r.at++
			return dst
		default:
			r.at++
			dst = r.escape(dst)
		}
	}
}

// next returns the next byte.
func (r *jsonReader) next() byte {
	if r.at == r.end && !r.fill() {
		return 0
	}
	c := r.buf[r.at]
	r.at++
	return c
}

// escape reads what follows a backslash.
func (r *jsonReader) escape(dst []byte) []byte {
	switch c := r.next(); c {
	case '"', '\\', '/':
		return append(dst, c)
	case 'b':
		return append(dst, '\b')
	case 'f':
		return append(dst, '\f')
	case 'n':
		return append(dst, '\n')
	case 'r':
		return append(dst, '\r')
	case 't':
		return append(dst, '\t')
	case 'u':
		return r.unicode(dst)
	default:
		r.fail("an escape \\%c", c)
		return dst
	}
}

func (r *jsonReader) unicode(dst []byte) []byte {
	c := r.hex4()
	if utf16.IsSurrogate(c) {
		if r.next() != '\\' || r.next() != 'u' {
			r.fail("half a surrogate pair")
			return dst
		}
		if c = utf16.DecodeRune(c, r.hex4()); c == utf8.RuneError {
			r.fail("half a surrogate pair")
		}
	}
	return utf8.AppendRune(dst, c)
}

func (r *jsonReader) hex4() rune {
	digits := [4]byte{r.next(), r.next(), r.next(), r.next()}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		r.fail("an escape \\u%s", digits[:])
	}
	return rune(n)
}

// word reads a number or a literal and appends it to dst.
func (r *jsonReader) word(dst []byte) []byte {
	before := len(dst)
	r.peek()
	for r.err == nil {
		i := r.at
		for i < r.end && wordByte(r.buf[i]) {
			i++
		}
		dst = append(dst, r.buf[r.at:i]...)
		if r.at = i; i < r.end || !r.fill() {
			break
		}
	}
	if len(dst) == before {
		r.fail("%q where a value is expected", r.peek())
	}
	return dst
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// int reads an integer. It uses name.
func (r *jsonReader) int() int64 {
	r.name = r.word(r.name[:0])
	n, err := strconv.ParseInt(string(r.name), 10, 64)
	if err != nil {
		r.fail("%q where an integer is expected", r.name)
	}
	return n
}

var strictBase64 = base64.StdEncoding.Strict()

// bytes reads a key into text: a string, or an object with its base64.
func (r *jsonReader) bytes() []byte {
	if r.peek() != '{' {
		r.text = r.string(r.text[:0])
		return r.text
	}
	r.open('{')
	found := false
	for n := 0; r.more(n, '}'); n++ {
		if string(r.key()) == "base64" {
			found = true
			r.text = r.base64(r.string(r.text[:0]))
		} else {
			r.skip()
		}
	}
	if !found {
		r.fail("a key without base64")
	}
	return r.text
}

// base64 decodes a text in place.
func (r *jsonReader) base64(text []byte) []byte {
	n, err := strictBase64.Decode(text, text)
	if err != nil {
		r.fail("bytes: %w", err)
	}
	return text[:n]
}

// skip reads any value and drops it. It uses name.
func (r *jsonReader) skip() {
	depth := 0
	for {
		switch c := r.peek(); c {
		case 0:
			r.fail("a zero byte")
			return
		case '"':
			r.name = r.string(r.name[:0])
		case '{', '[':
			depth++
			r.at++
		case '}', ']':
			depth--
			r.at++
		case ',', ':':
			r.at++
		default:
			r.name = r.word(r.name[:0])
		}
		if depth <= 0 || r.err != nil {
			return
		}
	}
}

var errTrailing = errors.New("bytes behind it")

// finish reads the end of src, behind a whole value.
func (r *jsonReader) finish() {
	switch r.peek(); {
	case r.at < r.end:
		r.fail("%w", errTrailing)
	case r.done:
		r.err = io.EOF
	}
}
