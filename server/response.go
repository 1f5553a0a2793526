package server

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/colonnade-db/colonnade/admission"
)

// A response is the envelope
//
//	{"result":…,"message":"…","status":200,"time_ms":1}
//
// The result comes first, because its end is not known when a long one begins. A handler calls
// begin, appends the result to x.out, calls flushIfFull now and then if the result may be long, and
// finish at the end. Nothing is sent before flushSize bytes are there, so that an error can still
// become the whole response.

// begin starts a response.
func (x *requestContext) begin(status int) {
	if x.class == admission.Write {
		x.endPart() // of a query, rows come while the answer is written
	}
	x.status = status
	x.out = append(x.out[:0], `{"result":`...)
}

// flush sends the buffer, which is not the end of the response.
func (x *requestContext) flush() error { return x.send(x.server.opt.Now(), false) }

// finish ends the response and sends it.
func (x *requestContext) finish(message string) error {
	now := x.server.opt.Now()
	x.out = append(x.out, `,"message":`...)
	x.out = appendString(x.out, message)
	x.endEnvelope(now)
	x.out = append(x.out, "}\n"...)
	return x.send(now, true)
}

// reply responds without a result.
func (x *requestContext) reply(status int, message string) error {
	x.begin(status)
	x.out = append(x.out, "null"...)
	return x.finish(message)
}

// sendFailure responds with an error. It ignores whether that can be sent.
func (x *requestContext) sendFailure(f *failure) {
	now := x.server.opt.Now()
	x.status, x.asLines, x.asBytes, x.console, x.live = f.status, false, false, nil, false
	x.out = append(x.out[:0], `{"message":`...)
	x.out = appendString(x.out, f.message)
	x.out = append(x.out, `,"result":null`...)
	x.endEnvelope(now)
	x.out = append(x.out, `,"error":{"code":`...)
	x.out = appendString(x.out, f.code)
	x.out = append(x.out, `,"at":`...)
	x.out = appendString(x.out, f.at)
	x.out = append(x.out, "}}\n"...)
	_ = x.send(now, true)
}

func (x *requestContext) endEnvelope(now time.Time) {
	x.out = append(x.out, `,"status":`...)
	x.out = strconv.AppendInt(x.out, int64(x.status), 10)
	x.out = append(x.out, `,"time_ms":`...)
	x.out = strconv.AppendInt(x.out, now.Sub(x.start).Milliseconds(), 10)
}

// send sends the buffer. Most responses end with their first or second chunk. The middle chunks
// of longer ones are sent by a goroutine while the handler goes on.
func (x *requestContext) send(now time.Time, last bool) error {
	more := x.sent && !last
	if !x.sent {
		x.sendHeader(now, last)
	}
	x.Release()
	var err error
	if more && x.startSender() {
		if err = x.sendError(); err == nil && !x.enqueue(x.queue, x.ended) {
			err = x.err
		}
	} else {
		if x.queue != nil { // the client may take its time
			err = x.finishSender()
			now = x.server.opt.Now()
		}
		if err == nil && x.status != http.StatusNotModified { // which has no body
			err = x.write(now, x.out, last)
			x.out = x.out[:0]
		}
	}
	if err != nil || last {
		return err
	}
	return x.Reacquire()
}

// write hands a chunk to the connection, compressed if the response is. From now on the client has the
// time for progress to take it, however long the whole response takes.
func (x *requestContext) write(now time.Time, chunk []byte, last bool) error {
	// A writer without deadlines is a test's or a wrapper's.
	_ = http.NewResponseController(x.w).SetWriteDeadline(now.Add(x.server.timeouts.Progress))
	x.written += int64(len(chunk))
	var err error
	if x.encoder == nil {
		_, err = x.w.Write(chunk)
	} else if _, err = x.encoder.Write(chunk); err == nil && last {
		err = x.encoder.Close()
	}
	if err != nil {
		return errGone
	}
	return nil
}

// fixedHeader is in every response. All of them share the values.
var fixedHeader = []struct {
	name   string // in canonical form
	values []string
}{
	{"Content-Type", []string{"application/json"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Cache-Control", []string{"no-store"}},
	{"Vary", []string{"Accept-Encoding"}},
	{"X-Server", []string{"colonnade"}},
}

var (
	linesContentType = []string{linesType}
	bytesContentType = []string{bytesType}
)

const bytesType = "application/octet-stream"

func (x *requestContext) sendHeader(now time.Time, last bool) {
	x.sent = true
	h := x.w.Header()
	for i := range fixedHeader {
		h[fixedHeader[i].name] = fixedHeader[i].values
	}
	if x.console != nil {
		maps.Copy(h, x.console.header)
	}
	if x.server.opt.Origins != nil {
		h.Add("Vary", "Origin")
	}
	own := new([2]string) // values that other responses do not share
	own[0] = strconv.FormatInt(now.Sub(x.start).Milliseconds(), 10)
	h["X-Took-Ms"] = own[:1:1]
	if x.asLines {
		h["Content-Type"] = linesContentType
	}
	if x.asBytes {
		h["Content-Type"] = bytesContentType
		h.Set("Content-Length", strconv.FormatInt(x.length, 10))
	}
	if !x.live && !x.asBytes && (!last || len(x.out) >= compressFrom) {
		x.chooseEncoder()
	}
	if x.encoder == nil && last && !x.asBytes && x.status != http.StatusNotModified {
		own[1] = strconv.Itoa(len(x.out))
		h["Content-Length"] = own[1:]
	}
	x.w.WriteHeader(x.status)
}
