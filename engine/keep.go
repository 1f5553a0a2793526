package engine

import "colonnade/cell"

// keeper decides what a flush or compaction writes of the entries it reads: all
// whose absence some reader, now or later, could notice.
//
// A reader has a snapshot at oldest or above and sees what resolver says. Let an
// entry be settled when its sequence number is at most oldest: a settled entry is
// in force for every reader. The rules:
//
//  1. An entry goes because of another only when that one is settled: a higher
//     entry of the same column and time (shadowed), a tombstone that covers it
//     (deleted), newer versions that fill the version limit (gone).
//
//     The other may go as well, for a third one. That is no harm: what replaces
//     or covers the other, replaces or covers by a higher sequence number all
//     that the other did; and where a version is gone, so are the others of its
//     time.
//
//  2. A version past its TTL goes whatever its sequence number: no reader has an
//     earlier time than now.
//
//  3. A version that is gone may stand in front of an older one of the same
//     column and time outside the inputs. While both are gone nobody could tell;
//     but when the limits are raised, or the versions that filled them deleted,
//     what was overwritten once would be back. So the version leaves a tombstone
//     in its place. At the bottom, where nothing older of the row is left outside
//     the inputs, it need not.
//
//  4. Entries of an earlier family of the same name (Policy.Since) go, tombstones
//     too: they cover only lower sequence numbers, which are of that family as
//     well. So do those of a family that is not listed, up to Policies.asOf.
//     Above, the family may be newer than the list, and its policy is not known.
//
//  5. At the bottom, a settled tombstone goes: all that it covers came after it in
//     the stream, and went by rule 1.
//
//  6. At the bottom, a settled version that stays gets the sequence number 0,
//     which takes no space in a file. No reader can tell: all see it either way,
//     and what hides it from some is not settled, so above 0 either way. What is
//     lower than it, at its place or covering it, has gone by rules 1 and 5. The
//     order holds: it is the only settled entry of its column and time, and the
//     others come before it.
//
//     Not so in a family with Since > 0: 0 would put the version into the earlier
//     family. Where Since rises later, all that a compaction set to 0 is of the
//     earlier family indeed. And not so in a family that is not listed,
//     nor before the partition has a list: it might turn out to have Since > 0.
//
// Rules 4 and 6 need a list of policies that was taken after the inputs were
// fixed: then a family that was dropped and created again before one of them was
// written is listed so.
//
// What the rules have left they leave again.
//
// A row comes in chunks of any size, in order. Nothing of a chunk is looked at
// again after keep has returned. The zero value is ready for init.
type keeper struct {
	oldest uint64
	now    int64
	below  func(row []byte) bool
	bottom bool // of the current row

	place
	alive  uint64 // entries of the family below it go by rule 4
	zeroes bool   // versions of the family can get the sequence number 0

	// A version is covered when its sequence number is below that of a settled
	// tombstone; a tombstone also when it is equal, since the other then covers
	// all that it does. The covers are the highest ones in the row, the family
	// and the column; each starts from the one before, as the floors of resolver.
	rowCover, familyCover, cover uint64

	// The column so far.
	decided int64 // the last time with a settled entry, or undecided
	newer   int64 // settled versions that have not gone

	reasons [reasonCount]uint64
}

// reason is why an entry was dropped.
type reason uint8

const (
	shadowed reason = iota // by a higher entry of its column and time
	deleted                // by a tombstone that covers it
	gone                   // by cell.GC
	orphaned               // of a family that is not there any more
	spent                  // a tombstone at the bottom
	reasonCount
)

// init prepares for a flush or compaction.
//
// Every reader, now and later, has a snapshot at oldest or above, and decides
// what has gone at a time of now or above. bottom reports whether nothing older
// of a row than the inputs have is left outside them; nil says never. It is called
// once for each row. A flush has to say never: level 0 is ordered by sequence
// numbers, so they must stay.
func (k *keeper) init(oldest uint64, now int64, p *Policies, bottom func(row []byte) bool) {
	k.oldest, k.now, k.below = oldest, now, bottom
	k.reasons = [reasonCount]uint64{}
	k.place.init(p)
}

// beginRow starts a row. It comes before the first keep of each.
func (k *keeper) beginRow(row []byte) {
	k.place.beginRow()
	k.rowCover = 0
	k.bottom = k.below != nil && k.below(row)
}

// dropped is how many entries were dropped since init.
func (k *keeper) dropped() uint64 {
	var n uint64
	for _, r := range k.reasons {
		n += r
	}
	return n
}

// keep keeps, in place, what is to be written of the next entries of a row, which are a run.
func (k *keeper) keep(cells []cell.Cell, run *cell.Run) []cell.Cell {
	k.dictionary = run.Dictionary
	if run.Plain && run.Last && k.column == nil && k.rowCover == 0 && k.keepRow(cells, run) {
		return cells
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			if !k.keepTombstone(c) {
				continue
			}
		} else {
			if !k.same(c) {
				k.enter(c)
			}
			if !k.keepVersion(c) {
				continue
			}
		}
		if n != i {
			cells[n] = *c
		}
		n++
	}
	k.endChunk(cells)
	return cells[:n]
}

// keepRow reports whether every one of the entries stays, which are plain and all that is left of
// the row, and then sets to 0 what rule 6 does. False says nothing, and has changed nothing.
func (k *keeper) keepRow(cells []cell.Cell, run *cell.Run) bool {
	zeroes := k.bottom && k.policies.declared()
	kept := *run // as it will be: a family with Since > 0 would not have what is set to 0
	if zeroes {
		kept.MinSeq = 0
	}
	if zeroes && run.MaxSeq > k.oldest || !k.keepsAll(cells, &kept, k.now) {
		return false
	}
	if zeroes && run.MaxSeq > 0 {
		for i := range cells {
			cells[i].Seq = 0
		}
	}
	return true
}

// keepVersion reports whether a version, or a tombstone made of it, stays.
func (k *keeper) keepVersion(c *cell.Cell) bool {
	switch {
	case c.Seq < k.alive:
		return k.drop(orphaned)
	case c.Seq < k.cover:
		return k.drop(deleted)
	case c.Time == k.decided:
		return k.drop(shadowed)
	}
	settled := c.Seq <= k.oldest
	if settled {
		k.decided = c.Time
	}
	if k.family.limited && k.family.policy.GC.Gone(c.Time, k.now, k.newer) {
		// A version at the cover hides nothing that the tombstone there does
		// not, and one at 0 nothing at all.
		if k.bottom || c.Seq == k.cover {
			return k.drop(gone)
		}
		c.Kind, c.Type, c.Value = cell.DeleteVersion, cell.None, nil
		return true
	}
	if settled {
		k.newer++
		if k.zeroes {
			c.Seq = 0
		}
	}
	return true
}

// keepTombstone reports whether a tombstone stays.
func (k *keeper) keepTombstone(c *cell.Cell) bool {
	cover := &k.rowCover
	if c.Kind != cell.DeleteRow {
		k.enter(c)
		if c.Seq < k.alive {
			return k.drop(orphaned)
		}
		cover = &k.cover
		if c.Kind == cell.DeleteFamily {
			cover = &k.familyCover
		}
	}
	switch {
	case c.Seq <= *cover:
		return k.drop(deleted)
	case c.Kind == cell.DeleteVersion && c.Time == k.decided:
		return k.drop(shadowed)
	case c.Seq > k.oldest:
		return true
	case c.Kind == cell.DeleteVersion:
		k.decided = c.Time
	default:
		*cover = c.Seq
	}
	if k.bottom {
		return k.drop(spent)
	}
	return true
}

// drop counts an entry that goes.
func (k *keeper) drop(r reason) bool {
	k.reasons[r]++
	return false
}

// enter moves to the column of the next entry, if that is another one.
func (k *keeper) enter(c *cell.Cell) {
	if k.stays(c) {
		return
	}
	if k.leaves(c) {
		k.enterFamily(c)
	}
	k.decided, k.newer = undecided, 0
	k.cover = k.familyCover
}

// enterFamily moves to the family of a column.
func (k *keeper) enterFamily(c *cell.Cell) {
	k.family = k.find(c)
	k.familyCover = k.rowCover
	since := k.family.policy.Since
	k.zeroes = k.bottom && k.policies.declared() && k.family.listed && since == 0
	switch {
	case !k.family.listed:
		k.alive = k.policies.asOf + 1
	case since > 0:
		k.alive = since + 1
	default:
		k.alive = 0
	}
}
