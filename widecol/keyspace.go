package widecol

import "context"

// KeySpaceReporter is a Store that samples where in the row keys of its tables the load is. It is optional, as those in
// optional.go.
type KeySpaceReporter interface {
	// KeySpace returns the load of a table in times, as far as it is remembered. Memory is all that remembers it.
	KeySpace(ctx context.Context, table string, times TimeRange) (KeySpace, error)
}

// KeySpace is where in the row keys of a table the load was, over time.
type KeySpace struct {
	// Bounds divide the row keys into one range more than there are bounds: range 0 ends before the first of them, and
	// the last one begins with the last of them. They ascend. They lie where the load is, and the data.
	Bounds [][]byte
	// Windows are times with load, in order. They do not overlap.
	Windows []LoadWindow
}

// LoadWindow is the load of a table in a time.
type LoadWindow struct {
	Start, End int64 // microseconds; the last one may end later than now
	Loads      []RangeLoad
}

// RangeLoad is the load of a range in a window: estimates, made of samples. One without load is not among LoadWindow.Loads.
type RangeLoad struct {
	Range       int   // its number; they ascend
	RowsRead    int64 // that queries looked at, returned or not
	RowsWritten int64
	// Bytes are of row keys, column keys, times and values: of those that queries stepped over, and of those written.
	BytesRead, BytesWritten int64
}

// Range returns the range of a number.
func (k *KeySpace) Range(i int) (r RowRange) {
	if i > 0 {
		r.Start = k.Bounds[i-1]
	}
	if i < len(k.Bounds) {
		r.End = k.Bounds[i]
	}
	return r
}
