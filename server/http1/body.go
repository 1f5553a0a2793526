package http1

import (
	"io"
	"net/http"
	"strings"
)

// body is the body of a request, and what is to be done at its beginning and its end. One
// that comes in chunks is read by net/http. One serves all requests of a connection.
type body struct {
	c        *conn
	chunks   io.Reader // nil if the head says how long it is
	left     int64     // bytes that are not read yet, negative if the head does not say
	done     bool      // all of it was read
	shut     bool      // the answer has begun: nobody may read on, whether it is done or not
	expected bool      // the client waits for a word before it sends it
}

// mostSkipped is how many bytes of a body that a handler has left are read for it.
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

// end lets go of the body.
func (b *body) end() { b.chunks, b.shut = nil, true }

// Read reads the body. At its end the watch on the client begins.
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

// read reads on. The end comes with the last bytes, if the head said where it is.
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

// Close does nothing: what is left is skipped when the answer begins.
func (b *body) Close() error { return nil }

// skip reads what is left, if it is not too much, and reports whether that was all. A
// client that does not get the word for which it waits may send its body or not.
func (b *body) skip() bool {
	if b.done {
		return true
	}
	if b.expected || b.left > mostSkipped {
		return false
	}
	_, _ = io.CopyN(io.Discard, b, mostSkipped+1) // to its end, and see that
	return b.done
}
