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

// visible keeps, in place, what the reader sees of the next entries of a row, which
// are a run.
func (r *resolver) visible(cells []cell.Cell, run *cell.Run) []cell.Cell {
	r.dictionary = run.Dictionary
	if run.Plain && run.Last && r.column == nil && r.rowFloor == 0 && r.sees(run) && r.keepsAll(cells, run, r.now) {
		return cells
	}
	n := 0
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set {
			r.bury(c)
			continue
		}
		if !r.same(c) {
			r.enter(c)
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
	r.endChunk(cells)
	return cells[:n]
}

// sees reports whether the snapshot and the filter let all entries of a plain run through.
// What their families keep it does not ask. False says nothing.
func (r *resolver) sees(run *cell.Run) bool {
	return run.MaxSeq <= r.seq && (r.columns == nil || run.Wanted)
}

// keeps reports whether all versions of a plain run are there, if they are of the
// family. False says nothing.
func (f *family) keeps(run *cell.Run, now int64) bool {
	gc := &f.policy.GC
	switch {
	case !f.listed, f.policy.Since > 0 && run.MinSeq <= f.policy.Since:
		return false
	case gc.TTLSecs > 0: // a version with time 0 has no age, and says nothing of the others
		return run.MinTime > 0 && !gc.Expired(run.MinTime, now)
	}
	return true // no version is a second one
}

// bury takes note of a tombstone.
func (r *resolver) bury(c *cell.Cell) {
	if c.Kind != cell.DeleteRow {
		r.enter(c)
	}
	if c.Seq > r.seq {
		return
	}
	switch c.Kind {
	case cell.DeleteRow:
		r.rowFloor = max(r.rowFloor, c.Seq)
	case cell.DeleteFamily:
		r.familyFloor = max(r.familyFloor, c.Seq)
	case cell.DeleteColumn:
		r.floor = max(r.floor, c.Seq)
	case cell.DeleteVersion:
		r.decided = c.Time
	}
}

// enter moves to the column of the next entry, if that is another one.
func (r *resolver) enter(c *cell.Cell) {
	if r.stays(c) {
		return
	}
	if r.leaves(c) {
		r.enterFamily(c)
	}
	r.decided, r.newer = undecided, 0
	r.floor = r.familyFloor
	if r.columns != nil && !r.columns.Contains(c.Column) {
		r.floor = hidden
	}
}

// enterFamily moves to the family of a column.
func (r *resolver) enterFamily(c *cell.Cell) {
	r.family = r.find(c)
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

	column []byte  // of the entry before, nil at the start of a row; not kept within a dictionary
	copied []byte  // holds column from one chunk to the next
	family *family // of column, nil at the start of a row

	// dictionary is that of the next chunk, 0 for none (see cell.Run). In one dictionary, places tell columns apart without a look at them.
	dictionary uint64
	numbered   uint64 // the dictionary of column, 0 for none
	number     uint32 // its place there

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

	// What was met in a dictionary: all from the first place to the last are columns
	// of the family. In no dictionary, none are.
	dictionary  uint64
	first, last uint32
}

// maxFamilies bounds the families that a place remembers. Past it, it starts
// again.
const maxFamilies = 256

func (p *place) init(policies *Policies) {
	if p.policies != policies {
		p.policies, p.families = policies, p.families[:0]
	}
}

func (p *place) beginRow() { p.column, p.numbered, p.family, p.next = nil, 0, nil, 0 }

// endChunk keeps what will be needed of the chunk: the column of its last entry.
func (p *place) endChunk(cells []cell.Cell) {
	if len(cells) > 0 {
		p.copied = append(p.copied[:0], cells[len(cells)-1].Column...)
		p.column = p.copied
	}
}

// same reports whether an entry is seen to be of the column of the one before by
// its place alone. False says nothing.
func (p *place) same(c *cell.Cell) bool {
	return c.Place == p.number && p.numbered == p.dictionary && p.numbered != 0
}

// stays moves to the column of the next entry and reports whether it is the
// one before. Neighbours mostly differ in length or in the last byte, if at all.
func (p *place) stays(c *cell.Cell) bool {
	if p.numbered == p.dictionary && p.numbered != 0 {
		same := c.Place == p.number
		p.number = c.Place
		return same
	}
	n := len(c.Column)
	same := p.family != nil && n == len(p.column) && n > 0 && c.Column[n-1] == p.column[n-1] && bytes.Equal(c.Column, p.column)
	p.column, p.numbered, p.number = c.Column, p.dictionary, c.Place
	return same
}

// leaves reports whether an entry is of another family than the one before. It does
// not know the tombstone of a family: that comes first, so the answer is yes.
func (p *place) leaves(c *cell.Cell) bool {
	switch f := p.family; {
	case f == nil:
		return true
	case p.covers(f, c):
		return false
	case p.next < len(p.families) && p.covers(&p.families[p.next], c):
		return true
	default:
		return !p.has(f, c)
	}
}

// keepsAll reports whether all of the entries, which are plain and the whole row, are there as far
// as the policies of their families go. False says nothing, and leaves the place as it was.
func (p *place) keepsAll(cells []cell.Cell, run *cell.Run, now int64) bool {
	return p.policies.keepAll() || p.keepsEach(cells, run, now)
}

// keepsEach is keepsAll where families have policies of their own.
func (p *place) keepsEach(cells []cell.Cell, run *cell.Run, now int64) bool {
	for i := range cells {
		if !p.leaves(&cells[i]) {
			continue
		}
		p.family = p.find(&cells[i])
		if !p.family.keeps(run, now) {
			p.beginRow()
			return false
		}
	}
	return true
}

// covers reports whether the place of an entry shows that it is of a family. False
// says nothing.
func (p *place) covers(f *family, c *cell.Cell) bool {
	return p.dictionary == f.dictionary && f.first <= c.Place && c.Place <= f.last
}

// has reports whether an entry, no tombstone of a family, is of this one.
func (p *place) has(f *family, c *cell.Cell) bool {
	if !bytes.HasPrefix(c.Column, f.prefix) {
		return false
	}
	p.note(f, c)
	return true
}

// note remembers that the place of an entry belongs to a family.
func (p *place) note(f *family, c *cell.Cell) {
	switch {
	case p.dictionary == 0:
	case f.dictionary != p.dictionary:
		f.dictionary, f.first, f.last = p.dictionary, c.Place, c.Place
	default:
		f.first, f.last = min(f.first, c.Place), max(f.last, c.Place)
	}
}

// find returns the family of an entry.
func (p *place) find(c *cell.Cell) *family {
	if p.next < len(p.families) {
		if f := &p.families[p.next]; p.covers(f, c) || p.has(f, c) {
			p.next++
			return f
		}
	}
	name, _ := cell.SplitColumn(c.Column)
	i, found := slices.BinarySearchFunc(p.families, name, func(f family, name []byte) int {
		return bytes.Compare(f.prefix[:len(f.prefix)-1], name)
	})
	if !found {
		i = p.add(i, name)
	}
	p.next = i + 1
	p.note(&p.families[i], c)
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
		first:   1, // none
	}
	return i
}
