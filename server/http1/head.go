package http1

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
)

// lastHead is the head that a connection had last, and the request that net/http's parser
// made of it. Most clients send the same one over and over, but for the length of the
// body. The same bytes are the same request, so those are not parsed again.
//
//	POST /write HTTP/1.1 · Host: x · Content-Length: 581 · Accept: */* · ·
//	text ─────────────────────────────────────────┤   ├─────────────────
//	                                               cut
type lastHead struct {
	kept    bool         // the rest is meaningful
	text    []byte       // the head without the value of Content-Length
	cut     int          // where in text that was, or its end
	request http.Request // without a body
}

// Of each connection that waits one head is kept, if it has at most so many bytes and
// fields: those take more memory than their bytes.
const (
	mostHeadKept   = 1 << 10
	mostFieldsKept = 16
)

// headEnd ends a head.
const headEnd = "\r\n\r\n"

// again returns the request of a whole head that is like the last one, or nil. It has a
// length and no body yet; URL and header are those of all requests with that head.
func (l *lastHead) again(head []byte) *http.Request {
	before, after := l.text[:l.cut], l.text[l.cut:]
	digits := len(head) - len(l.text)
	if !l.kept || digits < 0 || !bytes.HasPrefix(head, before) || !bytes.HasSuffix(head, after) {
		return nil
	}
	length, ok := int64(0), digits == 0
	if len(after) > 0 {
		length, ok = parseLength(head[l.cut : l.cut+digits])
	}
	if !ok {
		return nil
	}
	r := l.request
	r.ContentLength = length
	return &r
}

// note forgets the last head and takes down the next one, which is about to be parsed, or
// nil if it is not there yet.
func (l *lastHead) note(head []byte) {
	l.kept, l.cut, l.text = false, 0, l.text[:0]
	if len(head) <= mostHeadKept {
		l.text = append(l.text, head...)
	}
}

// keep has again know the head that was noted, of which the parser has made r.
func (l *lastHead) keep(r *http.Request) {
	from, to, ok := findLength(l.text)
	lines := bytes.Count(l.text, []byte("\n")) // that of the request, the fields, and an empty one
	if !ok || r.ContentLength < 0 || lines-2 > mostFieldsKept {
		return
	}
	l.kept, l.cut = true, from
	l.text = slices.Delete(l.text, from, to)
	l.request = *r
	l.request.Body = nil
}

// findLength returns where in a head the value of Content-Length is, or an empty range at
// its end if it has no such field. It is not ok if there is no head, where the parser may see
// other lines than this does, or if there are two such fields. The line of the request is none:
// the parser takes no method with a colon.
func findLength(head []byte) (from, to int, ok bool) {
	from, to, ok = len(head), len(head), len(head) > 0
	at := 0
	for line := range bytes.SplitAfterSeq(head, []byte("\n")) {
		text, ended := bytes.CutSuffix(line, []byte("\r\n"))
		if len(line) > 0 && (!ended || line[0] == ' ' || line[0] == '\t') {
			return 0, 0, false
		}
		name, value, _ := bytes.Cut(text, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if to < len(head) {
				return 0, 0, false
			}
			to = at + len(text)
			from = to - len(bytes.TrimPrefix(value, []byte(" ")))
		}
		at += len(line)
	}
	return from, to, ok
}

// parseLength reads a length of digits alone.
func parseLength(digits []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(digits), 10, 63)
	return int64(n), err == nil
}
