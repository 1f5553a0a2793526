package sstable

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
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

func (d *columnDict) reset() {
	families := d.families
	if len(families) > maxKeptFamilies {
		families = nil
	}
	for i := range families {
		families[i].reset()
	}
	*d = columnDict{names: d.names[:0], ends: d.ends[:0], kinds: d.kinds[:0], sorted: d.sorted[:0], successor: d.successor[:0],
		families: families}
}

func (d *columnDict) name(id uint32) []byte {
	from := 0
	if id > 0 {
		from = d.ends[id-1]
	}
	return d.names[from:d.ends[id]]
}

// beginRow must be called before the first cell of each row.
func (d *columnDict) beginRow() { d.predicted, d.inRow = d.rowStart, false }

// predict returns the predicted column, and whether it is this one and may follow the
// last one in its row.
func (d *columnDict) predict(column []byte) (id uint32, ok bool) {
	id = d.predicted
	if int(id) >= len(d.ends) {
		return 0, false
	}
	return id, (!d.inRow || id != d.last) && bytes.Equal(d.name(id), column)
}

// setLast makes a column the last one.
func (d *columnDict) setLast(id uint32) {
	d.last, d.predicted, d.inRow, d.lastIsNew = id, d.successor[id], true, false
}

// id returns the number of a column, and whether it is new. Columns of a row must not
// descend.
func (d *columnDict) id(column []byte) (id uint32, fresh bool) {
	if d.inRow && bytes.Equal(d.name(d.last), column) {
		return d.last, false // another version of the cell
	}
	f := d.familyOf(column)
	prefix := qualifierPrefix(column[len(f.name):])
	at, found := d.find(f, prefix, column)
	if found {
		id = f.ids[at]
	} else {
		id = d.add(column)
		f.insert(at, prefix, id)
	}
	if d.inRow {
		d.successor[d.last] = id
		if d.lastIsNew && found {
			d.afterNew = id
		}
	} else {
		d.rowStart = id
	}
	d.setLast(id)
	d.lastIsNew = !found
	return id, !found
}

// beganFamily reports whether the last new column is the first of its family.
func (d *columnDict) beganFamily() bool { return len(d.families[d.family].ids) == 1 }

// familyOf returns the family of a column, mostly that of the column before.
func (d *columnDict) familyOf(column []byte) *columnFamily {
	if d.family < len(d.families) && d.families[d.family].has(column) {
		return &d.families[d.family]
	}
	name := column[:bytes.IndexByte(column, 0)+1]
	if len(name) == 0 {
		name = column // a tombstone's
	}
	at, end := 0, len(d.families) // package slices would need a closure, through which all columns escape
	for at < end {
		mid := int(uint(at+end) / 2)
		if bytes.Compare(d.families[mid].name, name) < 0 {
			at = mid + 1
		} else {
			end = mid
		}
	}
	if at == len(d.families) || !bytes.Equal(d.families[at].name, name) {
		d.families = slices.Insert(d.families, at, columnFamily{name: bytes.Clone(name)})
	}
	d.family = at
	return &d.families[at]
}

// find returns the index of a column in f, its family, and whether it is there.
// prefix is that of its qualifier.
func (d *columnDict) find(f *columnFamily, prefix uint64, column []byte) (at int, found bool) {
	lo, hi := 0, len(f.ids)
	if hi > 0 && f.prefixes[hi-1] < prefix {
		return hi, false // as for every column of a first row
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		before := f.prefixes[mid] < prefix
		if f.prefixes[mid] == prefix {
			c := bytes.Compare(d.name(f.ids[mid]), column)
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
func (d *columnDict) add(column []byte) (id uint32) {
	id = uint32(len(d.ends))
	d.names = append(d.names, column...)
	d.ends = append(d.ends, len(d.names))
	after := id
	if bytes.Compare(column, d.name(d.afterNew)) < 0 {
		after = d.afterNew
	}
	d.successor = append(d.successor, after)
	return id
}

// sort fills sorted.
func (d *columnDict) sort() {
	d.sorted = d.sorted[:0]
	for i := range d.families {
		d.sorted = append(d.sorted, d.families[i].ids...)
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
func (v cellVersion) timeDelta(base uint64) uint64 {
	if v.time == cell.TombstoneTime {
		return 0
	}
	return uint64(v.time) - base
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
	v := cellVersion{time, seq}
	if len(t.list) > 0 && t.list[t.last] == v {
		return t.last
	}
	id, ok := t.find(v)
	if !ok {
		id = t.add(v)
	}
	t.last = id
	return id
}

func (t *versionDict) find(v cellVersion) (id uint32, ok bool) {
	if len(t.list) > maxLinearVersions {
		id, ok = t.byVersion[v]
		return id, ok
	}
	for i := range t.list {
		if t.list[i].seq == v.seq && t.list[i].time == v.time {
			return uint32(i), true
		}
	}
	return 0, false
}

func (t *versionDict) add(v cellVersion) (id uint32) {
	id = uint32(len(t.list))
	t.list = append(t.list, v)
	switch {
	case id > maxLinearVersions:
		t.byVersion[v] = id
	case id == maxLinearVersions:
		if t.byVersion == nil {
			t.byVersion = make(map[cellVersion]uint32)
		}
		for i, v := range t.list {
			t.byVersion[v] = uint32(i)
		}
	}
	t.minSeq, t.maxSeq = min(t.minSeq, v.seq), max(t.maxSeq, v.seq)
	if v.time != cell.TombstoneTime {
		t.minTime, t.maxTime = min(t.minTime, v.time), max(t.maxTime, v.time)
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

// span returns the range of the times, which is empty if no version has a time of its own.
func (t *versionDict) span() cell.TimeRange {
	if t.maxTime < 0 {
		return cell.TimeRange{}
	}
	return cell.TimeRange{Start: t.minTime, End: t.maxTime + 1}
}

// seqs returns the base of the sequence numbers and the width of their deltas.
func (t *versionDict) seqs() (base uint64, width byte) {
	return t.minSeq, byte(widthOf(t.maxSeq - t.minSeq))
}
