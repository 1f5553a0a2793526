package rowmerge

import (
	"bytes"
	"slices"

	"colonnade/cell"
)

// tracker follows the entries of a row from column to column and from family to
// family, across chunks, and knows the policy of the current family.
type tracker struct {
	policies *Policies

	column []byte  // of the last entry, nil at the start of a row; stale within a dictionary
	copied []byte  // holds column from one chunk to the next
	family *family // of column, nil at the start of a row

	// dictionary is the one of the current chunk, 0 for none (see cell.Run). Within a
	// dictionary, an entry's place tells columns apart without comparing their bytes.
	dictionary uint64
	numbered   uint64 // the dictionary of column, 0 for none
	number     uint32 // the place of column in it

	// families holds those met so far, in row order. The next family of a row is
	// nearly always families[next], so it need not be looked up.
	families []family
	next     int
}

// family is a family with its policy.
type family struct {
	prefix  []byte // the name and a NUL: how its columns begin
	policy  Policy
	listed  bool // there is a policy for it
	limited bool // its versions can become garbage

	// In this dictionary, all places from first to last are known to be columns of
	// the family.
	dictionary  uint64
	first, last uint32
}

// maxFamilies bounds the families that a tracker remembers. Past it, it starts
// again.
const maxFamilies = 256

func (t *tracker) init(policies *Policies) {
	if t.policies != policies {
		t.policies, t.families = policies, t.families[:0]
	}
}

func (t *tracker) beginRow() { t.column, t.numbered, t.family, t.next = nil, 0, nil, 0 }

// endChunk copies the column of the chunk's last entry, which the next chunk is compared with.
func (t *tracker) endChunk(cells []cell.Cell) {
	if len(cells) > 0 {
		t.copied = append(t.copied[:0], cells[len(cells)-1].Column...)
		t.column = t.copied
	}
}

// samePlace reports whether the place of an entry alone shows that its column is that of
// the last one. False says nothing.
func (t *tracker) samePlace(c *cell.Cell) bool {
	return c.Place == t.number && t.numbered == t.dictionary && t.numbered != 0
}

// stays moves to the column of the next entry and reports whether it is that of
// the last one. Neighbouring columns mostly differ in length or in the last byte.
func (t *tracker) stays(c *cell.Cell) bool {
	if t.numbered == t.dictionary && t.numbered != 0 {
		same := c.Place == t.number
		t.number = c.Place
		return same
	}
	n := len(c.Column)
	same := t.family != nil && n == len(t.column) && n > 0 && c.Column[n-1] == t.column[n-1] && bytes.Equal(c.Column, t.column)
	t.column, t.numbered, t.number = c.Column, t.dictionary, c.Place
	return same
}

// leaves reports whether an entry is of another family than the last one. For a family
// tombstone, which comes first in its family, the answer is always yes.
func (t *tracker) leaves(c *cell.Cell) bool {
	switch f := t.family; {
	case f == nil:
		return true
	case t.covers(f, c):
		return false
	case t.next < len(t.families) && t.covers(&t.families[t.next], c):
		return true
	default:
		return !t.has(f, c)
	}
}

// keepsAll reports whether the policies keep all entries of a plain run that is a whole row.
// False says nothing, and leaves the tracker at the start of the row.
func (t *tracker) keepsAll(cells []cell.Cell, run *cell.Run, now int64) bool {
	return t.policies.keepAll() || t.keepsEach(cells, run, now)
}

// keepsEach is keepsAll for families with policies of their own.
func (t *tracker) keepsEach(cells []cell.Cell, run *cell.Run, now int64) bool {
	for i := range cells {
		if !t.leaves(&cells[i]) {
			continue
		}
		t.family = t.find(&cells[i])
		if !t.family.keeps(run, now) {
			t.beginRow()
			return false
		}
	}
	return true
}

// keeps reports whether all versions of a plain run are alive, if they are of the
// family. False says nothing.
func (f *family) keeps(run *cell.Run, now int64) bool {
	gc := &f.policy.GC
	switch {
	case !f.listed, f.policy.Since > 0 && run.MinSeq <= f.policy.Since:
		return false
	case gc.TTLSecs > 0: // a version with time 0 has no age, and says nothing of the others
		return run.MinTime > 0 && !gc.Expired(run.MinTime, now)
	}
	return true // a plain run has one version a column, so no limit is exceeded
}

// covers reports whether the place of an entry alone shows that it is of a family.
// False says nothing.
func (t *tracker) covers(f *family, c *cell.Cell) bool {
	return t.dictionary == f.dictionary && f.first <= c.Place && c.Place <= f.last
}

// has reports whether an entry, other than a family tombstone, is of a family.
func (t *tracker) has(f *family, c *cell.Cell) bool {
	if !bytes.HasPrefix(c.Column, f.prefix) {
		return false
	}
	t.note(f, c)
	return true
}

// note remembers that the place of an entry belongs to a family.
func (t *tracker) note(f *family, c *cell.Cell) {
	switch {
	case t.dictionary == 0:
	case f.dictionary != t.dictionary:
		f.dictionary, f.first, f.last = t.dictionary, c.Place, c.Place
	default:
		f.first, f.last = min(f.first, c.Place), max(f.last, c.Place)
	}
}

// find returns the family of an entry.
func (t *tracker) find(c *cell.Cell) *family {
	if t.next < len(t.families) {
		if f := &t.families[t.next]; t.covers(f, c) || t.has(f, c) {
			t.next++
			return f
		}
	}
	name, _ := cell.SplitColumn(c.Column)
	i, found := slices.BinarySearchFunc(t.families, name, func(f family, name []byte) int {
		return bytes.Compare(f.prefix[:len(f.prefix)-1], name)
	})
	if !found {
		i = t.add(i, name)
	}
	t.next = i + 1
	t.note(&t.families[i], c)
	return &t.families[i]
}

// add inserts a family at i and returns its index. It reuses the memory of
// forgotten families.
func (t *tracker) add(i int, name []byte) int {
	if len(t.families) == maxFamilies {
		t.families, i = t.families[:0], 0
	}
	n := len(t.families)
	t.families = slices.Grow(t.families, 1)[:n+1]
	prefix := append(append(t.families[n].prefix[:0], name...), 0)
	copy(t.families[i+1:], t.families[i:n])
	policy, listed := t.policies.family(name)
	t.families[i] = family{
		prefix: prefix, policy: policy, listed: listed,
		limited: policy.GC.TTLSecs > 0 || policy.GC.VersionLimit > 0,
		first:   1, // first > last: no place is known
	}
	return i
}
