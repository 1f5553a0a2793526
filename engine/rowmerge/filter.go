package rowmerge

import "github.com/colonnade-db/colonnade/cell"

// Filter decides which entries a flush or compaction writes: all whose absence some
// reader, now or later, could notice.
//
// A reader has a snapshot at oldest or above and sees what Visibility says. An entry
// is settled when its sequence number is at most oldest: it is in force for every
// reader. The rules:
//
//  1. An entry is dropped because of another one only when that one is settled: a
//     later entry of the same column and time (shadowed), a tombstone that covers it
//     (deleted), newer versions that fill the version limit (garbage).
//
//     The other entry may itself be dropped because of a third. That does no harm: the
//     third has a higher sequence number, and replaces or covers all that the second
//     did. Where a version is garbage, so are the others of its time.
//
//  2. A version past its TTL is dropped whatever its sequence number: no reader's time
//     is before now.
//
//  3. A version that is garbage may hide an older one of the same column and time
//     outside the inputs. While both are garbage, no reader sees either. But if the limits are
//     raised, or the versions that filled them are deleted, the overwritten value would
//     come back. So the version leaves a tombstone in its place. At the bottommost
//     level, with nothing older of the row outside the inputs, it need not.
//
//  4. Entries of an earlier family of the same name (Policy.Since) are dropped, tombstones
//     too: they cover only lower sequence numbers, which are of that family as well. So
//     are entries of an unlisted family, up to Policies.asOf. Later ones stay: the family
//     may be newer than the list, and its policy is not known.
//
//  5. At the bottommost level, a settled tombstone is dropped. All that it covers came
//     after it in the stream, and rule 1 dropped it.
//
//  6. At the bottommost level, a settled version that stays gets the sequence number 0,
//     which takes no space in a file. No reader can tell: all of them see the version
//     either way, and what hides it from some is not settled, so it is above 0 either
//     way. Rules 1 and 5 dropped all lower entries of its column and time, and all
//     lower tombstones of a scope that holds it. The order holds: it is the only settled entry of
//     its column and time, and the others come before it.
//
//     This does not apply in a family with Since > 0: 0 would put the version into the
//     earlier family. (If Since rises later, all that a compaction set to 0 belongs to
//     the earlier family indeed.) Nor does it apply in an unlisted family, or before
//     the partition has a list: the family might turn out to have Since > 0.
//
//  7. A range tombstone that covers the row counts as a row tombstone that is not among the
//     inputs, and is kept elsewhere as long as anything that it covers is left. While it is
//     there, rule 6 does not apply in the row: 0 would put a version below it that is above it.
//
// Rules 4 and 6 need a list of policies that was taken after the inputs were fixed. Then
// a family that was dropped and created again before an input was written is listed as such.
//
// A Filter that runs over its own output drops nothing.
//
// A row comes in chunks of any size, in order. A chunk's memory may be reused once Keep has
// returned. The zero value is ready for Init.
type Filter struct {
	oldest       uint64
	now          int64
	isBottommost func(row []byte) bool
	bottommost   bool // the current row is
	inRange      bool // a range tombstone covers the current row

	tracker
	aliveFrom uint64 // rule 4 drops the family's entries below it
	zeroes    bool   // rule 6 applies to the family

	// A cover is the highest sequence number of a settled tombstone: in the row, in the
	// family, in the column. Each starts from the one before, like the floors of
	// Visibility. A version below the cover is deleted. So is a tombstone at or below it:
	// the other one covers all that it does.
	rowCover, familyCover, columnCover uint64

	// The column so far.
	decided int64 // the last time with a settled entry, or undecided
	newer   int64 // newer settled versions that are not garbage

	dropped [reasonCount]uint64
}

// reason is why an entry was dropped.
type reason uint8

const (
	shadowed reason = iota // by a later entry of its column and time
	deleted                // by a tombstone that covers it
	garbage                // by cell.GC
	orphaned               // its family was dropped
	obsolete               // a tombstone at the bottommost level
	reasonCount
)

// Init prepares for a flush or compaction.
//
// Every reader of the output, now and later, has a snapshot at oldest or above, and a time
// of now or above. isBottommost reports whether nothing older of a row is left outside the
// inputs; nil says never. Filter calls it once for each row. A flush must pass nil: level 0
// is ordered by sequence numbers, so they must stay.
func (f *Filter) Init(oldest uint64, now int64, p *Policies, isBottommost func(row []byte) bool) {
	f.oldest, f.now, f.isBottommost = oldest, now, isBottommost
	f.dropped = [reasonCount]uint64{}
	f.tracker.init(p)
}

// BeginRow starts a row. Call it before the first Keep of each row.
func (f *Filter) BeginRow(row []byte) {
	f.tracker.beginRow()
	f.rowCover, f.inRange = 0, false
	f.bottommost = f.isBottommost != nil && f.isBottommost(row)
}

// DeleteBelow says that a settled range tombstone covers the row (rule 7), and that the newest one has this
// sequence number. Call it right after BeginRow. 0 says nothing.
func (f *Filter) DeleteBelow(seq uint64) { f.rowCover, f.inRange = seq, seq > 0 }

// Dropped counts the entries dropped since Init.
func (f *Filter) Dropped() uint64 {
	var n uint64
	for _, d := range f.dropped {
		n += d
	}
	return n
}

// Keep filters the next entries of a row in place and returns those to be written. run
// describes the entries.
func (f *Filter) Keep(cells []cell.Cell, run *cell.Run) []cell.Cell {
	f.dictionaryID = run.DictionaryID
	if run.SingleVersion && run.EndOfRow && f.column == nil && f.rowCover == 0 && f.keepsWholeRow(cells, run) {
		return cells
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			if !f.keepTombstone(c) {
				continue
			}
		} else {
			if !f.sameColumnID(c) {
				f.enterColumn(c)
			}
			if !f.keepVersion(c) {
				continue
			}
		}
		if n != i {
			cells[n] = *c
		}
		n++
	}
	f.endChunk(cells)
	return cells[:n]
}

// keepsWholeRow reports whether all entries of a single-version run stay that has all columns of its
// row. If so, it has applied rule 6. False means unknown, and has changed nothing.
func (f *Filter) keepsWholeRow(cells []cell.Cell, run *cell.Run) bool {
	zeroes := f.bottommost && f.policies.declared()
	kept := *run // the run after rule 6: with Since > 0 a family would not own sequence number 0
	if zeroes {
		kept.MinSeq = 0
	}
	if zeroes && run.MaxSeq > f.oldest || !f.policiesKeep(cells, &kept, f.now) {
		return false
	}
	if zeroes && run.MaxSeq > 0 {
		for i := range cells {
			cells[i].Seq = 0
		}
	}
	return true
}

// keepVersion reports whether a version stays, as itself or as the tombstone of rule 3.
func (f *Filter) keepVersion(c *cell.Cell) bool {
	switch {
	case c.Seq < f.aliveFrom:
		return f.drop(orphaned)
	case c.Seq < f.columnCover:
		return f.drop(deleted)
	case c.Time == f.decided:
		return f.drop(shadowed)
	}
	settled := c.Seq <= f.oldest
	if settled {
		f.decided = c.Time
	}
	if f.family.limited && f.family.policy.GC.Gone(c.Time, f.now, f.newer) {
		// A version at the cover hides no more than the tombstone there does,
		// and a version at 0 hides nothing.
		if f.bottommost || c.Seq == f.columnCover {
			return f.drop(garbage)
		}
		c.Kind, c.Type, c.Value = cell.DeleteVersion, cell.None, nil
		return true
	}
	if settled {
		f.newer++
		if f.zeroes {
			c.Seq = 0
		}
	}
	return true
}

// keepTombstone reports whether a tombstone stays. A merge drops tombstones here and nowhere
// else.
func (f *Filter) keepTombstone(c *cell.Cell) bool {
	cover := &f.rowCover
	if c.Kind != cell.DeleteRow {
		f.enterColumn(c)
		if c.Seq < f.aliveFrom {
			return f.drop(orphaned)
		}
		cover = &f.columnCover
		if c.Kind == cell.DeleteFamily {
			cover = &f.familyCover
		}
	}
	switch {
	case c.Seq <= *cover:
		return f.drop(deleted)
	case c.Kind == cell.DeleteVersion && c.Time == f.decided:
		return f.drop(shadowed)
	case c.Seq > f.oldest:
		return true
	case c.Kind == cell.DeleteVersion:
		f.decided = c.Time
	default:
		*cover = c.Seq
	}
	if f.bottommost {
		return f.drop(obsolete)
	}
	return true
}

// drop counts a dropped entry.
func (f *Filter) drop(r reason) bool {
	f.dropped[r]++
	return false
}

// enterColumn moves to the column of the next entry, unless it is the current one.
func (f *Filter) enterColumn(c *cell.Cell) {
	if f.staysInColumn(c) {
		return
	}
	if f.leavesFamily(c) {
		f.enterFamily(c)
	}
	f.decided, f.newer = undecided, 0
	f.columnCover = f.familyCover
}

// enterFamily moves to the family of a column.
func (f *Filter) enterFamily(c *cell.Cell) {
	f.family = f.findFamily(c)
	f.familyCover = f.rowCover
	since := f.family.policy.Since
	f.zeroes = f.bottommost && !f.inRange && f.policies.declared() && f.family.listed && since == 0
	switch {
	case !f.family.listed:
		f.aliveFrom = f.policies.asOf + 1
	case since > 0:
		f.aliveFrom = since + 1
	default:
		f.aliveFrom = 0
	}
}
