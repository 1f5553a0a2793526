package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"colonnade/admission"
	"colonnade/server/http1"
)

// exchange is a request and the answer that is being made for it. It belongs
// to the goroutine of its handler, but for what outgoing has.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	start  time.Time
	*scratch

	health bool   // of a route that is answered during a shutdown
	table  string // the names in the path
	family string

	maxBody  int64 // bytes that the body may have
	bodyRead bool  // no byte of the body is left unread
	admitted admission.Request

	class admission.Class // of its route
	keyed bool            // the same

	// The answer; see reply.go.
	collector
	status  int
	sent    bool      // the header has gone out
	own     [2]string // values in the header that other answers do not share
	encoder encoder
	outgoing
}

// ServeHTTP finds the handler of a request, runs it, and answers for it where it
// fails. It is the only place that does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, w: w, r: r, start: s.opt.Now(), maxBody: s.opt.MaxBody, scratch: newScratch()}
	x.collector = collector{out: x.collected[:0], to: x}
	x.admitted.Control = s.admission
	defer x.release()
	if err := s.serve(x); err != nil {
		x.fail(err)
	}
	s.answered[x.status/100].Add(1)
}

// serve runs the handler of a request. A panic in it is an error like others,
// and leaves nothing locked: what handlers open, they close in a defer.
func (s *Server) serve(x *exchange) (err error) {
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
	if x.r.URL.RawQuery != "" {
		return refuse(http.StatusBadRequest, "unknown_parameter", atQuery, "no endpoint takes parameters in the query of the URL")
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

func (x *exchange) ctx() context.Context { return x.r.Context() }

// changing returns the context for a change; a request makes one. After its deadline
// nobody knows whether the change was applied.
func (x *exchange) changing() (context.Context, context.CancelFunc) {
	return http1.WithTimeout(x.r, x.server.limits.write)
}

func (x *exchange) elapsed() time.Duration { return x.server.opt.Now().Sub(x.start) }

// fail answers with an error. If the answer has begun, or nobody is there to
// read it, it breaks the connection off: the client cannot take what it got for
// the whole.
func (x *exchange) fail(err error) {
	gone := errors.Is(err, errGone) || errors.Is(err, context.Canceled)
	f := failureOf(err)
	if !gone && f.status >= http.StatusInternalServerError && !f.retry {
		x.logFailure(f)
	}
	if gone || x.sent {
		x.server.answered[0].Add(1)
		panic(http.ErrAbortHandler)
	}
	h := x.w.Header()
	if f.allow != "" {
		h.Set("Allow", f.allow)
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
	x.failed(f)
}

// retryAfter returns in how many seconds a refused client may come back: after, rounded up, and
// up to as much more, so that clients that were refused together do not come back together. An
// after of 0 says that nobody knows. The result is 1 to 5.
func (s *Server) retryAfter(after time.Duration) int {
	s.jitterMu.Lock()
	defer s.jitterMu.Unlock()
	if after <= 0 {
		return 1 + s.jitter.IntN(longestRetry)
	}
	n := min(int((after+time.Second-1)/time.Second), longestRetry)
	return n + s.jitter.IntN(min(n, longestRetry-n)+1)
}

// longestRetry bounds Retry-After, in seconds.
const longestRetry = 5

// abandonBody lets the connection end with the answer instead of reading a body
// that nobody wants. The client has a moment to finish what it is sending: closing
// on it at once could take the answer from it. http1 sees to that by itself; the
// deadline is for other servers.
func (x *exchange) abandonBody() {
	x.w.Header().Set("Connection", "close")
	_ = http.NewResponseController(x.w).SetReadDeadline(x.server.opt.Now().Add(x.server.limits.linger))
}

func (x *exchange) logFailure(f *failure) {
	attrs := []any{"method", x.r.Method, "path", x.r.URL.Path, "status", f.status, "code", f.code, "message", f.message, "sent", x.sent}
	if f.cause != nil {
		attrs = append(attrs, "cause", f.cause)
	}
	x.server.opt.Log.Log(context.WithoutCancel(x.ctx()), slog.LevelError, "request failed", attrs...)
}

// release gives back what the exchange has taken.
func (x *exchange) release() {
	x.Release()
	x.abandon() // of an answer that is broken off
	x.dropEncoder()
	x.admitted.Close()
	x.collected = x.out
	x.scratch.reuse()
}
