package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// refusal is the response to an invalid request. The connection ends with it.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string {
	return fmt.Sprint(r.status, " ", http.StatusText(r.status), ": ", r.reason)
}

// errHeadTooLong ends the reading of a head.
var errHeadTooLong = errors.New("the head is too long")

// readRequest waits up to wait for the start of a request, reads its head, and prepares its body. It
// returns a *refusal to be sent to the client, even if the client stopped in the middle of a line. Other
// errors are not sent.
func (c *conn) readRequest(wait time.Duration) (*http.Request, error) {
	if c.in.Buffered() == 0 {
		_ = c.reads.after(c.server.Now(), wait)
		if _, err := c.in.Peek(1); err != nil {
			return nil, err
		}
	}
	head := c.wholeHead()
	var begun time.Time // of a head that is still arriving
	if head == nil {
		begun = c.server.Now()
		_ = c.reads.after(begun, c.server.HeaderTimeout)
	}
	r := c.last.again(head)
	if r != nil {
		_, _ = c.in.Discard(len(head))
	} else {
		var err error
		if r, err = c.parse(head); err != nil {
			return nil, err
		}
	}
	if err := c.body.begin(r); err != nil {
		return nil, err
	}
	if r.ContentLength < 0 || r.ContentLength > int64(c.in.Buffered()) {
		if head != nil {
			begun = c.server.Now()
		}
		_ = c.reads.after(begun, c.server.ReadTimeout)
	}
	return r, nil
}

// parse parses a head with net/http's parser: the given one, or, if it is nil, one that may still be
// arriving.
func (c *conn) parse(head []byte) (*http.Request, error) {
	c.last.note(head)
	c.limit.left = max(0, c.server.MaxHeader+readAhead-int64(c.in.Buffered()))
	r, err := http.ReadRequest(c.in)
	tooLong := c.limit.left == 0
	c.limit.left = -1
	if err != nil {
		return nil, refusalOf(err, tooLong)
	}
	if err := check(r); err != nil {
		return nil, err
	}
	// The length is in ContentLength, as the host is in Host.
	delete(r.Header, "Content-Length")
	r.RemoteAddr = c.from
	r = r.WithContext(c.ctx)
	c.last.keep(r)
	return r, nil
}

// readAhead is how many bytes of a body the buffer may hold after it has read a head. The limit of a head
// is inexact by as much.
const readAhead = 4 << 10

// wholeHead returns the next head if all of it is in the buffer, as is usual, else nil. Reading it then
// needs no wait and no deadline. The result is valid until the next read of the connection.
func (c *conn) wholeHead() []byte {
	there, _ := c.in.Peek(c.in.Buffered())
	end := bytes.Index(there, []byte(headEnd))
	if end < 0 {
		return nil
	}
	return there[:end+len(headEnd)]
}

// refusalOf returns the response to a head that cannot be read.
func refusalOf(err error, tooLong bool) error {
	var failed *net.OpError // of the connection
	switch {
	case tooLong:
		return &refusal{http.StatusRequestHeaderFieldsTooLarge, "the head of the request is too long"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &failed):
		return err
	// net/http has no name for this error.
	case strings.HasPrefix(err.Error(), "unsupported transfer encoding"), strings.HasPrefix(err.Error(), "too many transfer encodings"):
		return &refusal{http.StatusNotImplemented, "the only transfer encoding is chunked"}
	}
	return &refusal{http.StatusBadRequest, "the request is malformed"}
}

// check refuses invalid requests that net/http's parser accepts.
func check(r *http.Request) error {
	if r.ProtoMajor != 1 || r.ProtoMinor > 1 {
		return &refusal{http.StatusHTTPVersionNotSupported, "the protocol is HTTP/1.1"}
	}
	if r.Host == "" && r.ProtoMinor == 1 {
		return &refusal{http.StatusBadRequest, "the request names no host"}
	}
	if strings.ContainsFunc(r.Host, notOfHost) {
		return &refusal{http.StatusBadRequest, "the host is malformed"}
	}
	for name := range r.Header {
		if name == "" || strings.Contains(name, " ") {
			return &refusal{http.StatusBadRequest, "the name of a header field is malformed"}
		}
	}
	return nil
}

// notOfHost reports whether a character is invalid in a host and port (RFC 3986, section 3.2.2).
func notOfHost(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return !strings.ContainsRune("!$%&'()*+,-.:;=[]_~", c)
}

// reject responds to an invalid request, if the client is still there.
func (c *conn) reject(err error) {
	var f *refusal
	if !errors.As(err, &f) {
		return
	}
	_ = c.writes.after(c.server.Now(), c.server.LingerTimeout)
	_, err = fmt.Fprintf(c.nc, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n%v\n", f.status, http.StatusText(f.status), f)
	if err == nil {
		c.body.done = false // unknown
		c.leave()
	}
}
