package server

import (
	"bytes"
	"errors"
	"strconv"
)

// framing follows the requests of a connection and refuses what different readers
// may take for different requests: lines that end without a carriage return,
// header lines that are continued on the next, a head that does not name the host, and
// a body that comes in chunks and has a length as well, or belongs to a request of
// HTTP/1.0. net/http's parser makes the best of all of these. A proxy in front may make
// something else of them, and then one request is two.
//
// It looks at the bytes on their way to net/http's parser and changes none.
type framing struct {
	next   lineKind
	skip   int64  // bytes until the next line: of a body, or of a chunk and its end
	length int64  // of the body, according to the head so far; -1 if it does not say
	chunks bool   // the head so far says that the body comes in chunks
	v11    bool   // the request is HTTP/1.1
	host   bool   // the head so far names the host
	begun  []byte // the beginning of a line, from earlier reads
	heads  uint64 // that have come to their end
}

// lineKind says what a line is.
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

// maxLine is how long a line may be before http1 has refused it.
const maxLine = 2 * maxHeader

// follow looks at the next bytes. With an error it returns how many bytes of p
// belong to the requests before the one that is refused.
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

// line takes one whole line.
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

// field takes a line of a head.
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

// endLines takes the empty line that ends a head or the trailers.
func (f *framing) endLines() error {
	if f.next == trailerLine {
		f.next = requestLine
		return nil
	}
	f.heads++
	switch {
	case f.v11 && !f.host:
		return errNoHost // also where the path names one, which net/http's parser takes
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

// chunk takes the line before a chunk.
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
