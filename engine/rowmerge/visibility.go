package rowmerge

import (
	"math"

	"colonnade/cell"
)

// Visibility reduces the entries of a row to the versions that a reader sees. A version is
// visible if its snapshot has it, no tombstone hides it, no later entry has the same column
// and time, and the GC policy keeps it (cell.GC).
//
// A row comes in chunks of any size, in order. A chunk's memory may be reused once Visible
// has returned. The zero value is ready for Init, and one Visibility serves any number of rows.
type Visibility struct {
	seq     uint64        // the snapshot: later entries do not exist yet
	now     int64         // the time by which versions expire, as in cell.GC
	columns *cell.Columns // nil for all

	tracker
	// A floor is the smallest sequence number that no tombstone hides: in the row,
	// in the family, in the column. Each starts from the one before, which is
	// complete by then, because a tombstone sorts before all that it covers.
	rowFloor, familyFloor, floor uint64

	// The column so far. Versions come newest first. Among entries of the same
	// time the first, with the highest sequence number, decides.
	decided int64 // the last time decided, or undecided
	newer   int64 // newer versions that are alive
}

const (
	// undecided is a time that no version has.
	undecided int64 = -1
	// hidden, as a floor, is above every sequence number.
	hidden uint64 = math.MaxUint64
)

// Init prepares for rows as a snapshot at seq sees them at a time of now. Entries
// of other columns are left out.
func (v *Visibility) Init(seq uint64, now int64, p *Policies, columns *cell.Columns) {
	v.seq, v.now, v.columns = seq, now, columns
	v.tracker.init(p)
}

// BeginRow starts a row. Call it before the first Visible of each row.
func (v *Visibility) BeginRow() {
	v.tracker.beginRow()
	v.rowFloor = 0
}

// Visible filters the next entries of a row in place and returns those that the reader
// sees. run describes the entries.
func (v *Visibility) Visible(cells []cell.Cell, run *cell.Run) []cell.Cell {
	v.dictionary = run.Dictionary
	if run.Plain && run.Last && v.column == nil && v.rowFloor == 0 && v.seesAll(run) && v.keepsAll(cells, run, v.now) {
		return cells
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			v.bury(c)
			continue
		}
		if !v.samePlace(c) {
			v.enter(c)
		}
		if c.Seq > v.seq || c.Time == v.decided {
			continue
		}
		v.decided = c.Time
		if c.Seq < v.floor {
			continue
		}
		if v.family.limited {
			if v.family.policy.GC.Gone(c.Time, v.now, v.newer) {
				continue
			}
			v.newer++
		}
		if n != i {
			cells[n] = *c
		}
		n++
	}
	v.endChunk(cells)
	return cells[:n]
}

// seesAll reports whether the snapshot and the column filter let all entries of a plain
// run through. It does not ask the policies. False says nothing.
func (v *Visibility) seesAll(run *cell.Run) bool {
	return run.MaxSeq <= v.seq && (v.columns == nil || run.Wanted)
}

// bury applies a tombstone.
func (v *Visibility) bury(c *cell.Cell) {
	if c.Kind != cell.DeleteRow {
		v.enter(c)
	}
	if c.Seq > v.seq {
		return
	}
	switch c.Kind {
	case cell.DeleteRow:
		v.rowFloor = max(v.rowFloor, c.Seq)
	case cell.DeleteFamily:
		v.familyFloor = max(v.familyFloor, c.Seq)
	case cell.DeleteColumn:
		v.floor = max(v.floor, c.Seq)
	case cell.DeleteVersion:
		v.decided = c.Time
	}
}

// enter moves to the column of the next entry, if it is a new one.
func (v *Visibility) enter(c *cell.Cell) {
	if v.stays(c) {
		return
	}
	if v.leaves(c) {
		v.enterFamily(c)
	}
	v.decided, v.newer = undecided, 0
	v.floor = v.familyFloor
	if v.columns != nil && !v.columns.Contains(c.Column) {
		v.floor = hidden
	}
}

// enterFamily moves to the family of a column.
func (v *Visibility) enterFamily(c *cell.Cell) {
	v.family = v.find(c)
	v.familyFloor = v.rowFloor
	switch {
	case !v.family.listed:
		v.familyFloor = hidden
	case v.family.policy.Since > 0:
		v.familyFloor = max(v.rowFloor, v.family.policy.Since+1)
	}
}
