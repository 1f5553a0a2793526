package rowmerge

import "github.com/colonnade-db/colonnade/cell"

// TimesToRead returns the times that a reader of some columns has to read to see the versions with times in
// want as it would if it read everything. What has nothing of these times, and no tombstone that covers
// versions of any time, decides about none of them and can be left out. For of a version at time t decide
//
//  1. entries of its column with the same time: one with a higher sequence number shadows it, be it a
//     version or the tombstone of one. They are in want if t is. An entry of another time shadows nothing;
//  2. tombstones of its column, family and row, which have no time of their own: nothing that has one of them
//     may be left out (cell.Cell.Times). Range tombstones are not in what can be left out;
//  3. the TTL of its family, which asks for t alone;
//  4. the version limit of its family, which counts the newer versions that are visible. By 1 and 2 for each
//     of these, that takes all entries with times from want.Start on, up to the last. Older ones do not count.
//
// It does not matter for a version when it was written, nor in which file or level it is. A version that
// is garbage stays in a file as a tombstone of the same time (Filter, rule 3).
func (p *Policies) TimesToRead(want cell.TimeRange, columns *cell.Columns) cell.TimeRange {
	if p.limitsVersions(columns) {
		want.End = cell.AllTimes.End
	}
	return want
}

// limitsVersions reports whether a family that may have one of the columns has a version limit.
func (p *Policies) limitsVersions(columns *cell.Columns) bool {
	if p.keepAll() {
		return false
	}
	for name, policy := range p.families {
		if policy.GC.VersionLimit > 0 && columns.Overlaps([]byte(name)) {
			return true
		}
	}
	return false
}
