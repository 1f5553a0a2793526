// Package rangedel keeps range tombstones and finds the newest one over a row. It is pure logic over
// row keys and sequence numbers: it knows no memtables, files or locks.
//
// A range tombstone deletes all entries of a range of rows that have a lower sequence number. A Set
// shows its tombstones as steps, so that one binary search finds the newest over a row:
//
//	tombstones   [a,      m) #5
//	                 [f,       t) #9
//	steps        a #5  f #9        t #0
//
// That answers readers who see the whole set. A reader with an older snapshot looks at the tombstones
// one by one, or makes a smaller Set of those that it sees (Set.AsOf).
package rangedel

import (
	"bytes"
	"container/heap"
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Tombstone deletes the rows from Start up to End, End not included: their entries with a sequence
// number below Seq. A nil End is the end of the partition.
type Tombstone struct {
	Start, End []byte
	Seq        uint64
}

// reaches reports whether a row is at or after the end.
func (t *Tombstone) reaches(row []byte) bool { return t.End != nil && bytes.Compare(row, t.End) >= 0 }

// Covers reports whether a row is in the range.
func (t *Tombstone) Covers(row []byte) bool {
	return bytes.Compare(row, t.Start) >= 0 && !t.reaches(row)
}

// fixedBytes is about what a tombstone takes in memory beside its keys: itself and two steps.
const fixedBytes = 128

// Bytes returns about what the tombstone takes in a Set.
func (t *Tombstone) Bytes() int64 { return fixedBytes + int64(len(t.Start)+len(t.End)) }

// Set is an immutable set of tombstones. A nil Set is empty, and no other is.
type Set struct {
	list           []Tombstone
	steps          []step
	minSeq, maxSeq uint64
	bytes          int64
}

// step says that seq is the newest tombstone of the rows from row on, up to the next step; 0 for none.
// The first step has an empty row, and neighbours have different numbers.
type step struct {
	row []byte
	seq uint64
}

// New returns the set of tombstones, in any order, none of an empty range. It keeps the list.
func New(list []Tombstone) *Set {
	if len(list) == 0 {
		return nil
	}
	s := &Set{list: list, steps: stepsOf(list), minSeq: list[0].Seq, maxSeq: list[0].Seq}
	for i := range list {
		s.minSeq, s.maxSeq = min(s.minSeq, list[i].Seq), max(s.maxSeq, list[i].Seq)
		s.bytes += list[i].Bytes()
	}
	return s
}

// Merge returns the tombstones of several sets as fragments, for readers who see all of them: ranges in
// order that do not overlap, each with the newest tombstone over its rows.
func Merge(sets ...*Set) *Set {
	var all []Tombstone
	for _, s := range sets {
		all = append(all, s.List()...)
	}
	steps := stepsOf(all)
	var list []Tombstone
	for i, step := range steps {
		if step.seq == 0 {
			continue
		}
		t := Tombstone{Start: step.row, Seq: step.seq}
		if i+1 < len(steps) {
			t.End = steps[i+1].row
		}
		list = append(list, t)
	}
	return New(list)
}

// stepsOf returns the steps of tombstones.
func stepsOf(list []Tombstone) []step {
	byStart := make([]*Tombstone, len(list))
	rows := make([][]byte, 0, 1+2*len(list))
	rows = append(rows, nil)
	for i := range list {
		byStart[i] = &list[i]
		rows = append(rows, list[i].Start)
		if list[i].End != nil {
			rows = append(rows, list[i].End)
		}
	}
	slices.SortFunc(byStart, func(a, b *Tombstone) int { return bytes.Compare(a.Start, b.Start) })
	slices.SortFunc(rows, bytes.Compare)
	steps := make([]step, 0, len(rows))
	var open newestFirst // the tombstones that begin at or before the row, less some that have ended
	for _, row := range rows {
		for len(byStart) > 0 && bytes.Compare(byStart[0].Start, row) <= 0 {
			heap.Push(&open, byStart[0])
			byStart = byStart[1:]
		}
		for len(open) > 0 && open[0].reaches(row) {
			heap.Pop(&open)
		}
		seq := uint64(0)
		if len(open) > 0 {
			seq = open[0].Seq
		}
		switch n := len(steps); {
		case n > 0 && bytes.Equal(steps[n-1].row, row), n > 0 && steps[n-1].seq == seq:
		default:
			steps = append(steps, step{row, seq})
		}
	}
	return steps
}

// newestFirst is a heap of tombstones.
type newestFirst []*Tombstone

func (h newestFirst) Len() int           { return len(h) }
func (h newestFirst) Less(i, j int) bool { return h[i].Seq > h[j].Seq }
func (h newestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *newestFirst) Push(t any)        { *h = append(*h, t.(*Tombstone)) }
func (h *newestFirst) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return t
}

// Len returns the number of tombstones.
func (s *Set) Len() int { return len(s.List()) }

// List returns the tombstones, in the order in which they were given. It must not be changed.
func (s *Set) List() []Tombstone {
	if s == nil {
		return nil
	}
	return s.list
}

// MaxSeq returns the highest sequence number, 0 for an empty set.
func (s *Set) MaxSeq() uint64 {
	if s == nil {
		return 0
	}
	return s.maxSeq
}

// Bytes returns about how much memory the set takes.
func (s *Set) Bytes() int64 {
	if s == nil {
		return 0
	}
	return s.bytes
}

// AsOf returns the tombstones that a snapshot at seq sees.
func (s *Set) AsOf(seq uint64) *Set {
	switch {
	case s == nil || seq < s.minSeq:
		return nil
	case seq >= s.maxSeq:
		return s
	}
	return New(slices.DeleteFunc(slices.Clone(s.list), func(t Tombstone) bool { return t.Seq > seq }))
}

// Newest returns the sequence number of the newest tombstone over a row that a snapshot at seq sees, 0
// for none.
func (s *Set) Newest(row []byte, seq uint64) (newest uint64) {
	switch {
	case s == nil || seq < s.minSeq:
	case seq >= s.maxSeq:
		newest = s.steps[s.find(row)].seq
	default:
		for i := range s.list {
			if t := &s.list[i]; t.Seq <= seq && t.Seq > newest && t.Covers(row) {
				newest = t.Seq
			}
		}
	}
	return newest
}

// find returns the index of the step that a row is in.
func (s *Set) find(row []byte) int {
	return sort.Search(len(s.steps), func(i int) bool { return bytes.Compare(s.steps[i].row, row) > 0 }) - 1
}

// CoversAll reports whether each row from first to last, both included, has a tombstone above a sequence
// number.
func (s *Set) CoversAll(first, last []byte, above uint64) bool {
	if s == nil || s.maxSeq <= above {
		return false
	}
	for i := s.find(first); i < len(s.steps) && bytes.Compare(s.steps[i].row, last) <= 0; i++ {
		if s.steps[i].seq <= above {
			return false
		}
	}
	return true
}

// CoversRange is CoversAll for the rows from start up to end, end not included. They are not empty.
func (s *Set) CoversRange(start, end []byte, above uint64) bool {
	if s == nil || s.maxSeq <= above {
		return false
	}
	for i := s.find(start); i < len(s.steps) && bytes.Compare(s.steps[i].row, end) < 0; i++ {
		if s.steps[i].seq <= above {
			return false
		}
	}
	return true
}

// Fragments returns the fragments that have rows from first to last, both included, and are above a
// sequence number, each with its index in List. The set must have come from Merge.
func (s *Set) Fragments(first, last []byte, above uint64) iter.Seq2[int, *Tombstone] {
	return func(yield func(int, *Tombstone) bool) {
		if s == nil || s.maxSeq <= above {
			return
		}
		i := sort.Search(len(s.list), func(i int) bool { return !s.list[i].reaches(first) })
		for ; i < len(s.list) && bytes.Compare(s.list[i].Start, last) <= 0; i++ {
			if t := &s.list[i]; t.Seq > above && !yield(i, t) {
				return
			}
		}
	}
}

// CheckFragments returns an error unless the tombstones can have come from Merge.
func (s *Set) CheckFragments() error {
	for i, t := range s.List() {
		switch {
		case t.Seq == 0:
			return fmt.Errorf("range tombstone from %q has no sequence number", t.Start)
		case t.End != nil && bytes.Compare(t.Start, t.End) >= 0:
			return fmt.Errorf("range tombstone from %q ends with %q", t.Start, t.End)
		case i > 0 && !s.list[i-1].reaches(t.Start):
			return fmt.Errorf("range tombstone from %q begins before the one before it ends", t.Start)
		}
	}
	return nil
}
