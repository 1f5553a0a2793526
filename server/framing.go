package server

import (
	"bytes"
	"errors"
	"strconv"
)

// framing prevents request smuggling. It follows the requests of a connection and refuses what two
// HTTP parsers may read differently: lines that end without a carriage return, folded header lines,
// a head without a host, and a chunked body that also has a length or belongs to HTTP/1.0. net/http
// accepts all of these. A proxy in front may read them another way, and see two requests where
// net/http sees one.
//
// It looks at the bytes before net/http's parser gets them, and changes none.
type framing struct {
	next   lineKind
	skip   int64  // bytes until the next line: of a body, or of a chunk and its end
	length int64  // of the body, from the head so far; -1 if unknown
	chunks bool   // the head so far announces a chunked body
	v11    bool   // the request is HTTP/1.1
	host   bool   // the head so far has a Host
	begun  []byte // the start of a line, from earlier reads
	heads  uint64 // finished
}

// lineKind is the role of a line.
type lineKind uint8

const (
	requestLine lineKind = iota
	headerLine
	chunkLine
	trailerLine
)

var (
	errBareLF      = errors.New("a line ends without a carriage return")
	errFolded      = errors.New("a header line is continued")
	errTwoLengths  = errors.New("the body has a length and comes in chunks")
	errOldChunks   = errors.New("the body comes in chunks, which HTTP/1.0 does not have")
	errNoHost      = errors.New("a request of HTTP/1.1 names no host")
	errBadLength   = errors.New("the length of the body is no number")
	errLineTooLong = errors.New("a line is too long")
)

// maxLine bounds a line. http1 refuses shorter ones already.
const maxLine = 2 * maxHeader

// follow looks at the next bytes. With an error it returns how many bytes of p belong to the
// requests before the refused one.
func (f *framing) follow(p []byte) (good int, err error) {
	for i := 0; i < len(p); {
		if f.skip > 0 {
			n := min(f.skip, int64(len(p)-i))
			f.skip -= n
			i += int(n)
			continue
		}
		if f.next == requestLine && len(f.begun) == 0 {
			good = i
		}
		end := bytes.IndexByte(p[i:], '\n') + 1
		if end == 0 {
			if len(f.begun)+len(p)-i > maxLine {
				return good, errLineTooLong
			}
			f.begun = append(f.begun, p[i:]...)
			break
		}
		line := p[i : i+end]
		i += end
		if len(f.begun) > 0 {
			f.begun = append(f.begun, line...)
			line = f.begun
			f.begun = keep(f.begun, 1<<10)
		}
		if err := f.line(line); err != nil {
			return good, err
		}
	}
	return len(p), nil
}

// line handles a complete line.
func (f *framing) line(line []byte) error {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return errBareLF
	}
	switch f.next {
	case requestLine:
		f.next, f.length, f.chunks, f.host = headerLine, -1, false, false
		f.v11 = bytes.HasSuffix(text, []byte(" HTTP/1.1"))
		return nil
	case chunkLine:
		return f.chunk(text)
	}
	switch {
	case len(text) == 0:
		return f.endLines()
	case text[0] == ' ' || text[0] == '\t':
		return errFolded
	case f.next == headerLine:
		return f.field(text)
	}
	return nil
}

// field handles a header line.
func (f *framing) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
		if err != nil {
			return errBadLength
		}
		f.length = int64(n)
	case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.chunks = true
	case len(name) == len("Host") && bytes.EqualFold(name, []byte("Host")):
		f.host = true
	}
	return nil
}

// endLines handles the empty line that ends a head or the trailers.
func (f *framing) endLines() error {
	if f.next == trailerLine {
		f.next = requestLine
		return nil
	}
	f.heads++
	switch {
	case f.v11 && !f.host:
		return errNoHost // even if the path has a host, which net/http's parser accepts
	case f.chunks && f.length >= 0:
		return errTwoLengths
	case f.chunks && !f.v11:
		return errOldChunks
	case f.chunks:
		f.next = chunkLine
	default:
		f.next, f.skip = requestLine, max(f.length, 0)
	}
	return nil
}

// chunk handles the line before a chunk.
func (f *framing) chunk(line []byte) error {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimRight(size, " \t")), 16, 62)
	switch {
	case err != nil:
		return errBadLength
	case n == 0:
		f.next = trailerLine
	default:
		f.skip = int64(n) + int64(len("\r\n"))
	}
	return nil
}
