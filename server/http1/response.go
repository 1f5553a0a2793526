package http1

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/internal/poison"
)

// response is an http.ResponseWriter. One serves all requests of a connection.
//
// The header belongs to the handler until WriteHeader; its values are not changed. A response without a
// Content-Length is chunked. If it is aborted, the last chunk is missing. HTTP/1.0 has no chunks, so its
// clients cannot tell. A Write that cannot be sent ends the connection, and so does a response shorter
// than its Content-Length.
type response struct {
	c      *conn
	r      *http.Request
	header http.Header
	names  []string // of the header, sorted; those of the last response until WriteHeader

	status  int   // 0 until WriteHeader
	left    int64 // bytes still to be written, -1 if the response has no length
	chunked bool
	bare    bool  // the response has no body
	last    bool  // the connection ends with it
	failed  error // why sending failed

	// The unsent bytes: a head, room for the line before a chunk if the response is chunked, and part
	// of the body.
	//
	//	out   head · chunkRoom bytes · body
	//	      0      head              at
	out      *[]byte
	head, at int

	deadline bool // the handler has set one
	stale    bool // a deadline of an earlier response is set
}

const (
	// sendSize is how many bytes of a body are collected before they are sent.
	sendSize = 16 << 10
	// mostCopied bounds the buffer, and the buffers that are kept for other responses.
	mostCopied = 128 << 10
	// chunkRoom is for the length of a chunk, in hexadecimal digits, and a line end.
	chunkRoom = 16 + 2
)

// buffers are those of responses under way. Idle connections have none.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// begin makes w the response to r.
func (w *response) begin(r *http.Request) {
	clear(w.header)
	*w = response{
		c: w.c, r: r, header: w.header, names: w.names, left: -1, out: buffers.Get().(*[]byte),
		last: r.Close, stale: w.stale || w.deadline,
	}
	*w.out = (*w.out)[:0]
}

// release releases the buffer.
func (w *response) release() {
	poison.Bytes(*w.out)
	if cap(*w.out) <= 2*mostCopied {
		buffers.Put(w.out)
	}
	w.out, w.r = nil, nil
}

// Header returns the header, which WriteHeader sends.
func (w *response) Header() http.Header { return w.header }

// SetWriteDeadline is for http.ResponseController. The deadline ends with the response, and may be late
// by a sixteenth of the time until t.
func (w *response) SetWriteDeadline(t time.Time) error {
	w.deadline = true
	now := w.c.server.Now()
	if !t.After(now) { // there is none, or it has passed
		return w.c.writes.exactly(t)
	}
	return w.c.writes.after(now, t.Sub(now))
}

// EnableFullDuplex is for http.ResponseController. The handler must have read some of the body before it
// writes, so that a client that waits for 100-continue gets it.
func (w *response) EnableFullDuplex() error {
	w.c.body.duplex = true
	return nil
}

// SetReadDeadline is for http.ResponseController, while the body is read. Another goroutine may call it to
// end a Read. After the end of the body it does nothing.
func (w *response) SetReadDeadline(t time.Time) error {
	return w.c.watch.setReadDeadline(t)
}

// FlushError is for http.ResponseController. It sends what was written.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.failed != nil {
		return w.failed
	}
	return w.send(false)
}

// sendContinue asks the client for its body.
func (w *response) sendContinue() error {
	if !w.deadline {
		_ = w.c.writes.after(w.c.server.Now(), w.c.server.ReadTimeout)
		w.stale = true
	}
	_, err := io.WriteString(w.c.nc, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// WriteHeader starts the response, once. As in net/http it panics for an invalid status.
func (w *response) WriteHeader(status int) {
	if status < 200 || status > 999 {
		panic(fmt.Sprintf("no response has the status %d", status))
	}
	if w.status != 0 {
		return
	}
	w.status = status
	w.last = w.last || first(w.header["Connection"]) == "close" || w.c.server.stopping.Load()
	if b := &w.c.body; !b.duplex { // otherwise another goroutine may be reading
		w.last = w.last || !b.skip()
		b.shut = true
	}
	w.frame()
	out := append(*w.out, "HTTP/1."...)
	out = append(out, '0'+byte(w.r.ProtoMinor), ' ')
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	out = append(out, http.StatusText(status)...)
	out = append(out, "\r\nDate: "...)
	out = append(out, w.c.date(w.c.server.Now())...)
	out = append(out, "\r\n"...)
	out = w.appendFields(out)
	switch {
	case w.last:
		out = append(out, "Connection: close\r\n"...)
	case w.r.ProtoMinor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	if w.chunked {
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	out = append(out, "\r\n"...)
	w.head = len(out)
	if w.chunked {
		out = append(out, make([]byte, chunkRoom)...)
	}
	w.at = len(out)
	*w.out = out
}

// frame decides how the end of the response is marked.
func (w *response) frame() {
	empty := w.status == http.StatusNoContent || w.status == http.StatusNotModified
	if empty {
		w.header.Del("Content-Length")
	}
	w.bare = empty || w.r.Method == http.MethodHead
	if length := first(w.header["Content-Length"]); length != "" {
		n, err := strconv.ParseInt(length, 10, 64)
		if err == nil && n >= 0 {
			w.left = n
			return
		}
		w.header.Del("Content-Length")
	}
	switch {
	case w.bare:
	case w.r.ProtoMinor == 1:
		w.chunked = true
	default:
		w.last = true
	}
}

// first returns the first value of a field, or "".
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// lineEnds replaces line ends, which a value cannot have.
var lineEnds = strings.NewReplacer("\r", " ", "\n", " ")

// appendFields appends the header, in the order of its names.
func (w *response) appendFields(out []byte) []byte {
	w.sortNames()
	for _, name := range w.names {
		if name == "Connection" || name == "Transfer-Encoding" || name == "Date" {
			continue // this package sets these
		}
		for _, value := range w.header[name] {
			if strings.IndexByte(value, '\r') >= 0 || strings.IndexByte(value, '\n') >= 0 {
				value = lineEnds.Replace(value)
			}
			out = append(out, name...)
			out = append(out, ": "...)
			out = append(out, value...)
			out = append(out, "\r\n"...)
		}
	}
	return out
}

// sortNames makes names those of the header. They are mostly those of the last response.
func (w *response) sortNames() {
	same := len(w.names) == len(w.header)
	for i := 0; same && i < len(w.names); i++ {
		_, same = w.header[w.names[i]]
	}
	if same {
		return
	}
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
}

// Write writes the next bytes of the body.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case w.bare && w.r.Method != http.MethodHead:
		return 0, http.ErrBodyNotAllowed
	case w.bare:
		return len(p), nil
	case w.left >= 0 && int64(len(p)) > w.left:
		return 0, http.ErrContentLength
	case w.left >= 0:
		w.left -= int64(len(p))
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), mostCopied)
		*w.out = append(*w.out, rest[:n]...)
		rest = rest[n:]
		if len(*w.out)-w.at >= sendSize {
			if err := w.send(false); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// finish ends the response, and reports whether all of it was sent.
func (w *response) finish() bool {
	if w.status == 0 {
		if w.header.Get("Content-Length") == "" && w.r.Method != http.MethodHead {
			w.header.Set("Content-Length", "0")
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.left > 0 && !w.bare {
		w.abort()
		return false
	}
	w.last = w.last || !w.c.body.done // with full duplex, the header could not say so
	return w.failed == nil && w.send(true) == nil
}

// send sends the buffer.
func (w *response) send(last bool) error {
	if w.stale && !w.deadline {
		_ = w.c.writes.exactly(time.Time{})
	}
	w.stale = false
	if b := w.chunk(last); len(b) > 0 {
		if _, err := w.c.nc.Write(b); err != nil {
			w.failed = err
			return err
		}
	}
	w.head, w.at = 0, 0
	if w.chunked {
		w.at = chunkRoom
	}
	*w.out = (*w.out)[:w.at]
	return nil
}

// abort ends a response that will not be whole. It sends the buffer if that cannot look like a whole
// response, so that the client can tell an aborted response from none.
func (w *response) abort() {
	if w.failed == nil && !w.bare && (w.chunked || w.left > 0) {
		_ = w.send(false)
	}
}

// chunk returns the bytes to send: in a chunked response the buffer as a chunk, after the head, and with
// last the end of all chunks.
func (w *response) chunk(last bool) []byte {
	b := *w.out
	if !w.chunked {
		return b
	}
	gap := chunkRoom
	if n := len(b) - w.at; n > 0 {
		var room [chunkRoom]byte
		line := append(strconv.AppendInt(room[:0], int64(n), 16), "\r\n"...)
		copy(b[w.at-len(line):], line)
		gap -= len(line)
		b = append(b, "\r\n"...)
	}
	if last {
		b = append(b, "0\r\n\r\n"...)
	}
	*w.out = b // append may have moved it
	copy(b[gap:], b[:w.head])
	return b[gap:]
}
