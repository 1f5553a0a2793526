package sstable

import (
	"bytes"
	"math"
	"slices"

	"colonnade/cell"
)

// A columnTable gives the columns of a block numbers in order of appearance.
type columnTable struct {
	names  []byte // back to back
	ends   []int
	kinds  []byte   // the kind of each column's first cell
	sorted []uint32 // all columns, in order of their names

	// Rows tend to have the same columns in the same order, so the column that came after the
	// last one in a row before is tried first.
	after    []uint32 // which column came after each one when it was last met in a row: a later one; itself for none yet
	last     uint32   // the column of the cell before
	expected uint32   // the one to be tried first
	rowStart uint32   // the first column of the last row
	inRow    bool     // the last row has cells
	wasFresh bool     // last was new
	toFresh  uint32   // what came last after a column that was new
}

func (t *columnTable) reset() {
	*t = columnTable{names: t.names[:0], ends: t.ends[:0], kinds: t.kinds[:0], sorted: t.sorted[:0], after: t.after[:0]}
}

func (t *columnTable) name(id uint32) []byte {
	from := 0
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.names[from:t.ends[id]]
}

// beginRow is called before the first cell of each row.
func (t *columnTable) beginRow() { t.expected, t.inRow = t.rowStart, false }

// expect returns the number of the column that is expected next, and whether it is this one
// and, in its row, comes after the one before.
func (t *columnTable) expect(column []byte) (id uint32, ok bool) {
	id = t.expected
	if int(id) >= len(t.ends) {
		return 0, false
	}
	return id, (!t.inRow || id != t.last) && bytes.Equal(t.name(id), column)
}

// take makes a column the last one.
func (t *columnTable) take(id uint32) {
	t.last, t.expected, t.inRow, t.wasFresh = id, t.after[id], true, false
}

// id returns the number of a column, and whether it is new. It must not come before the last
// one of its row.
func (t *columnTable) id(column []byte) (id uint32, fresh bool) {
	if t.inRow && bytes.Equal(t.name(t.last), column) {
		return t.last, false // another version
	}
	at, found := t.find(column)
	if found {
		id = t.sorted[at]
	} else {
		id = t.insert(at, column)
	}
	if t.inRow {
		t.after[t.last] = id
		if t.wasFresh && found {
			t.toFresh = id
		}
	} else {
		t.rowStart = id
	}
	t.take(id)
	t.wasFresh = !found
	return id, !found
}

// find returns the place of a column among the sorted ones, and whether it is there.
func (t *columnTable) find(column []byte) (at int, found bool) {
	n := len(t.sorted)
	if n == 0 || bytes.Compare(t.name(t.sorted[n-1]), column) < 0 {
		return n, false // as is all of a first row
	}
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch c := bytes.Compare(t.name(t.sorted[mid]), column); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// insert makes a column the one at a place among the sorted ones. As nobody knows what comes
// after it, that is taken to be what came after another new one, if it can.
func (t *columnTable) insert(at int, column []byte) (id uint32) {
	id = uint32(len(t.ends))
	t.names = append(t.names, column...)
	t.ends = append(t.ends, len(t.names))
	t.sorted = slices.Insert(t.sorted, at, id)
	after := id
	if bytes.Compare(column, t.name(t.toFresh)) < 0 {
		after = t.toFresh
	}
	t.after = append(t.after, after)
	return id
}

// A stamp is a time and sequence number that occur together.
type stamp struct {
	time int64
	seq  uint64
}

// timeAbove is what the block stores for the time: nothing for a tombstone that
// has none of its own.
func (s stamp) timeAbove(base uint64) uint64 {
	if s.time == cell.TombstoneTime {
		return 0
	}
	return uint64(s.time) - base
}

// A stampTable gives the stamps of a block numbers in order of appearance.
type stampTable struct {
	list             []stamp
	byStamp          map[stamp]uint32
	last             uint32 // the stamp asked for last
	minTime, maxTime int64
	minSeq, maxSeq   uint64
}

func (t *stampTable) reset() {
	*t = stampTable{list: t.list[:0], byStamp: t.byStamp,
		minTime: math.MaxInt64, maxTime: -1, minSeq: math.MaxUint64}
	if t.byStamp == nil {
		t.byStamp = make(map[stamp]uint32)
	}
	clear(t.byStamp)
}

func (t *stampTable) id(time int64, seq uint64) uint32 {
	s := stamp{time, seq}
	if len(t.list) > 0 && t.list[t.last] == s {
		return t.last
	}
	id, ok := t.byStamp[s]
	if !ok {
		id = uint32(len(t.list))
		t.list = append(t.list, s)
		t.byStamp[s] = id
		t.minSeq, t.maxSeq = min(t.minSeq, seq), max(t.maxSeq, seq)
		if time != cell.TombstoneTime {
			t.minTime, t.maxTime = min(t.minTime, time), max(t.maxTime, time)
		}
	}
	t.last = id
	return id
}

// times returns the base of the stored times and their width.
func (t *stampTable) times() (base uint64, width byte) {
	if t.maxTime < 0 {
		return 0, 0 // no stamp has a time of its own
	}
	return uint64(t.minTime), byte(widthOf(uint64(t.maxTime) - uint64(t.minTime)))
}

// seqs returns the base of the stored sequence numbers and their width.
func (t *stampTable) seqs() (base uint64, width byte) {
	return t.minSeq, byte(widthOf(t.maxSeq - t.minSeq))
}
