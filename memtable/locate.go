package memtable

import (
	"unsafe"

	"github.com/colonnade-db/colonnade/internal/prefetch"
)

// Search is a row for Locate to find for an Inserter. Only In and Row are for the caller. A Search
// may be reused.
type Search struct {
	In  *Inserter // of no other search at the same time
	Row []byte    // must not change before Locate returns

	level       int // the current level, -1 at the end
	p           unsafe.Pointer
	prev, after ref // the last node before Row (at p), and the first known not to be
	next        ref // the node to compare next
}

// Locate moves each inserter to the place of its row in the table, whether the row exists or not, so
// that the next Add costs a step or two. Most steps of a search are a cache miss. So each search
// prefetches the node that it compares next, and the others step meanwhile (AMAC: Kocberber, Falsafi,
// Grot, Asynchronous Memory Access Chaining, 2015). Other goroutines may insert at the same time.
func Locate(t *Table, searches []Search) {
	l := t.rowList()
	for i := range searches {
		s := &searches[i]
		s.In.setTable(t)
		s.level = maxHeight - 1
		s.p, s.prev, s.after = l.low, 0, 0
		s.fetchNext(&l)
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

// step compares with the prefetched node, and prefetches another.
func (s *Search) step(l *list) {
	k, n := searchKey{key: s.Row}, l.arena.at(s.next)
	if k.compare(n) > 0 {
		s.prev, s.p = s.next, n
	} else {
		s.after = s.next
		s.descend()
	}
	s.fetchNext(l)
}

// fetchNext goes down to the next level that has a node to compare with, and prefetches that node.
func (s *Search) fetchNext(l *list) {
	for ; s.level >= 0; s.descend() {
		s.next = ref(link(s.p, s.level).Load())
		if s.next != 0 && s.next != s.after {
			prefetch.Lines(unsafe.Add(l.arena.at(s.next), -unit), 1) // the start of a row with one or two levels
			return
		}
	}
}

func (s *Search) descend() {
	s.In.rows.prev[s.level] = s.prev
	s.level--
}
