package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is an answer with an error. docs/api.md lists the codes.
type Error struct {
	Status     int           // of HTTP; 0 in an outcome of MutateRows or WriteLines
	Code       string        // stable name of the failure, "" if it is not of a Colonnade server
	At         string        // the place in the request, "" if there is none
	Message    string        // for people, without At
	RetryAfter time.Duration // when to try again; 0 if the server did not say
}

// Kinds of failures, for errors.Is.
var (
	// ErrInvalid is a request that the server does not take: it has to be changed.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound is a table or a column family that is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists is a table or a column family that is there already.
	ErrExists = errors.New("exists already")
	// ErrConflict is a change that what is there does not allow: a row that holds something to which a Rule cannot be
	// applied, a family that moves, a table that is protected.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable is a failure that may pass: overload, a shutdown, a broken connection. A change with
	// this error was not applied, unless it is an ErrOutcomeUnknown as well.
	ErrUnavailable = errors.New("unavailable")
	// ErrOutcomeUnknown is a change that may be applied, as a whole, or not.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

func (e *Error) Error() string {
	text := e.Message
	if e.Status != 0 {
		text = fmt.Sprintf("%s (status %d)", e.Message, e.Status)
	}
	if e.At == "" || e.At == "path" { // the path is the package's own, and the message names the thing
		return text
	}
	return e.At + ": " + text
}

// kinds are the kinds of codes that their status does not tell.
var kinds = map[string]error{
	"unknown_table":          ErrNotFound,
	"unknown_column_family":  ErrNotFound,
	"unknown_locality_group": ErrNotFound,
	"column_family_moves":    ErrConflict,
	"deletion_protected":     ErrConflict,
	"table_exists":           ErrExists,
	"column_family_exists":   ErrExists,
	"not_a_number":           ErrConflict,
	"overflow":               ErrConflict,
	"not_appendable":         ErrConflict,
	"outcome_unknown":        ErrOutcomeUnknown,
	"value_too_large":        ErrInvalid,
	"request_too_large":      ErrInvalid,
	"invalid_column_key":     ErrInvalid,
	"invalid_value":          ErrInvalid,
}

// Is reports whether the error is of one of the kinds above.
func (e *Error) Is(target error) bool {
	if kind, ok := kinds[e.Code]; ok && kind == target {
		return true
	}
	switch target {
	case ErrUnavailable:
		return e.judge() != final
	case ErrInvalid:
		switch e.Status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
			return true
		}
	}
	return false
}

// malformedError is an answer that was sent as a success and cannot be understood.
type malformedError struct{ cause error }

func malformed(cause error) error { return &malformedError{cause} }

func (e *malformedError) Error() string {
	return "the answer is not what a Colonnade server says: " + e.cause.Error()
}

func (e *malformedError) Unwrap() error { return e.cause }

// newError returns an Error of a server.
func newError(status int, code, at, message string) *Error {
	return &Error{Status: status, Code: code, At: at, Message: strings.TrimPrefix(message, at+": ")} // said once is enough
}
