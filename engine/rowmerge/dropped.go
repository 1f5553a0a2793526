package rowmerge

import "github.com/colonnade-db/colonnade/cell"

// Dropped counts what a reader does not see of the entries that it gets: the tombstones, and the versions by why
// they are hidden. Of several reasons one counts.
type Dropped struct {
	Tombstones  uint64
	Later       uint64 // written after the snapshot
	Deleted     uint64 // by a tombstone, or a range tombstone
	Overwritten uint64 // by a later write of the same time
	Unselected  uint64 // of columns that the read does not select
	Garbage     uint64 // by the policy of their family, or of a family that was dropped
}

// Count makes Visible add to d what it drops, until the next Init.
func (v *Visibility) Count(d *Dropped) { v.dropped = d }

// countShadowed counts an entry that the snapshot does not have, or whose time is decided.
func (v *Visibility) countShadowed(c *cell.Cell) {
	switch {
	case c.Seq > v.seq:
		v.dropped.Later++
	case c.Time == v.deleted:
		v.dropped.Deleted++
	default:
		v.dropped.Overwritten++
	}
}

// countBelowFloor counts an entry below the floor of its column.
func (v *Visibility) countBelowFloor(c *cell.Cell) {
	switch {
	case v.familyFloor == hidden, v.family.policy.Since > 0 && c.Seq <= v.family.policy.Since:
		v.dropped.Garbage++
	case v.columnFloor == hidden:
		v.dropped.Unselected++
	default:
		v.dropped.Deleted++
	}
}
