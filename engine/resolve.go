package engine

import (
	"bytes"
	"math"
	"slices"

	"colonnade/cell"
)

// resolver reduces the entries of a row to the versions that a reader sees: of
// those that its snapshot holds, the ones that no tombstone hides, that no later
// entry of the same column and time replaces, and that have not gone (cell.GC).
//
// A row comes in chunks of any size, in order. Nothing of a chunk is looked at
// again after visible has returned, so its memory may be used again. The zero
// value is ready for init, and one resolver serves any number of rows.
type resolver struct {
	seq     uint64        // entries above it are not there yet
	now     int64         // the time that versions go by, as in cell.GC
	columns *cell.Columns // nil for all

	place
	// A version is hidden when its sequence number is below that of a
	// tombstone. The three floors are the smallest sequence number that is not
	// hidden in the row, in the family, and in the column. Each starts from the
	// one before, which is complete by then: a tombstone stands before all that
	// it covers.
	rowFloor, familyFloor, floor uint64

	// The column so far. Versions come newest first and, of the same time,
	// with the highest sequence number first: that one decides.
	decided int64 // the last time decided, or undecided
	newer   int64 // versions that have not gone
}

const (
	// undecided stands for no time: no version has it.
	undecided int64 = -1
	// hidden, as a floor, is above every sequence number.
	hidden uint64 = math.MaxUint64
)

// init prepares for rows as a snapshot at seq sees them at a time now. Entries
// of other columns may come; they are left out.
func (r *resolver) init(seq uint64, now int64, p *Policies, columns *cell.Columns) {
	r.seq, r.now, r.columns = seq, now, columns
	r.place.init(p)
}

// beginRow starts a row. It comes before the first visible of each.
func (r *resolver) beginRow() {
	r.place.beginRow()
	r.rowFloor = 0
}

// visible keeps, in place, what the reader sees of the next entries of a row.
func (r *resolver) visible(cells []cell.Cell) []cell.Cell {
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			r.bury(c)
			continue
		}
		if !identical(c.Column, r.column) {
			r.enter(c.Column)
		}
		if c.Seq > r.seq || c.Time == r.decided {
			continue
		}
		r.decided = c.Time
		if c.Seq < r.floor {
			continue
		}
		if r.family.limited {
			if r.family.policy.GC.Gone(c.Time, r.now, r.newer) {
				continue
			}
			r.newer++
		}
		if n != i {
			cells[n] = *c
		}
		n++
	}
	r.place.endChunk()
	return cells[:n]
}

// bury takes note of a tombstone.
func (r *resolver) bury(c *cell.Cell) {
	if c.Seq > r.seq {
		return
	}
	switch c.Kind {
	case cell.DeleteRow:
		r.rowFloor = max(r.rowFloor, c.Seq)
	case cell.DeleteFamily:
		r.enter(c.Column)
		r.familyFloor = max(r.familyFloor, c.Seq)
	case cell.DeleteColumn:
		r.enter(c.Column)
		r.floor = max(r.floor, c.Seq)
	case cell.DeleteVersion:
		r.enter(c.Column)
		r.decided = c.Time
	}
}

// enter moves to the column of the next entry, if that is another one.
func (r *resolver) enter(column []byte) {
	if r.stays(column) {
		return
	}
	if r.family == nil || !r.family.has(column) {
		r.enterFamily(column)
	}
	r.decided, r.newer = undecided, 0
	r.floor = r.familyFloor
	if r.columns != nil && !r.columns.Contains(column) {
		r.floor = hidden
	}
}

// enterFamily moves to the family of a column.
func (r *resolver) enterFamily(column []byte) {
	r.family = r.find(column)
	r.familyFloor = r.rowFloor
	switch {
	case !r.family.listed:
		r.familyFloor = hidden
	case r.family.policy.Since > 0:
		r.familyFloor = max(r.rowFloor, r.family.policy.Since+1)
	}
}

// place follows the entries of a row from family to family and from column to
// column, over the ends of chunks, and knows the policy of the family at hand.
type place struct {
	policies *Policies

	column []byte  // of the entry before, nil at the start of a row
	copied []byte  // holds column from one chunk to the next
	family *family // of column, nil at the start of a row

	// families are those met so far, in the order in which they come in a row.
	// The next one is nearly always at next, and so need not be looked up.
	families []family
	next     int
}

// family is a family with what its policy says.
type family struct {
	prefix  []byte // the name and a NUL: how its columns begin
	policy  Policy
	listed  bool // there is a policy for it
	limited bool // its versions can go
}

// maxFamilies bounds the families that a place remembers. Past it, it starts
// again.
const maxFamilies = 256

func (p *place) init(policies *Policies) {
	if p.policies != policies {
		p.policies, p.families = policies, p.families[:0]
	}
}

func (p *place) beginRow() { p.column, p.family, p.next = nil, nil, 0 }

// endChunk keeps what will be needed of the chunk.
func (p *place) endChunk() {
	if p.column != nil {
		p.copied = append(p.copied[:0], p.column...)
		p.column = p.copied
	}
}

// identical reports whether two columns are the same bytes in memory, as they
// are for the versions of a column in a block. False says nothing.
func identical(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// stays moves to the column of the next entry and reports whether it is the
// one before. Neighbours mostly differ in length or in the last byte, if at all.
func (p *place) stays(column []byte) bool {
	n := len(column)
	same := n == len(p.column) && n > 0 && column[n-1] == p.column[n-1] && bytes.Equal(column, p.column)
	p.column = column
	return same
}

// has reports whether a column is in the family. It does not know the column of
// the family's tombstone: that comes first, when find has to be asked anyway.
func (f *family) has(column []byte) bool { return bytes.HasPrefix(column, f.prefix) }

// find returns the family of a column.
func (p *place) find(column []byte) *family {
	if p.next < len(p.families) && p.families[p.next].has(column) {
		p.next++
		return &p.families[p.next-1]
	}
	name, _ := cell.SplitColumn(column)
	i, found := slices.BinarySearchFunc(p.families, name, func(f family, name []byte) int {
		return bytes.Compare(f.prefix[:len(f.prefix)-1], name)
	})
	if !found {
		i = p.add(i, name)
	}
	p.next = i + 1
	return &p.families[i]
}

// add inserts a family at i and returns where it is then. The memory of
// families that were forgotten is used again.
func (p *place) add(i int, name []byte) int {
	if len(p.families) == maxFamilies {
		p.families, i = p.families[:0], 0
	}
	n := len(p.families)
	p.families = slices.Grow(p.families, 1)[:n+1]
	prefix := append(append(p.families[n].prefix[:0], name...), 0)
	copy(p.families[i+1:], p.families[i:n])
	policy, listed := p.policies.family(name)
	p.families[i] = family{
		prefix: prefix, policy: policy, listed: listed,
		limited: policy.GC.TTLSecs > 0 || policy.GC.VersionLimit > 0,
	}
	return i
}
