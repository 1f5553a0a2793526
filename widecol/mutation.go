package widecol

import "colonnade/cell"

// CommitTime, as the Time of a Mutation, stands for the time of the commit: one
// for the whole request, larger than that of every earlier commit.
const CommitTime int64 = -1

// Mutation writes one version of a cell. A call borrows its byte slices until it returns.
type Mutation struct {
	Row       []byte
	Family    []byte
	Qualifier []byte
	Value     []byte    // encoded as cell.Type says
	Time      int64     // 0 to cell.MaxTime, or CommitTime
	Type      cell.Type // not cell.None
}

// Check returns an error if no table can store the mutation. maxValue is the store's limit on a value, in
// bytes.
func (m *Mutation) Check(maxValue int) *Error {
	switch {
	case len(m.Row) == 0 || len(m.Row) > MaxRowKey:
		return Errorf(Invalid, "invalid_row_key", "row key has %d bytes, allowed are 1 to %d", len(m.Row), MaxRowKey)
	case len(m.Qualifier) > MaxQualifier:
		return Errorf(Invalid, "invalid_column_key", "qualifier has %d bytes, allowed are 0 to %d", len(m.Qualifier), MaxQualifier)
	case len(m.Value) > maxValue:
		return Errorf(TooLarge, "value_too_large", "value has %d bytes, allowed are %d", len(m.Value), maxValue)
	case m.Time != CommitTime && (m.Time < 0 || m.Time > cell.MaxTime):
		return Errorf(Invalid, "invalid_time", "time %d is outside 0 to %d", m.Time, cell.MaxTime)
	case !m.Type.Fits(m.Value):
		return Errorf(Invalid, "invalid_value", "value of %d bytes does not have type %s", len(m.Value), m.Type)
	}
	return nil
}
