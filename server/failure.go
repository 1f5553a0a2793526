package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/widecol"
)

// failure is an error that the client gets as it is.
type failure struct {
	status  int
	code    string        // a stable name for programs
	at      string        // the place in the request
	message string        // a sentence that names what is wrong
	retry   bool          // nothing has changed, and the same request may soon succeed
	after   time.Duration // when to retry; 0 if unknown
	access  bool          // it is about the token of the request, for the audit log
	header  [][2]string   // more fields of the header
	cause   error         // for the log alone
}

// with adds a field to the header of the response.
func (f *failure) with(name, value string) *failure {
	f.header = append(f.header, [2]string{name, value})
	return f
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

// panicked turns a recovered panic into an error with its stack.
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

// errGone ends a request whose client has gone away.
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

// failureOf turns any error of a handler into a failure. It hides the text of internal errors.
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

// namedAt returns the default place of a store's error in the request. Missing and existing things
// are named by the path, keys by the header.
func namedAt(err *widecol.Error) string {
	switch err.Kind {
	case widecol.NotFound, widecol.Exists:
		return atPath
	case widecol.KeyReused, widecol.KeyInUse:
		return atHeader
	}
	return atBody
}

// placed adds to a store's error its place in the request. at gets the error's code and the index
// in the list that the store was given. It returns atBody if it does not know the place.
func placed(err error, at func(code string, index int) string) error {
	var stored *widecol.Error
	if !errors.As(err, &stored) {
		return err
	}
	f := failureOf(stored)
	if place := at(stored.Code, stored.Index); place != atBody {
		f.at = place
		if inBody(place) {
			f.message = place + ": " + f.message
		}
	}
	return f
}

// inBody reports whether a place is in the body. Such a place begins the message, as it does in an error of
// strictjson. Of the other parts of a request the message itself says what is wrong.
func inBody(place string) bool { return place != atPath && place != atQuery && place != atHeader }

func shuttingDown() error { return later("shutting_down", "the server is shutting down") }

// charge takes memory for a request. Without room for it the request is refused: for now, or for good if it would need
// more than all requests together may have.
func charge(r *admission.Request, n int64) error {
	switch {
	case r.Charge(n):
		return nil
	case r.TooLarge(n):
		return refuse(http.StatusRequestEntityTooLarge, "request_too_large", atBody, "the request needs more memory than all requests together may have: divide it, or raise the server's memory limit")
	}
	return later("overloaded", "too many bytes of other requests are under way")
}

func later(code, message string) error {
	return &failure{status: http.StatusServiceUnavailable, code: code, message: message, retry: true}
}

// shorten cuts client input to a length that fits a message.
func shorten(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
