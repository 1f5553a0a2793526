package lsmstore

import (
	"cmp"
	"slices"
	"sort"

	"github.com/colonnade-db/colonnade/widecol"
)

// covering tells which of the timed deletions of a column covers a version last. A request may have a hundred thousand
// of both, so neither is compared with all of the other: the times of the versions are known before, as points, and
// the deletions are in a segment tree over them.
//
//	last   the nodes of the tree: node i has the nodes 2i and 2i+1 below it, and point p is node len(times)+p.
//	       A deletion is noted at the fewest nodes that have its points below them; each node has the place of the last
//	       deletion noted there, plus 1
type covering struct {
	times []int64 // in order, each once
	last  []int
	steps int // nodes looked at, for tests
}

// coverings returns a covering for each column with a timed deletion, by scope. Their points are the times of the
// mutations with an Op, as timeOf has them.
func coverings(mutations []widecol.Mutation, op widecol.Op, timeOf func(*widecol.Mutation) int64) map[string]*covering {
	var all map[string]*covering
	var key []byte
	for i := range mutations {
		if m := &mutations[i]; timed(m) {
			if all == nil {
				all = map[string]*covering{}
			}
			if key = appendScope(key[:0], m, m.Op); all[string(key)] == nil {
				all[string(key)] = new(covering)
			}
		}
	}
	if all == nil {
		return nil
	}
	for i := range mutations {
		if m := &mutations[i]; m.Op == op {
			key = appendScope(key[:0], m, widecol.DeleteColumn)
			if c := all[string(key)]; c != nil {
				c.times = append(c.times, timeOf(m))
			}
		}
	}
	for _, c := range all {
		slices.Sort(c.times)
		c.times = slices.Compact(c.times)
		c.last = make([]int, 2*len(c.times))
	}
	return all
}

// timed reports whether a mutation deletes some times of a column.
func timed(m *widecol.Mutation) bool {
	return m.Op == widecol.DeleteColumn && m.Times() != widecol.AllTimes
}

// point returns the index of the first of the times that is not below time.
func (c *covering) point(time int64) int {
	return sort.Search(len(c.times), func(i int) bool { return c.times[i] >= time })
}

// cover notes a deletion of some times, which has a place in the list.
func (c *covering) cover(r widecol.TimeRange, place int) {
	low, high := len(c.times)+c.point(r.Start), len(c.times)+c.point(r.End)
	for ; low < high; low, high = low/2, high/2 {
		if low%2 == 1 {
			c.note(low, place)
			low++
		}
		if high%2 == 1 {
			high--
			c.note(high, place)
		}
	}
}

func (c *covering) note(node, place int) {
	c.steps++
	c.last[node] = max(c.last[node], place+1)
}

// lastOver returns the place of the last of the deletions so far that cover a time, which is among the points. It is -1
// for none, also without a covering.
func (c *covering) lastOver(time int64) int {
	if c == nil {
		return -1
	}
	last := 0
	for node := len(c.times) + c.point(time); node > 0; node /= 2 {
		c.steps++
		last = max(last, c.last[node])
	}
	return last - 1
}

// union returns the times of all ranges, as ranges in order that do not touch. It changes the list.
func union(ranges []widecol.TimeRange) []widecol.TimeRange {
	slices.SortFunc(ranges, func(a, b widecol.TimeRange) int { return cmp.Compare(a.Start, b.Start) })
	kept := ranges[:0]
	for _, r := range ranges {
		switch n := len(kept); {
		case r.Start >= r.End:
		case n > 0 && r.Start <= kept[n-1].End:
			kept[n-1].End = max(kept[n-1].End, r.End)
		default:
			kept = append(kept, r)
		}
	}
	return kept
}

// contains reports whether a union has a time.
func contains(ranges []widecol.TimeRange, time int64) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].End > time })
	return i < len(ranges) && ranges[i].Contains(time)
}
