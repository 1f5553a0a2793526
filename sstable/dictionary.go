package sstable

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"colonnade/cell"
)

// A columnDict numbers the columns of a block in order of appearance.
type columnDict struct {
	names []byte // back to back
	ends  []int
	kinds []byte // kind of each column's first cell

	families []columnFamily // by name; of this block and some earlier ones
	family   int            // index of the family that was looked up last
	sorted   []uint32       // all columns by name, after sort

	// Rows tend to have the same columns in the same order, so the column that
	// followed the last one in an earlier row is tried first.
	successor []uint32 // the column that last followed each one in a row, always a later one; itself if none has
	last      uint32   // column of the last cell
	predicted uint32   // column to try first
	rowStart  uint32   // first column of the last row
	inRow     bool     // the last row has cells
	lastIsNew bool     // last was new
	afterNew  uint32   // column that last followed a new one
}

// maxKeptFamilies is how many families a columnDict keeps for the next block; few
// partitions have half as many, and tombstones of a family count as another one. With
// 200 families, keeping only 64 made blocks take 3 to 4 times as long; 1,024 was no
// better than none dropped.
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

// beginRow must be called before the first cell of each row.
func (t *columnDict) beginRow() { t.predicted, t.inRow = t.rowStart, false }

// predict returns the predicted column, and whether it is this one and may follow the
// last one in its row.
func (t *columnDict) predict(column []byte) (id uint32, ok bool) {
	id = t.predicted
	if int(id) >= len(t.ends) {
		return 0, false
	}
	return id, (!t.inRow || id != t.last) && bytes.Equal(t.name(id), column)
}

// setLast makes a column the last one.
func (t *columnDict) setLast(id uint32) {
	t.last, t.predicted, t.inRow, t.lastIsNew = id, t.successor[id], true, false
}

// id returns the number of a column, and whether it is new. Columns of a row must not
// descend.
func (t *columnDict) id(column []byte) (id uint32, fresh bool) {
	if t.inRow && bytes.Equal(t.name(t.last), column) {
		return t.last, false // another version of the cell
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

// beganFamily reports whether the last new column is the first of its family.
func (t *columnDict) beganFamily() bool { return len(t.families[t.family].ids) == 1 }

// familyOf returns the family of a column, mostly that of the column before.
func (t *columnDict) familyOf(column []byte) *columnFamily {
	if t.family < len(t.families) && t.families[t.family].has(column) {
		return &t.families[t.family]
	}
	name := column[:bytes.IndexByte(column, 0)+1]
	if len(name) == 0 {
		name = column // a tombstone's
	}
	at, end := 0, len(t.families) // package slices would need a closure, through which all columns escape
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

// find returns the index of a column in f, its family, and whether it is there.
// prefix is that of its qualifier.
func (t *columnDict) find(f *columnFamily, prefix uint64, column []byte) (at int, found bool) {
	lo, hi := 0, len(f.ids)
	if hi > 0 && f.prefixes[hi-1] < prefix {
		return hi, false // as for every column of a first row
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

// add numbers a new column. Its successor is taken to be the column that last followed
// a new one, if that is later.
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

// A columnFamily holds the columns of one family, in order. Most differ in the first
// bytes of the qualifier, so a search compares adjacent numbers and rarely whole
// columns. Tombstones of a row or family, whose column has no qualifier, have a family
// of their own.
type columnFamily struct {
	name     []byte   // everything before the qualifier, with the NUL
	prefixes []uint64 // qualifierPrefix of each column
	ids      []uint32
}

func (f *columnFamily) reset() { f.prefixes, f.ids = f.prefixes[:0], f.ids[:0] }

// has reports whether a column is in the family. False means unknown for a tombstone's.
func (f *columnFamily) has(column []byte) bool {
	n := len(f.name)
	return n > 0 && len(column) >= n && f.name[n-1] == 0 && string(column[:n]) == string(f.name)
}

// insert inserts a column. It is faster than slices.Insert for so few.
func (f *columnFamily) insert(at int, prefix uint64, id uint32) {
	f.prefixes, f.ids = append(f.prefixes, 0), append(f.ids, 0)
	copy(f.prefixes[at+1:], f.prefixes[at:])
	copy(f.ids[at+1:], f.ids[at:])
	f.prefixes[at], f.ids[at] = prefix, id
}

// qualifierPrefix returns the first eight bytes of a qualifier as a number, padded with
// zeros. Numbers order as qualifiers do, but different qualifiers may have the same.
func qualifierPrefix(qualifier []byte) uint64 {
	if len(qualifier) >= 8 {
		return binary.BigEndian.Uint64(qualifier)
	}
	var b [8]byte
	copy(b[:], qualifier)
	return binary.BigEndian.Uint64(b[:])
}

// A cellVersion is a time and a sequence number that occur together.
type cellVersion struct {
	time int64
	seq  uint64
}

// timeDelta returns the stored time: 0 for a tombstone without a time of its own.
func (s cellVersion) timeDelta(base uint64) uint64 {
	if s.time == cell.TombstoneTime {
		return 0
	}
	return uint64(s.time) - base
}

// A versionDict numbers the versions of a block in order of appearance.
type versionDict struct {
	list             []cellVersion
	byVersion        map[cellVersion]uint32 // used above maxLinearVersions
	last             uint32                 // the version looked up last
	minTime, maxTime int64
	minSeq, maxSeq   uint64
}

// maxLinearVersions is how many versions are searched linearly, which is faster than
// a map for so few. Blocks of rows with ten cells have about 15.
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

// times returns the base of the times and the width of their deltas.
func (t *versionDict) times() (base uint64, width byte) {
	if t.maxTime < 0 {
		return 0, 0 // no version has a time of its own
	}
	return uint64(t.minTime), byte(widthOf(uint64(t.maxTime) - uint64(t.minTime)))
}

// seqs returns the base of the sequence numbers and the width of their deltas.
func (t *versionDict) seqs() (base uint64, width byte) {
	return t.minSeq, byte(widthOf(t.maxSeq - t.minSeq))
}
