package rowmerge

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// tracker follows a row from column to column and from family to family, across chunks, and
// knows the policy of the current family. Visibility and Filter embed it.
//
// Most steps compare no bytes. An entry from a sorted file has a cell.Cell.ColumnID. Within a
// dictionary, equal ids mean equal columns, and a family has a range of ids.
type tracker struct {
	policies *Policies

	dictionaryID uint64 // of the current chunk, 0 for none (see cell.Run)

	// The current column is that of the last entry.
	column             []byte  // nil at the start of a row; within a dictionary not kept up to date
	columnCopy         []byte  // holds column from one chunk to the next
	columnDictionaryID uint64  // of columnID, 0 for none
	columnID           uint32  // of the current column
	family             *family // of the current column, nil at the start of a row

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

	// In this dictionary, all column ids from first to last are known to be of the family.
	dictionaryID uint64
	first, last  uint32
}

// maxFamilies bounds the families that a tracker remembers. One more, and it forgets them
// all.
const maxFamilies = 256

func (t *tracker) init(policies *Policies) {
	if t.policies != policies {
		t.policies, t.families = policies, t.families[:0]
	}
}

func (t *tracker) beginRow() { t.column, t.columnDictionaryID, t.family, t.next = nil, 0, nil, 0 }

// endChunk copies the column of the chunk's last entry, to compare the next chunk with.
func (t *tracker) endChunk(cells []cell.Cell) {
	if len(cells) > 0 {
		t.columnCopy = append(t.columnCopy[:0], cells[len(cells)-1].Column...)
		t.column = t.columnCopy
	}
}

// sameColumnID reports whether the column id alone shows that an entry is of the current
// column. False means unknown.
func (t *tracker) sameColumnID(c *cell.Cell) bool {
	return c.ColumnID == t.columnID && t.columnDictionaryID == t.dictionaryID && t.columnDictionaryID != 0
}

// staysInColumn moves to the column of the next entry and reports whether it is the current
// one already. Neighbouring columns mostly differ in length or in the last byte.
func (t *tracker) staysInColumn(c *cell.Cell) bool {
	if t.columnDictionaryID == t.dictionaryID && t.columnDictionaryID != 0 {
		same := c.ColumnID == t.columnID
		t.columnID = c.ColumnID
		return same
	}
	n := len(c.Column)
	same := t.family != nil && n == len(t.column) && n > 0 && c.Column[n-1] == t.column[n-1] && bytes.Equal(c.Column, t.column)
	t.column, t.columnDictionaryID, t.columnID = c.Column, t.dictionaryID, c.ColumnID
	return same
}

// leavesFamily reports whether an entry is of another family than the current one. For a
// family tombstone, which comes first in its family, the answer is always yes.
func (t *tracker) leavesFamily(c *cell.Cell) bool {
	switch f := t.family; {
	case f == nil:
		return true
	case t.hasColumnID(f, c):
		return false
	case t.next < len(t.families) && t.hasColumnID(&t.families[t.next], c):
		return true
	default:
		return !t.hasColumn(f, c)
	}
}

// policiesKeep reports whether the policies keep all entries of a single-version run that has all
// columns of its row. False means unknown, and leaves the tracker at the start of the row.
func (t *tracker) policiesKeep(cells []cell.Cell, run *cell.Run, now int64) bool {
	return t.policies.keepAll() || t.familiesKeep(cells, run, now)
}

// familiesKeep is policiesKeep for families with policies of their own.
func (t *tracker) familiesKeep(cells []cell.Cell, run *cell.Run, now int64) bool {
	for i := range cells {
		c := &cells[i]
		if t.family != nil && t.hasColumnID(t.family, c) || !t.leavesFamily(c) { // the first without a call
			continue
		}
		t.family = t.findFamily(c)
		if !t.family.keeps(run, now) {
			t.beginRow()
			return false
		}
	}
	return true
}

// keeps reports whether all versions of a single-version run are alive, if they are of the
// family. False means unknown.
func (f *family) keeps(run *cell.Run, now int64) bool {
	gc := &f.policy.GC
	switch {
	case !f.listed, f.policy.Since > 0 && run.MinSeq <= f.policy.Since:
		return false
	case gc.TTLSecs > 0: // a version with time 0 has no age, and says nothing of the others
		return run.MinTime > 0 && !gc.Expired(run.MinTime, now)
	}
	return true // a single-version run has one version a column, so no limit is exceeded
}

// hasColumnID reports whether the column id alone shows that an entry is of a family. False
// means unknown.
func (t *tracker) hasColumnID(f *family, c *cell.Cell) bool {
	return t.dictionaryID == f.dictionaryID && f.first <= c.ColumnID && c.ColumnID <= f.last
}

// hasColumn reports whether an entry, other than a family tombstone, is of a family.
func (t *tracker) hasColumn(f *family, c *cell.Cell) bool {
	if !bytes.HasPrefix(c.Column, f.prefix) {
		return false
	}
	t.noteColumnID(f, c)
	return true
}

// noteColumnID remembers that the column id of an entry is of a family.
func (t *tracker) noteColumnID(f *family, c *cell.Cell) {
	switch {
	case t.dictionaryID == 0:
	case f.dictionaryID != t.dictionaryID:
		f.dictionaryID, f.first, f.last = t.dictionaryID, c.ColumnID, c.ColumnID
	default:
		f.first, f.last = min(f.first, c.ColumnID), max(f.last, c.ColumnID)
	}
}

// findFamily returns the family of an entry.
func (t *tracker) findFamily(c *cell.Cell) *family {
	if t.next < len(t.families) {
		if f := &t.families[t.next]; t.hasColumnID(f, c) || t.hasColumn(f, c) {
			t.next++
			return f
		}
	}
	name, _ := cell.SplitColumn(c.Column)
	i, found := slices.BinarySearchFunc(t.families, name, func(f family, name []byte) int {
		return bytes.Compare(f.prefix[:len(f.prefix)-1], name)
	})
	if !found {
		i = t.addFamily(i, name)
	}
	t.next = i + 1
	t.noteColumnID(&t.families[i], c)
	return &t.families[i]
}

// addFamily inserts a family at i and returns its index. It reuses the memory of forgotten
// families.
func (t *tracker) addFamily(i int, name []byte) int {
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
		first:   1, // first > last: no column id is known
	}
	return i
}
