package server

import (
	"math"

	"github.com/colonnade-db/colonnade/server/strictjson"
	"github.com/colonnade-db/colonnade/widecol"
)

// decoder reads the body of a request by tables of the fields that each object takes: see fields. Bodies
// that carry data, which may have millions of objects, are read by hand-written loops, each beside the schema of what
// it takes.
//
// The first error is sticky, keeps its place, and ends every loop. See strictjson.Reader.
type decoder struct {
	strictjson.Reader
	x       *requestContext // whose body it is; nil between requests
	columns int             // column keys met so far
	filters int             // filters of filter trees met so far
	steps   int             // of the patterns of those
	ranges  int             // row keys and ranges in lists met so far
	wide    int             // items of a rows request so far that select more than a key
	most    int             // bounds filters within the current tree
}

// Codes of what a decoder refuses, besides those of strictjson.
const (
	unknownField      = "unknown_field"
	missingField      = "missing_field"
	conflictingFields = "conflicting_fields"
	emptyList         = "empty_list"
	tooManyColumns    = "too_many_columns"
	notAnInteger      = "not_an_integer"
	outOfRange        = strictjson.NumberOutOfRange
)

// unknown refuses the field that Key stepped to.
func (d *decoder) unknown() {
	d.Fail(unknownField, "there is no such field here")
}

// require refuses the object that was read last if it has no such field.
func (d *decoder) require(present bool, field string) {
	if !present {
		d.FailIn(field, missingField, "the field is required")
	}
}

// nonEmpty refuses the list that was read last if it has no elements.
func (d *decoder) nonEmpty(n int) {
	if n == 0 {
		d.Fail(emptyList, "the list must not be empty")
	}
}

// integer reads an integer from low to high. It refuses 1.0 and 1e3: what a client rounded, or
// meant as a fraction, must not pass as a count.
func (d *decoder) integer(low, high int64) int64 {
	raw := d.Number()
	if raw == nil {
		return 0
	}
	n, ok := strictjson.Int64(raw)
	switch {
	case !ok && !digits(raw):
		d.Fail(notAnInteger, "value must be an integer, written without fraction and exponent")
	case !ok || n < low || n > high:
		d.Fail(outOfRange, "value must be from %d to %d", low, high)
	}
	return n
}

// digits reports whether a number is written as an integer.
func digits(raw []byte) bool {
	for _, c := range raw {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// limit reads a number of things, 0 or more.
func (d *decoder) limit() int64 { return d.integer(0, math.MaxInt64) }

// rowKey reads the key of one row.
func (d *decoder) rowKey() []byte {
	key := d.bytes()
	if d.Err() == nil && (len(key) == 0 || len(key) > widecol.MaxRowKey) {
		d.Fail("invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(key), widecol.MaxRowKey)
	}
	return key
}

// failWith refuses the value that was read last if err is not nil.
func (d *decoder) failWith(err *widecol.Error) {
	if err != nil {
		d.Fail(err.Code, "%s", err.Message)
	}
}

// nothing accepts a body with no fields, or none at all.
func (d *decoder) nothing() {
	d.Object()
	for d.Key() {
		d.unknown()
	}
}

// decode reads the body of the request, waits for a slot, and parses the body with read. An
// optional body that is missing counts as an empty object.
func (x *requestContext) decode(optional bool, read func(*decoder)) error {
	if err := x.readBody(); err != nil {
		return err
	}
	if err := x.takeSlot(); err != nil {
		return err
	}
	if optional && len(x.body) == 0 {
		x.body = append(x.body, "{}"...)
	}
	d := &x.decoder
	d.Reset(x.body)
	d.x = x
	d.columns, d.filters, d.steps, d.ranges, d.wide = 0, 0, 0, 0, 0
	read(d)
	d.End()
	return d.Err()
}

// takeSlot waits for a slot of the route's class.
func (x *requestContext) takeSlot() error {
	if x.spans != nil {
		defer x.waited(x.server.opt.Now())
	}
	slot, err := x.admitted.Begin(x.ctx(), x.class)
	x.Slot = slot
	return err
}
