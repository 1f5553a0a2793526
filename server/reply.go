package server

import (
	"net/http"
	"strconv"
	"time"
)

// An answer is the envelope
//
//	{"result":…,"message":"…","status":200,"time_ms":1}
//
// with the result first, because its end is not known when a long one begins.
// A handler calls begin, appends the result to x.out, calls flush now and then
// if the result may be long, and finish at its end. Until flushSize bytes are
// there nothing is sent, so that an error can still become the whole answer.

// begin starts an answer.
func (x *exchange) begin(status int) {
	x.status = status
	x.out = append(x.out[:0], `{"result":`...)
}

// pass sends what is there, which is not the end.
func (x *exchange) pass() error { return x.send(x.server.opt.Now(), false) }

// finish ends the answer and sends it.
func (x *exchange) finish(message string) error {
	now := x.server.opt.Now()
	x.out = append(x.out, `,"message":`...)
	x.out = appendString(x.out, message)
	x.endEnvelope(now)
	x.out = append(x.out, "}\n"...)
	return x.send(now, true)
}

// reply answers without a result.
func (x *exchange) reply(status int, message string) error {
	x.begin(status)
	x.out = append(x.out, "null"...)
	return x.finish(message)
}

// failed answers with an error. That it cannot be sent interests nobody.
func (x *exchange) failed(f *failure) {
	now := x.server.opt.Now()
	x.status = f.status
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

func (x *exchange) endEnvelope(now time.Time) {
	x.out = append(x.out, `,"status":`...)
	x.out = strconv.AppendInt(x.out, int64(x.status), 10)
	x.out = append(x.out, `,"time_ms":`...)
	x.out = strconv.AppendInt(x.out, now.Sub(x.start).Milliseconds(), 10)
}

// send sends what has been collected. Most answers end with their first piece or the
// second; of longer ones the pieces between are sent while the handler goes on.
func (x *exchange) send(now time.Time, last bool) error {
	more := x.sent && !last
	if !x.sent {
		x.sendHeader(now, last)
	}
	x.Release()
	var err error
	if more && x.beside() {
		if err = x.unsent(); err == nil && !x.enqueue(x.queue, x.ended) {
			err = x.err
		}
	} else if err = x.settle(); err == nil {
		err = x.write(x.out, last)
		x.out = x.out[:0]
	}
	if err != nil || last {
		return err
	}
	return x.Reacquire()
}

// write hands a piece to the connection, compressed if the answer is. The client has to take
// it within the time for progress from now on, however long the whole answer takes.
func (x *exchange) write(piece []byte, last bool) error {
	// A writer without deadlines is a test's or a wrapper's.
	_ = http.NewResponseController(x.w).SetWriteDeadline(x.server.opt.Now().Add(x.server.limits.progress))
	var err error
	if x.encoder == nil {
		_, err = x.w.Write(piece)
	} else if _, err = x.encoder.Write(piece); err == nil && last {
		err = x.encoder.Close()
	}
	if err != nil {
		return errGone
	}
	return nil
}

// fixedHeader is what every answer has. The values are shared by all of them.
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

func (x *exchange) sendHeader(now time.Time, last bool) {
	x.sent = true
	h := x.w.Header()
	for i := range fixedHeader {
		h[fixedHeader[i].name] = fixedHeader[i].values
	}
	x.own[0] = strconv.FormatInt(now.Sub(x.start).Milliseconds(), 10)
	h["X-Took-Ms"] = x.own[:1:1]
	if !last || len(x.out) >= compressFrom {
		x.chooseEncoder()
	}
	if x.encoder == nil && last {
		x.own[1] = strconv.Itoa(len(x.out))
		h["Content-Length"] = x.own[1:]
	}
	x.w.WriteHeader(x.status)
}
