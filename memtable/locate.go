package memtable

import (
	"unsafe"

	"colonnade/internal/prefetch"
)

// Search is a row that an Inserter is to go to, for Locate. Only In and Row are for the
// caller. A Search may be used again.
type Search struct {
	In  *Inserter // of no other search at the same time
	Row []byte    // must not change before Locate returns

	level       int // that is searched, -1 at the end
	p           unsafe.Pointer
	prev, after ref // the last node before Row, which p is, and the first known not to be
	next        ref // that is compared next
}

// Locate moves each inserter to where its row is, or would be, in the table, so that the Add for
// it that follows costs a step or two. A search waits for memory at most of its steps. So each
// asks for what it compares next, and the others take their steps until that is there (AMAC:
// Kocberber, Falsafi, Grot, Asynchronous Memory Access Chaining, 2015). Others may insert
// meanwhile.
func Locate(t *Table, searches []Search) {
	l := t.rowList()
	for i := range searches {
		s := &searches[i]
		s.In.setTable(t)
		s.level = maxHeight - 1
		s.p, s.prev, s.after = l.low, 0, 0
		s.ask(&l)
	}
	for busy := true; busy; {
		busy = false
		for i := range searches {
			if s := &searches[i]; s.level >= 0 {
				s.step(&l)
				busy = true
			}
		}
	}
}

// step compares with the node that was asked for, and asks for another.
func (s *Search) step(l *list) {
	k, n := searchKey{key: s.Row}, l.arena.at(s.next)
	if k.compare(n) > 0 {
		s.prev, s.p = s.next, n
	} else {
		s.after = s.next
		s.descend()
	}
	s.ask(l)
}

// ask goes down to the next level on which there is a node to compare with.
func (s *Search) ask(l *list) {
	for ; s.level >= 0; s.descend() {
		s.next = ref(link(s.p, s.level).Load())
		if s.next != 0 && s.next != s.after {
			prefetch.Lines(unsafe.Add(l.arena.at(s.next), -unit), 1) // where a row of one or two levels begins
			return
		}
	}
}

func (s *Search) descend() {
	s.In.rows.prev[s.level] = s.prev
	s.level--
}
