package sstable

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"colonnade/cell"
)

// A columnTable gives the columns of a block numbers in order of appearance.
type columnDict struct {
	names []byte // back to back
	ends  []int
	kinds []byte // the kind of each column's first cell

	families []columnFamily // those of this block and of some before, in order of their names
	family   int            // where the last column that was looked for has its family
	sorted   []uint32       // all columns, in order of their names, once sort is called

	// Rows tend to have the same columns in the same order, so the column that came after the
	// last one in a row before is tried first.
	successor []uint32 // which column came after each one when it was last met in a row: a later one; itself for none yet
	last      uint32   // the column of the cell before
	predicted uint32   // the one to be tried first
	rowStart  uint32   // the first column of the last row
	inRow     bool     // the last row has cells
	lastIsNew bool     // last was new
	afterNew  uint32   // what came last after a column that was new
}

// mostFamilies is how many families a columnTable keeps from one block to the next: hardly a partition
// has half as many, and tombstones of a family count as one more. To make their lists anew in each
// block takes longer than all the rest.
const maxKeptFamilies = 512

func (t *columnDict) reset() {
	families := t.families
	if len(families) > maxKeptFamilies {
		families = nil
	}
	for i := range families {
		families[i].reset()
	}
	*t = columnDict{names: t.names[:0], ends: t.ends[:0], kinds: t.kinds[:0], sorted: t.sorted[:0], successor: t.successor[:0],
		families: families}
}

func (t *columnDict) name(id uint32) []byte {
	from := 0
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.names[from:t.ends[id]]
}

// beginRow is called before the first cell of each row.
func (t *columnDict) beginRow() { t.predicted, t.inRow = t.rowStart, false }

// expect returns the number of the column that is expected next, and whether it is this one
// and, in its row, comes after the one before.
func (t *columnDict) predict(column []byte) (id uint32, ok bool) {
	id = t.predicted
	if int(id) >= len(t.ends) {
		return 0, false
	}
	return id, (!t.inRow || id != t.last) && bytes.Equal(t.name(id), column)
}

// take makes a column the last one.
func (t *columnDict) setLast(id uint32) {
	t.last, t.predicted, t.inRow, t.lastIsNew = id, t.successor[id], true, false
}

// id returns the number of a column, and whether it is new. It must not come before the last
// one of its row.
func (t *columnDict) id(column []byte) (id uint32, fresh bool) {
	if t.inRow && bytes.Equal(t.name(t.last), column) {
		return t.last, false // another version
	}
	f := t.familyOf(column)
	prefix := qualifierPrefix(column[len(f.name):])
	at, found := t.find(f, prefix, column)
	if found {
		id = f.ids[at]
	} else {
		id = t.add(column)
		f.insert(at, prefix, id)
	}
	if t.inRow {
		t.successor[t.last] = id
		if t.lastIsNew && found {
			t.afterNew = id
		}
	} else {
		t.rowStart = id
	}
	t.setLast(id)
	t.lastIsNew = !found
	return id, !found
}

// newFamily reports whether the column that was new last is the first one of its family.
func (t *columnDict) beganFamily() bool { return len(t.families[t.family].ids) == 1 }

// familyOf returns the family of a column, which is mostly that of the one before.
func (t *columnDict) familyOf(column []byte) *columnFamily {
	if t.family < len(t.families) && t.families[t.family].has(column) {
		return &t.families[t.family]
	}
	name := column[:bytes.IndexByte(column, 0)+1]
	if len(name) == 0 {
		name = column // of a tombstone
	}
	at, end := 0, len(t.families) // not by package slices: a function that compares would have all columns escape
	for at < end {
		mid := int(uint(at+end) / 2)
		if bytes.Compare(t.families[mid].name, name) < 0 {
			at = mid + 1
		} else {
			end = mid
		}
	}
	if at == len(t.families) || !bytes.Equal(t.families[at].name, name) {
		t.families = slices.Insert(t.families, at, columnFamily{name: bytes.Clone(name)})
	}
	t.family = at
	return &t.families[at]
}

// find returns the place of a column among those of f, which has to be its family, and whether it is
// there. begin is the beginning of its qualifier.
func (t *columnDict) find(f *columnFamily, prefix uint64, column []byte) (at int, found bool) {
	lo, hi := 0, len(f.ids)
	if hi > 0 && f.prefixes[hi-1] < prefix {
		return hi, false // as is all of a first row
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		before := f.prefixes[mid] < prefix
		if f.prefixes[mid] == prefix {
			c := bytes.Compare(t.name(f.ids[mid]), column)
			if c == 0 {
				return mid, true
			}
			before = c < 0
		}
		if before {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, false
}

// add gives a new column the next number. As nobody knows what comes after it, that is taken to be
// what came after another new one, if it can.
func (t *columnDict) add(column []byte) (id uint32) {
	id = uint32(len(t.ends))
	t.names = append(t.names, column...)
	t.ends = append(t.ends, len(t.names))
	after := id
	if bytes.Compare(column, t.name(t.afterNew)) < 0 {
		after = t.afterNew
	}
	t.successor = append(t.successor, after)
	return id
}

// sort fills sorted.
func (t *columnDict) sort() {
	t.sorted = t.sorted[:0]
	for i := range t.families {
		t.sorted = append(t.sorted, t.families[i].ids...)
	}
}

// A columnFamily is the columns of one family, in order. Most differ from each other in the first
// bytes of the qualifier already, so a search compares numbers that lie side by side, and hardly ever
// columns. A tombstone of a row or family, whose column has no qualifier, has a family of its own.
type columnFamily struct {
	name     []byte   // what they begin with: all before the qualifier, with the zero
	prefixes []uint64 // the beginning of each qualifier
	ids      []uint32
}

func (f *columnFamily) reset() { f.prefixes, f.ids = f.prefixes[:0], f.ids[:0] }

// has reports whether a column is of the family. False says nothing of a tombstone's.
func (f *columnFamily) has(column []byte) bool {
	n := len(f.name)
	return n > 0 && len(column) >= n && f.name[n-1] == 0 && string(column[:n]) == string(f.name)
}

// insert adds a column at a place, as slices.Insert does, which takes longer for so few.
func (f *columnFamily) insert(at int, prefix uint64, id uint32) {
	f.prefixes, f.ids = append(f.prefixes, 0), append(f.ids, 0)
	copy(f.prefixes[at+1:], f.prefixes[at:])
	copy(f.ids[at+1:], f.ids[at:])
	f.prefixes[at], f.ids[at] = prefix, id
}

// beginning returns the first eight bytes of a qualifier as a number that orders as they do.
// Those that begin alike may differ behind that, or in their length.
func qualifierPrefix(qualifier []byte) uint64 {
	if len(qualifier) >= 8 {
		return binary.BigEndian.Uint64(qualifier)
	}
	var b [8]byte
	copy(b[:], qualifier)
	return binary.BigEndian.Uint64(b[:])
}

// A stamp is a time and sequence number that occur together.
type cellVersion struct {
	time int64
	seq  uint64
}

// timeAbove is what the block stores for the time: nothing for a tombstone that
// has none of its own.
func (s cellVersion) timeDelta(base uint64) uint64 {
	if s.time == cell.TombstoneTime {
		return 0
	}
	return uint64(s.time) - base
}

// A stampTable gives the stamps of a block numbers in order of appearance.
type versionDict struct {
	list             []cellVersion
	byVersion        map[cellVersion]uint32 // of more than fewStamps
	last             uint32                 // the stamp asked for last
	minTime, maxTime int64
	minSeq, maxSeq   uint64
}

// fewStamps are found sooner one by one than in a map. Most blocks have no more: a row that was
// written at once has one.
const maxLinearVersions = 16

func (t *versionDict) reset() {
	if len(t.byVersion) > 0 {
		clear(t.byVersion)
	}
	*t = versionDict{list: t.list[:0], byVersion: t.byVersion,
		minTime: math.MaxInt64, maxTime: -1, minSeq: math.MaxUint64}
}

func (t *versionDict) id(time int64, seq uint64) uint32 {
	s := cellVersion{time, seq}
	if len(t.list) > 0 && t.list[t.last] == s {
		return t.last
	}
	id, ok := t.find(s)
	if !ok {
		id = t.add(s)
	}
	t.last = id
	return id
}

func (t *versionDict) find(s cellVersion) (id uint32, ok bool) {
	if len(t.list) > maxLinearVersions {
		id, ok = t.byVersion[s]
		return id, ok
	}
	for i := range t.list {
		if t.list[i].seq == s.seq && t.list[i].time == s.time {
			return uint32(i), true
		}
	}
	return 0, false
}

func (t *versionDict) add(s cellVersion) (id uint32) {
	id = uint32(len(t.list))
	t.list = append(t.list, s)
	switch {
	case id > maxLinearVersions:
		t.byVersion[s] = id
	case id == maxLinearVersions:
		if t.byVersion == nil {
			t.byVersion = make(map[cellVersion]uint32)
		}
		for i, s := range t.list {
			t.byVersion[s] = uint32(i)
		}
	}
	t.minSeq, t.maxSeq = min(t.minSeq, s.seq), max(t.maxSeq, s.seq)
	if s.time != cell.TombstoneTime {
		t.minTime, t.maxTime = min(t.minTime, s.time), max(t.maxTime, s.time)
	}
	return id
}

// times returns the base of the stored times and their width.
func (t *versionDict) times() (base uint64, width byte) {
	if t.maxTime < 0 {
		return 0, 0 // no stamp has a time of its own
	}
	return uint64(t.minTime), byte(widthOf(uint64(t.maxTime) - uint64(t.minTime)))
}

// seqs returns the base of the stored sequence numbers and their width.
func (t *versionDict) seqs() (base uint64, width byte) {
	return t.minSeq, byte(widthOf(t.maxSeq - t.minSeq))
}
