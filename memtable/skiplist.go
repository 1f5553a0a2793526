package memtable

import "unsafe"

// list is one skiplist: the rows of a table, or the entries of a row. It is a view, created when
// needed and passed by value.
type list struct {
	arena *arena
	low   unsafe.Pointer // the head of the levels below lowHeight; its links lie below it
	high  unsafe.Pointer // the head of the levels above, nil if there are none
}

// from returns the node at r, or the head where r is 0.
func (l *list) from(r ref, level int) unsafe.Pointer {
	switch {
	case r != 0:
		return l.arena.at(r)
	case level < lowHeight:
		return l.low
	default:
		return l.high
	}
}

// first returns the first node.
func (l *list) first() ref { return ref(link(l.low, 0).Load()) }

// walk goes along a level from a node before k (0: the head) while nodes are before k. It returns the
// last node before k, the node after it, and whether that is k's own. It does not compare after, a
// node known not to be before k.
func (l *list) walk(k *searchKey, prev ref, level int, after ref) (_, next ref, found bool) {
	p := l.from(prev, level)
	for {
		next = ref(link(p, level).Load())
		if next == after || next == 0 {
			return prev, next, false
		}
		n := l.arena.at(next)
		if r := k.compare(n); r <= 0 {
			return prev, next, r == 0
		}
		prev, p = next, n
	}
}

// search returns the first node at or after k, 0 if there is none, and whether it is k's own. It
// leaves the finger just before it.
func (l *list) search(k *searchKey, f *finger) (next ref, found bool) {
	level := maxHeight - 1
	if l.high == nil {
		level = lowHeight - 1
	}
	var prev, after ref
	for ; level >= 0; level-- {
		var own bool
		prev, next, own = l.walk(k, prev, level, after)
		if next != after {
			after, found = next, own
		}
		f.prev[level] = prev
	}
	return next, found
}

// finger remembers a place in a list: on every level a node before it (0: the head), on level 0 the
// last such node. The zero finger is at the start. Other goroutines may insert nodes in between, so a
// finger is where a search starts, and a write must compare first.
type finger struct {
	prev [maxHeight]ref
}

// seek is search, but takes one step if k is right after the finger. Keys that come in ascending order
// are searched for from the finger.
func (f *finger) seek(l *list, k *searchKey, ascending bool) (next ref, found bool) {
	if f.prev[0] == 0 {
		return l.search(k, f)
	}
	p := l.arena.at(f.prev[0])
	switch r := k.compare(p); {
	case r == 0:
		return f.prev[0], true
	case r > 0:
		next = ref(link(p, 0).Load())
		if next == 0 {
			return 0, false
		}
		if r := k.compare(l.arena.at(next)); r <= 0 {
			return next, r == 0
		}
		if ascending {
			return l.searchFromFinger(k, f)
		}
	}
	return l.search(k, f)
}

// searchFromFinger is search for a k after the finger. It climbs from there while the next node of a
// level is before k, so it costs the logarithm of the distance, not of the length.
func (l *list) searchFromFinger(k *searchKey, f *finger) (next ref, found bool) {
	level, top := 0, maxHeight-1
	if l.high == nil {
		top = lowHeight - 1
	}
	for ; level < top; level++ {
		n := ref(link(l.from(f.prev[level], level), level).Load())
		if n == 0 || k.compare(l.arena.at(n)) <= 0 {
			break
		}
		f.prev[level] = n
	}
	var prev, after ref
	for moved := false; level >= 0; level-- {
		if !moved {
			prev = f.prev[level]
		}
		before := prev
		var own bool
		prev, next, own = l.walk(k, prev, level, after)
		if next != after {
			after, found = next, own
		}
		moved = moved || prev != before
		f.prev[level] = prev
	}
	return next, found
}

// insert links a new node at k between the finger and next, the result of seek, and moves the finger
// onto the node. If another goroutine has just inserted a node at k, it returns that one and does not
// link the new node.
func (f *finger) insert(l *list, k *searchKey, next, r ref, height int) (ref, bool) {
	n := l.arena.at(r)
	for level := range height {
		prev := f.prev[level]
		if level > 0 {
			// The finger may be far before k here, and next is of level 0.
			prev, next, _ = l.walk(k, prev, level, 0)
		}
		for {
			link(n, level).Store(uint32(next))
			if link(l.from(prev, level), level).CompareAndSwap(uint32(next), uint32(r)) {
				break
			}
			var found bool
			if prev, next, found = l.walk(k, prev, level, 0); found {
				return next, false
			}
		}
		f.prev[level] = r
	}
	return r, true
}
