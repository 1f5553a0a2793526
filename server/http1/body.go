package http1

import (
	"io"
	"net/http"
	"strings"
)

// body is the body of a request, with the work at its start and end. net/http reads chunked bodies. One
// body serves all requests of a connection.
type body struct {
	c        *conn
	chunks   io.Reader // nil if the head has a length
	left     int64     // unread bytes, negative if the head has no length
	done     bool      // all of it was read
	shut     bool      // the response has started: no more reads
	expected bool      // the client waits for 100-continue before it sends the body
	duplex   bool      // the handler reads while it writes
}

// mostSkipped bounds how much of a body that a handler left unread is skipped, in bytes.
const mostSkipped = 256 << 10

// begin takes over the body of r.
func (b *body) begin(r *http.Request) error {
	*b = body{c: b.c, left: r.ContentLength, done: r.ContentLength == 0}
	if b.left < 0 {
		b.chunks = r.Body
	}
	if expect := r.Header.Get("Expect"); expect != "" {
		if !strings.EqualFold(expect, "100-continue") {
			return &refusal{http.StatusExpectationFailed, "the only expectation is 100-continue"}
		}
		b.expected = r.ProtoAtLeast(1, 1) && !b.done
	}
	r.Body = b
	if b.done {
		r.Body = http.NoBody
	}
	return nil
}

// end releases the body.
func (b *body) end() { b.chunks, b.shut = nil, true }

// Read reads the body. At its end it starts the watch on the client.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.shut:
		return 0, http.ErrBodyReadAfterClose
	case b.done:
		return 0, io.EOF
	case b.expected:
		b.expected = false
		if err := b.c.response.sendContinue(); err != nil {
			return 0, err
		}
	}
	n, err := b.read(p)
	if err == io.EOF {
		b.done = true
		b.c.watch.start()
	}
	return n, err
}

// read reads more. It returns io.EOF with the last bytes if the head has a length.
func (b *body) read(p []byte) (int, error) {
	if b.chunks != nil {
		return b.chunks.Read(p)
	}
	n, err := b.c.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case b.left == 0:
		err = io.EOF
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing: the rest is skipped when the response starts.
func (b *body) Close() error { return nil }

// skip reads the rest, if it is not too long, and reports whether it reached the end. A client that
// waits for 100-continue and does not get it may send its body or not.
func (b *body) skip() bool {
	if b.done {
		return true
	}
	if b.expected || b.left > mostSkipped {
		return false
	}
	_, _ = io.CopyN(io.Discard, b, mostSkipped+1) // to its end, and notice it
	return b.done
}
