package cell

import "math"

// TimeRange is a range of times, in microseconds since the Unix epoch: from Start to End, Start included,
// End not.
type TimeRange struct {
	Start, End int64
}

// AllTimes has every time of a version. It does not have TombstoneTime.
var AllTimes = TimeRange{End: math.MaxInt64}

// Contains reports whether the range has a time.
func (r TimeRange) Contains(time int64) bool { return time >= r.Start && time < r.End }

// Overlaps reports whether two ranges, neither of them empty, have a time in common.
func (r TimeRange) Overlaps(o TimeRange) bool { return r.Start < o.End && o.Start < r.End }

// Union returns the smallest range that has the times of both. The zero TimeRange has none.
func (r TimeRange) Union(o TimeRange) TimeRange {
	if r == (TimeRange{}) {
		return o
	}
	return TimeRange{min(r.Start, o.Start), max(r.End, o.End)}
}

// Times returns the times of which a file or block with the entry says something, so that a reader of any
// of them needs it: its own time, or all times if it is a tombstone that covers versions of any time.
func (c *Cell) Times() TimeRange {
	if c.Kind >= DeleteColumn {
		return AllTimes
	}
	return TimeRange{c.Time, c.Time + 1}
}
