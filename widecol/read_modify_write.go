package widecol

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/colonnade-db/colonnade/cell"
)

// Rule is a step of a read-modify-write: it derives a column's next version from its newest one. A column
// that has none counts as 0, or as an empty value of the rule's type.
type Rule struct {
	Family, Qualifier []byte
	// Increment is added to an i64, if Append is nil.
	Increment int64
	// Append is appended to a value of type Type, cell.String or cell.Bytes. A value that exists keeps
	// its type, which may be the other of the two.
	Append []byte
	Type   cell.Type
	// Untyped takes values as Bigtable does, where they are bytes (ValueBytes). An increment adds to an i64, or to a
	// value of 8 bytes of the type cell.Bytes, big-endian, and wraps around; where there was no value, it writes the
	// latter. What is appended to a string may make it cell.Bytes.
	Untyped bool
}

// Check returns an error if no table can apply the rule. maxValue is as in Mutation.Check.
func (r *Rule) Check(maxValue int) *Error {
	switch {
	case len(r.Qualifier) > MaxQualifier:
		return Errorf(Invalid, "invalid_column_key", "qualifier has %d bytes, allowed are 0 to %d", len(r.Qualifier), MaxQualifier)
	case r.Append == nil:
		return nil
	case r.Type != cell.String && r.Type != cell.Bytes:
		return Errorf(Invalid, "invalid_type", "a value of type %s cannot be appended", r.Type)
	case len(r.Append) > maxValue:
		return Errorf(TooLarge, "value_too_large", "value has %d bytes, allowed are %d", len(r.Append), maxValue)
	case !r.Type.Fits(r.Append):
		return Errorf(Invalid, "invalid_value", "value of %d bytes does not have type %s", len(r.Append), r.Type)
	}
	return nil
}

// Apply returns the next version of a column whose newest version is old; nil for none. It fails with the kind
// Conflict: not_a_number, overflow, or not_appendable. maxValue is as in Mutation.Check. What is appended may come into
// the memory behind the old value, if that has room.
func (r *Rule) Apply(old *cell.Cell, maxValue int) (t cell.Type, value []byte, err *Error) {
	if r.Append == nil && r.Untyped {
		return r.addUntyped(old)
	}
	if r.Append == nil {
		value, err = r.add(old)
		return cell.I64, value, err
	}
	t = r.Type
	if old != nil {
		t, value = old.Type, old.Value
	}
	if t != cell.String && t != cell.Bytes {
		return t, nil, Errorf(Conflict, "not_appendable", "column %s:%s has a value of type %s, append needs string or bytes", r.Family, quote(string(r.Qualifier)), t)
	}
	if len(value)+len(r.Append) > maxValue {
		return t, nil, Errorf(TooLarge, "value_too_large", "value would have %d bytes, allowed are %d", len(value)+len(r.Append), maxValue)
	}
	value = append(value, r.Append...)
	if t == cell.String && !utf8.Valid(r.Append) { // the string before it was whole
		if r.Untyped {
			return cell.Bytes, value, nil
		}
		return t, nil, Errorf(Conflict, "not_appendable", "column %s:%s has a string, which would not be UTF-8 any more", r.Family, quote(string(r.Qualifier)))
	}
	return t, value, nil
}

// add returns the sum of a rule's increment and a number.
func (r *Rule) add(old *cell.Cell) ([]byte, *Error) {
	n := int64(0)
	if old != nil {
		if old.Type != cell.I64 || len(old.Value) != 8 {
			return nil, Errorf(Conflict, "not_a_number", "column %s:%s has a value of type %s, increment needs i64", r.Family, quote(string(r.Qualifier)), old.Type)
		}
		n = int64(binary.LittleEndian.Uint64(old.Value))
	}
	if r.Increment > 0 && n > math.MaxInt64-r.Increment || r.Increment < 0 && n < math.MinInt64-r.Increment {
		return nil, Errorf(Conflict, "overflow", "column %s:%s has %d, which cannot be incremented by %d", r.Family, quote(string(r.Qualifier)), n, r.Increment)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n+r.Increment)), nil
}

// addUntyped returns the sum of a rule's increment and a number.
func (r *Rule) addUntyped(old *cell.Cell) (t cell.Type, value []byte, err *Error) {
	switch {
	case old == nil:
		return cell.Bytes, binary.BigEndian.AppendUint64(nil, uint64(r.Increment)), nil
	case len(old.Value) != 8 || old.Type != cell.I64 && old.Type != cell.Bytes:
		return old.Type, nil, Errorf(Conflict, "not_a_number", "column %s:%s has a value of type %s with %d bytes, increment needs i64, or bytes with 8", r.Family, quote(string(r.Qualifier)), old.Type, len(old.Value))
	case old.Type == cell.I64:
		return cell.I64, binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(old.Value)+uint64(r.Increment)), nil
	}
	return cell.Bytes, binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(old.Value)+uint64(r.Increment)), nil
}

// ReadModifyWrite changes columns of a row by rules, in order.
type ReadModifyWrite struct {
	Row   []byte
	Rules []Rule
	// Granule is the unit of the times that are written, in microseconds. 0 is for the time of the commit.
	Granule int64
}

// NextTime returns the time of the next version of a column whose newest version is old, nil for none: that of
// the commit, or one above the newest if that is not older than now. With a Granule it is a multiple of that: now cut
// to one, or the next one above the newest. It fails if there is no later time.
func (u *ReadModifyWrite) NextTime(old *cell.Cell, now int64) (int64, *Error) {
	unit := max(u.Granule, 1)
	now -= now % unit
	switch {
	case (old == nil || old.Time < now) && u.Granule == 0:
		return CommitTime, nil
	case old == nil || old.Time < now:
		return now, nil
	case old.Time > cell.MaxTime-unit:
		return 0, Errorf(Conflict, "overflow", "the newest version has the time %d, so there can be no newer one", old.Time)
	}
	return old.Time - old.Time%unit + unit, nil
}

// Check returns an error if no table can apply u.
func (u *ReadModifyWrite) Check(maxValue int) error {
	if err := CheckRowKey(u.Row); err != nil {
		return err
	}
	if len(u.Rules) == 0 {
		return Errorf(Invalid, "empty_write", "a read-modify-write needs at least one rule")
	}
	if u.Granule < 0 || u.Granule > 1_000_000 {
		return Errorf(Invalid, "invalid_time", "times cannot be multiples of %d", u.Granule)
	}
	for i := range u.Rules {
		if err := u.Rules[i].Check(maxValue); err != nil {
			return err.At(i)
		}
	}
	return nil
}
