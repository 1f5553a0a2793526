package rowmerge

import (
	"math"

	"github.com/colonnade-db/colonnade/cell"
)

// Visibility reduces the entries of a row to the versions that a reader sees. A version is
// visible if the snapshot has it, no tombstone covers it, no later entry of its column and
// time shadows it, and the policy of its family keeps it.
//
// A row comes in chunks of any size, in order. A chunk's memory may be reused once Visible
// has returned. The zero value is ready for Init, and one Visibility serves any number of rows.
type Visibility struct {
	seq     uint64        // the snapshot: later entries do not exist yet
	now     int64         // the time by which versions expire, as in cell.GC
	columns *cell.Columns // nil for all
	dropped *Dropped      // nil, or counts what is dropped

	tracker
	// A floor is the lowest sequence number that no tombstone covers: in the row, in the
	// family, in the column. That of the row starts from the range tombstones (DeleteBelow), each
	// other from the one before, which is final by then: a tombstone sorts before all that it
	// covers.
	rowFloor, familyFloor, columnFloor uint64

	// The column so far. Versions come newest first. Of the entries of one time the first
	// decides: it has the highest sequence number.
	decided int64 // the last time decided, or undecided
	newer   int64 // newer versions that the reader sees, counted in a limited family
	deleted int64 // the last time decided by a tombstone, or undecided
}

const (
	// undecided stands for no time: no version has it.
	undecided int64 = -1
	// hidden, as a floor, is above every sequence number.
	hidden uint64 = math.MaxUint64
)

// Init prepares for rows as a snapshot at seq sees them at a time of now. Entries
// of other columns are left out.
func (v *Visibility) Init(seq uint64, now int64, p *Policies, columns *cell.Columns) {
	v.seq, v.now, v.columns, v.dropped = seq, now, columns, nil
	v.tracker.init(p)
}

// BeginRow starts a row. Call it before the first Visible of each row.
func (v *Visibility) BeginRow() {
	v.tracker.beginRow()
	v.rowFloor = 0
}

// DeleteBelow says that a range tombstone with this sequence number covers the row, and that the snapshot
// has it. Call it right after BeginRow. 0 says nothing.
func (v *Visibility) DeleteBelow(seq uint64) { v.rowFloor = seq }

// Visible filters the next entries of a row in place and returns those that the reader
// sees. run describes the entries.
func (v *Visibility) Visible(cells []cell.Cell, run *cell.Run) []cell.Cell {
	v.dictionaryID = run.DictionaryID
	if run.SingleVersion && run.EndOfRow && v.column == nil {
		switch {
		case v.rowFloor > run.MaxSeq:
			if v.dropped != nil {
				v.dropped.Deleted += uint64(len(cells))
			}
			return cells[:0]
		case v.rowFloor <= run.MinSeq && v.seesAll(run) && v.policiesKeep(cells, run, v.now):
			return cells
		}
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			v.applyTombstone(c)
			continue
		}
		if !v.sameColumnID(c) {
			v.enterColumn(c)
		}
		if c.Seq > v.seq || c.Time == v.decided {
			if v.dropped != nil {
				v.countShadowed(c)
			}
			continue
		}
		v.decided = c.Time
		if c.Seq < v.columnFloor {
			if v.dropped != nil {
				v.countBelowFloor(c)
			}
			continue
		}
		if v.family.limited {
			if v.family.policy.GC.Gone(c.Time, v.now, v.newer) {
				if v.dropped != nil {
					v.dropped.Garbage++
				}
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

// seesAll reports whether the snapshot and the column filter let all entries of a
// single-version run through. It does not ask the policies. False means unknown.
func (v *Visibility) seesAll(run *cell.Run) bool {
	return run.MaxSeq <= v.seq && (v.columns == nil || run.AllSelected)
}

// applyTombstone lets a tombstone cover what follows, if the snapshot has it.
func (v *Visibility) applyTombstone(c *cell.Cell) {
	if v.dropped != nil {
		v.dropped.Tombstones++
	}
	if c.Kind != cell.DeleteRow {
		v.enterColumn(c)
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
		v.columnFloor = max(v.columnFloor, c.Seq)
	case cell.DeleteVersion:
		v.decided, v.deleted = c.Time, c.Time
	}
}

// enterColumn moves to the column of the next entry, unless it is the current one.
func (v *Visibility) enterColumn(c *cell.Cell) {
	if v.staysInColumn(c) {
		return
	}
	if v.leavesFamily(c) {
		v.enterFamily(c)
	}
	v.decided, v.newer, v.deleted = undecided, 0, undecided
	v.columnFloor = v.familyFloor
	if v.columns != nil && !v.columns.Contains(c.Column) {
		v.columnFloor = hidden
	}
}

// enterFamily moves to the family of a column.
func (v *Visibility) enterFamily(c *cell.Cell) {
	v.family = v.findFamily(c)
	v.familyFloor = v.rowFloor
	switch {
	case !v.family.listed:
		v.familyFloor = hidden
	case v.family.policy.Since > 0:
		v.familyFloor = max(v.rowFloor, v.family.policy.Since+1)
	}
}
