package sstable

import (
	"bytes"
	"math"

	"colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// A columnTable gives the columns of a block numbers in order of appearance.
type columnTable struct {
	names []byte // back to back
	ends  []int
	kinds []byte            // the kind of each column's first cell
	next  []uint32          // which column came after each column, when it last appeared
	last  uint32            // the column asked for last
	byKey map[uint64]uint32 // by hash; a column whose key is taken has the next free one
}

func (t *columnTable) reset() {
	t.names, t.ends, t.kinds, t.next = t.names[:0], t.ends[:0], t.kinds[:0], t.next[:0]
	t.last = 0
	if t.byKey == nil {
		t.byKey = make(map[uint64]uint32)
	}
	clear(t.byKey)
}

func (t *columnTable) name(id uint32) []byte {
	from := 0
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.names[from:t.ends[id]]
}

// id returns the number of a column, and whether it is new. Rows tend to have
// the same columns in the same order, so the column that followed the last one
// in an earlier row is tried first.
func (t *columnTable) id(column []byte) (id uint32, fresh bool) {
	if len(t.ends) > 0 {
		if guess := t.next[t.last]; bytes.Equal(t.name(guess), column) {
			t.last = guess
			return guess, false
		}
	}
	id, fresh = t.find(column)
	t.next[t.last] = id
	t.last = id
	return id, fresh
}

func (t *columnTable) find(column []byte) (id uint32, fresh bool) {
	key := xxhash.Sum64(column)
	for {
		id, ok := t.byKey[key]
		if !ok {
			break
		}
		if bytes.Equal(t.name(id), column) {
			return id, false
		}
		key++
	}
	id = uint32(len(t.ends))
	t.byKey[key] = id
	t.names = append(t.names, column...)
	t.ends = append(t.ends, len(t.names))
	t.next = append(t.next, 0)
	return id, true
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
