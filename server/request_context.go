package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/server/http1"
	"github.com/colonnade-db/colonnade/widecol"
)

// requestContext is a request and the response that is being made for it. It belongs to the
// goroutine of its handler, except for what a sendQueue owns.
type requestContext struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	start  time.Time
	*scratch

	health bool   // of a route that responds during a shutdown
	table  string // the names in the path
	family string

	checkpoint string
	file       string // of the checkpoint

	maxBody  int64 // bytes that the body may have
	bodyRead bool  // no byte of the body is left unread
	admitted admission.Request

	pattern string          // of its route, "unknown" if there is none
	class   admission.Class // the same
	keyed   bool            // the same
	listing bool            // the same
	event   string          // the same
	scope   access.Scope    // the same; None before there is a route
	token   *access.Token   // of the sender; nil without access control, or where none is needed
	meter   *metrics.Route  // of its route
	spans   *spans          // nil if nobody follows the request

	quota               *quota.Control // that admitted the request, and is to be paid; nil without quotas
	paidRows, paidBytes int64          // so far
	asked               int64          // rows that a rows request asks for

	explain *explanation // of a read; nil if neither its client nor the log of slow queries asks for it

	received int64         // bytes of the body so far, inflated
	stats    widecol.Stats // of its queries; of a change the rows and cells that it wrote, as far as it knows

	// The response; see response.go.
	responseBuffer
	status  int
	asLines bool         // it is lines, not JSON
	asBytes bool         // it is the bytes of a file
	console *consoleFile // it is one; nil otherwise
	length  int64        // how many
	live    bool         // each line goes out as it is, at once
	sent    bool         // the header has gone out
	encoder encoder
	written int64 // bytes of the body so far, before compression
	sendQueue
}

// ServeHTTP finds the handler of a request and runs it. Here alone an error becomes a response.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newRequestContext()
	x.server, x.w, x.r, x.start, x.maxBody = s, w, r, s.opt.Now(), s.opt.MaxBody
	x.pattern, x.meter = unknownRoute, s.meters.unknown
	s.meters.Begin()
	x.responseBuffer = responseBuffer{out: x.collected[:0], to: x}
	x.admitted.Control = s.admission
	defer x.release()
	err := s.serve(x)
	if s.opt.Audit != nil {
		s.audit(x, err)
	}
	if err != nil {
		x.fail(err)
	}
	s.responses[x.status/100].Add(1)
}

// serve runs the handler of a request. A panic in it becomes an error, and leaves nothing locked:
// handlers close in a defer what they open.
func (s *Server) serve(x *requestContext) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.scratch, x.out = new(scratch), nil // whoever panicked may not have let go of it
			err = panicked(p)
		}
	}()
	if err := s.guard(x.r); err != nil {
		return err
	}
	handle, err := x.find()
	if err != nil {
		return err
	}
	if s.opt.Tracer != nil && !x.health {
		s.trace(x)
	}
	if err := s.authorize(x); err != nil {
		return err
	}
	if err := x.admitQuota(); err != nil {
		return err
	}
	if err := x.takeKey(); err != nil {
		return err
	}
	if !x.health {
		if !s.admission.Enter() {
			return shuttingDown()
		}
		defer s.admission.Leave()
	}
	return handle(s, x)
}

func (x *requestContext) ctx() context.Context { return x.r.Context() }

// changeContext returns the context for the one change of a request. After its deadline the outcome
// of the change is unknown.
func (x *requestContext) changeContext() (context.Context, context.CancelFunc) {
	ctx, cancel := http1.WithTimeout(x.r, x.server.timeouts.Write)
	if x.spans == nil {
		return ctx, cancel
	}
	return x.beginPart(ctx, "store change"), func() {
		x.endPart()
		cancel()
	}
}

func (x *requestContext) elapsed() time.Duration { return x.server.opt.Now().Sub(x.start) }

// fail responds with an error. If the response has begun, or the client has gone, it breaks the
// connection off: the client must not take a part for the whole.
func (x *requestContext) fail(err error) {
	gone := errors.Is(err, errGone) || errors.Is(err, context.Canceled)
	f := failureOf(err)
	if !gone && f.status >= http.StatusInternalServerError && !f.retry {
		x.logFailure(f)
	}
	if gone || x.sent {
		x.server.responses[0].Add(1)
		x.status = metrics.Aborted
		panic(http.ErrAbortHandler)
	}
	x.server.meters.Refused(f.code)
	h := x.w.Header()
	for _, field := range f.header {
		h.Set(field[0], field[1])
	}
	if f.code == "unsupported_encoding" {
		h.Set("Accept-Encoding", "gzip, zstd")
	}
	if f.retry {
		// Clients that were refused together should not come back together.
		h.Set("Retry-After", strconv.Itoa(x.server.retryAfter(f.after)))
	}
	if !x.bodyRead && x.r.ContentLength != 0 {
		x.abandonBody()
	}
	x.sendFailure(f)
}

// retryAfter returns Retry-After in seconds, 1 to 5: after rounded up, and at random up to as much
// more, so that clients that were refused together do not come back together. An after of 0 is
// unknown.
func (s *Server) retryAfter(after time.Duration) int {
	s.jitterMu.Lock()
	defer s.jitterMu.Unlock()
	if after <= 0 {
		return 1 + s.jitter.IntN(maxRetryAfter)
	}
	n := min(int((after+time.Second-1)/time.Second), maxRetryAfter)
	return n + s.jitter.IntN(min(n, maxRetryAfter-n)+1)
}

// maxRetryAfter bounds Retry-After, in seconds: the longest estimate, and a second for the random part.
const maxRetryAfter = int(admission.LongestRetry/time.Second) + 1

// abandonBody closes the connection after the response instead of reading the rest of the body. The
// client gets a moment to finish sending: closing at once could take the response from it. http1 does
// so by itself; the deadline is for other servers. HTTP/2 ends the stream alone.
func (x *requestContext) abandonBody() {
	if x.r.ProtoMajor != 1 {
		return
	}
	x.w.Header().Set("Connection", "close")
	_ = http.NewResponseController(x.w).SetReadDeadline(x.server.opt.Now().Add(x.server.timeouts.linger))
}

func (x *requestContext) logFailure(f *failure) {
	attrs := []any{"method", x.r.Method, "path", x.r.URL.Path, "status", f.status, "code", f.code, "message", f.message, "sent", x.sent}
	if f.cause != nil {
		attrs = append(attrs, "cause", f.cause)
	}
	x.server.opt.Log.Log(context.WithoutCancel(x.ctx()), slog.LevelError, "request failed", attrs...)
}

// release gives back what the request has taken.
func (x *requestContext) release() {
	x.Release()
	x.abandonSender() // of a response that is broken off
	x.dropEncoder()
	x.admitted.Close()
	took := x.elapsed()
	x.endTrace(took)
	x.payQuota()
	x.logSlow(took) // it looks at the query, which is part of the body
	x.meter.End(x.status, took, x.written)
	if x.server.opt.AccessLog != nil {
		x.logAccess(took)
	}
	x.collected = x.out
	x.scratch.reuse()
}
