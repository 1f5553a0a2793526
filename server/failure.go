package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"colonnade/admission"
	"colonnade/server/strictjson"
	"colonnade/widecol"
)

// failure is an error that is answered to the client as it stands.
type failure struct {
	status  int
	code    string        // a stable name for programs
	at      string        // the part of the request that it is about
	message string        // a sentence that names the thing
	retry   bool          // nothing has happened, and the same request may well succeed in a moment
	after   time.Duration // when, as far as is known
	allow   string        // the methods of the route, for 405
	cause   error         // for the log alone
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// panicked makes an error of a panic that was recovered, with its stack.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// Places of a request outside its body.
const (
	atPath   = "path"
	atQuery  = "query"
	atHeader = "header"
	atBody   = ""
)

// refuse makes a failure.
func refuse(status int, code, at, format string, args ...any) *failure {
	return &failure{status: status, code: code, at: at, message: fmt.Sprintf(format, args...)}
}

// errGone ends a request whose client does not listen any more.
var errGone = errors.New("the client has gone")

// statusOf is the HTTP status of each kind of store error.
var statusOf = map[widecol.Kind]int{
	widecol.Internal:   http.StatusInternalServerError,
	widecol.Invalid:    http.StatusBadRequest,
	widecol.NotFound:   http.StatusNotFound,
	widecol.Exists:     http.StatusConflict,
	widecol.Conflict:   http.StatusConflict,
	widecol.KeyReused:  http.StatusUnprocessableEntity,
	widecol.KeyInUse:   http.StatusConflict,
	widecol.TooLarge:   http.StatusRequestEntityTooLarge,
	widecol.Overloaded: http.StatusServiceUnavailable,
	widecol.DiskFull:   http.StatusInsufficientStorage,
	widecol.ReadOnly:   http.StatusServiceUnavailable,
	widecol.Unknown:    http.StatusGatewayTimeout,
	widecol.Corrupt:    http.StatusInternalServerError,
	widecol.Closed:     http.StatusServiceUnavailable,
}

// failureOf turns any error of a handler into a failure. Of an error that is
// not meant for clients it tells only that it happened.
func failureOf(err error) *failure {
	var f *failure
	var input *strictjson.Error
	var stored *widecol.Error
	var refused *admission.Refusal
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &refused):
		return &failure{status: http.StatusServiceUnavailable, code: "overloaded", message: refused.Reason, retry: true, after: refused.RetryAfter}
	case errors.As(err, &input):
		return &failure{status: http.StatusBadRequest, code: input.Code, at: input.At, message: input.Error()}
	case errors.As(err, &stored):
		status, ok := statusOf[stored.Kind]
		if !ok {
			status = http.StatusInternalServerError
		}
		retry := stored.Kind == widecol.Overloaded || stored.Kind == widecol.Closed || stored.Kind == widecol.KeyInUse
		return &failure{status: status, code: stored.Code, at: namedAt(stored), message: stored.Message, retry: retry, cause: stored.Cause}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{status: http.StatusGatewayTimeout, code: "outcome_unknown", message: "the store took too long: whether the change was applied is not known", cause: err}
	}
	return &failure{status: http.StatusInternalServerError, code: "internal", message: "internal error", cause: err}
}

// namedAt is where a request names what a store's error is about, unless placed
// knows better: only a path names what is there or is not, and only the header a key.
func namedAt(err *widecol.Error) string {
	switch err.Kind {
	case widecol.NotFound, widecol.Exists:
		return atPath
	case widecol.KeyReused, widecol.KeyInUse:
		return atHeader
	}
	return atBody
}

// placed says which part of the request a store's error is about. at gets the
// error's code and its index in the list that the store was given; atBody says
// that it does not know.
func placed(err error, at func(code string, index int) string) error {
	var stored *widecol.Error
	if !errors.As(err, &stored) {
		return err
	}
	f := failureOf(stored)
	if place := at(stored.Code, stored.Index); place != atBody {
		f.at = place
		f.message = place + ": " + f.message
	}
	return f
}

func shuttingDown() error { return later("shutting_down", "the server is shutting down") }

func overloaded() error { return later("overloaded", "too many bytes of other requests are under way") }

func later(code, message string) error {
	return &failure{status: http.StatusServiceUnavailable, code: code, message: message, retry: true}
}

// shorten keeps what a client sent short enough for a message.
func shorten(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
