package widecol

import (
	"errors"
	"fmt"
)

// Kind says what a caller can do about an error.
type Kind uint8

const (
	Internal   Kind = iota // a failure of the store's own
	Invalid                // the request is wrong: change it
	NotFound               // an unknown table or family
	Exists                 // the table or family is there already
	Conflict               // the state at the time did not allow it
	KeyReused              // the idempotency key belongs to a different request: use another
	KeyInUse               // a request with the idempotency key is under way: try again later
	TooLarge               // over a limit in bytes
	Overloaded             // nothing happened: try again later
	DiskFull               // nothing happened: free space first
	ReadOnly               // the log or manifest failed: no writes until a restart
	Unknown                // the outcome of a write is not known
	Corrupt                // stored data is damaged
	Closed                 // the store is shutting down
)

// Error is an error of a Store. Every error that a Store returns is one, or the error of a cancelled
// context.
type Error struct {
	Kind Kind
	// Code is a stable name for programs, such as "unknown_column_family".
	Code string
	// Index is the position in the list that the error is about, or -1: of a Mutation or a Family of the
	// request, a family in Filter.Families, or a key of ColumnsFilter.
	Index int
	// Path is the place in the request's RowFilter that the error is about, or "".
	Path string
	// Message is a sentence for people. It names the table, key or limit.
	Message string
	// Cause is the underlying error, or nil.
	Cause error
}

func (e *Error) Error() string {
	s := e.Message
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an Error without an index or cause.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Index: -1, Message: fmt.Sprintf(format, args...)}
}

// At returns a copy of e that is about element i of the request's list.
func (e *Error) At(i int) *Error {
	c := *e
	c.Index = i
	return &c
}

// at is At for any error: it returns an error that is no *Error unchanged.
func at(err error, i int) error {
	var e *Error
	if errors.As(err, &e) {
		return e.At(i)
	}
	return err
}

// KindOf returns the kind of err, Internal if it is no *Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// UnknownTable returns the error for a table that does not exist.
func UnknownTable(name string) *Error {
	return Errorf(NotFound, "unknown_table", "table %s does not exist", quote(name))
}

// TableExists returns the error for creating a table that exists.
func TableExists(name string) *Error {
	return Errorf(Exists, "table_exists", "table %s exists already", quote(name))
}

// UnknownFamily returns the error for a column family that a table does not have.
func UnknownFamily(table, family string) *Error {
	return Errorf(NotFound, "unknown_column_family", "table %s has no column family %s", quote(table), quote(family))
}

// UnknownGroup returns the error for a locality group that a table does not have.
func UnknownGroup(table, group string) *Error {
	return Errorf(NotFound, "unknown_locality_group", "table %s has no locality group %s", quote(table), quote(group))
}

// FamilyMoves returns the error for sending a family that moves to a third place.
func FamilyMoves(family string) *Error {
	return Errorf(Conflict, "column_family_moves", "column family %s moves already: wait for the end, or send it back to where it comes from", quote(family))
}

// FamilyExists returns the error for creating a column family that exists.
func FamilyExists(table, family string) *Error {
	return Errorf(Exists, "column_family_exists", "table %s has a column family %s already", quote(table), quote(family))
}
