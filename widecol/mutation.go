package widecol

import (
	"math"

	"github.com/colonnade-db/colonnade/cell"
)

// CommitTime, as the Time of a Mutation, stands for the time of the commit: one
// for the whole request, larger than that of every earlier commit.
const CommitTime int64 = -1

// Op is what a Mutation does.
type Op uint8

const (
	Set          Op = iota // write one version of a cell
	DeleteColumn           // delete the versions of a column with a time from Time to End, Time included, End not
	DeleteFamily           // delete the cells of the row in a family
	DeleteRow              // delete all cells of the row
	Merge                  // combine a value with the version of a time, by the MergeOperator of the family
)

// Mutation changes one row. The mutations of a row apply in the order of their list: a Set behind a deletion
// stays. A call borrows the byte slices until it returns.
type Mutation struct {
	Row       []byte
	Family    []byte    // not of DeleteRow
	Qualifier []byte    // of Set, Merge and DeleteColumn
	Value     []byte    // of Set and Merge, encoded as cell.Type says
	Time      int64     // of Set and Merge: 0 to cell.MaxTime; of Set also CommitTime. Of DeleteColumn: 0 for the first time
	End       int64     // of DeleteColumn: above Time, or EndOfTime
	Type      cell.Type // of Set: not cell.None. Of Merge: cell.I64
	Op        Op
}

// EndOfTime, as the End of a Mutation or TimeRange, is above every time.
const EndOfTime int64 = math.MaxInt64

// Writes reports whether the mutation writes a version, and deletes nothing.
func (m *Mutation) Writes() bool { return m.Op == Set || m.Op == Merge }

// Check returns an error if no table can apply the mutation. maxValue is the store's limit on a value, in
// bytes.
func (m *Mutation) Check(maxValue int) *Error {
	if err := CheckRowKey(m.Row); err != nil {
		return err
	}
	switch {
	case len(m.Qualifier) > MaxQualifier:
		return Errorf(Invalid, "invalid_column_key", "qualifier has %d bytes, allowed are 0 to %d", len(m.Qualifier), MaxQualifier)
	case m.Op == DeleteColumn && (m.Time < 0 || m.Time >= m.End):
		return Errorf(Invalid, "invalid_time", "times from %d to %d are no range: the start must be 0 or more and below the end", m.Time, m.End)
	case m.Op > Merge:
		return Errorf(Invalid, "invalid_mutation", "mutation %d is unknown", m.Op)
	case m.Op == Merge && (m.Type != cell.I64 || m.Time == CommitTime):
		return Errorf(Invalid, "invalid_mutation", "what is merged must have the type i64 and a time")
	case !m.Writes():
		return nil
	case len(m.Value) > maxValue:
		return Errorf(TooLarge, "value_too_large", "value has %d bytes, allowed are %d", len(m.Value), maxValue)
	case m.Time != CommitTime && (m.Time < 0 || m.Time > cell.MaxTime):
		return Errorf(Invalid, "invalid_time", "time %d is outside 0 to %d", m.Time, cell.MaxTime)
	case !m.Type.Fits(m.Value):
		return Errorf(Invalid, "invalid_value", "value of %d bytes does not have type %s", len(m.Value), m.Type)
	}
	return nil
}

// CheckRowKey returns an error unless a row may have the key.
func CheckRowKey(row []byte) *Error {
	if len(row) == 0 || len(row) > MaxRowKey {
		return Errorf(Invalid, "invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(row), MaxRowKey)
	}
	return nil
}

// Times returns the times that a DeleteColumn deletes.
func (m *Mutation) Times() TimeRange { return TimeRange{Start: m.Time, End: m.End} }
