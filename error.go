package colonnade

import (
	"errors"
	"fmt"

	"github.com/colonnade-db/colonnade/widecol"
)

// Kinds of errors, for errors.Is. After any but ErrOutcomeUnknown nothing has changed, but see DeleteRows.
var (
	ErrInvalid        = errors.New("invalid")           // a call that has to be changed: a key, a value, a limit
	ErrNotFound       = errors.New("not found")         // a table, a family or a group that is not there
	ErrExists         = errors.New("exists already")    // a table or a family that is
	ErrConflict       = errors.New("conflict")          // what is there does not allow it
	ErrOverloaded     = errors.New("overloaded")        // it may work later: writes outrun the disk, or too many Snapshots are open
	ErrDiskFull       = errors.New("disk full")         // free space first
	ErrReadOnly       = errors.New("read-only")         // a write of the log has failed: no more until the directory is opened anew
	ErrOutcomeUnknown = errors.New("outcome unknown")   // a change that is applied as a whole, perhaps later, or not at all
	ErrCorrupt        = errors.New("corrupt")           // what is on disk is damaged
	ErrClosed         = errors.New("closed")            // after Close
	ErrInUse          = errors.New("directory is open") // of Open
)

// Error is an error of a DB.
type Error struct {
	Code  string // a stable name, such as "unknown_column_family", the same as in the API of the server
	Index int    // of the Mutation or Family of the call that it is about, or -1

	kind    error
	message string
	cause   error
}

func (e *Error) Error() string {
	if e.Index >= 0 {
		return fmt.Sprintf("item %d: %s", e.Index, e.message)
	}
	return e.message
}

// Is reports whether the error is of one of the kinds above.
func (e *Error) Is(target error) bool { return target != nil && target == e.kind }

// Unwrap returns what the error came of, or nil.
func (e *Error) Unwrap() error { return e.cause }

var kinds = map[widecol.Kind]error{
	widecol.Invalid: ErrInvalid, widecol.TooLarge: ErrInvalid, widecol.NotFound: ErrNotFound, widecol.Exists: ErrExists,
	widecol.Conflict: ErrConflict, widecol.Overloaded: ErrOverloaded, widecol.DiskFull: ErrDiskFull, widecol.ReadOnly: ErrReadOnly,
	widecol.Unknown: ErrOutcomeUnknown, widecol.Corrupt: ErrCorrupt, widecol.Closed: ErrClosed,
}

// failure turns an error of the store into one of this package. Those of a context stay as they are.
func failure(err error) error {
	var e *widecol.Error
	if !errors.As(err, &e) {
		return err
	}
	return asError(e)
}

func asError(e *widecol.Error) *Error {
	return &Error{Code: e.Code, Index: e.Index, kind: kinds[e.Kind], message: e.Error(), cause: e.Cause}
}

func invalid(code, message string) *Error {
	return &Error{Code: code, Index: -1, kind: ErrInvalid, message: message}
}

// at returns a copy of e that is about item i.
func (e *Error) at(i int) *Error {
	c := *e
	c.Index = i
	return &c
}
