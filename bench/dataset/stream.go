package dataset

import (
	"colonnade/cell"
	"colonnade/internal/prefetch"
)

// A Stream is rows without end for one goroutine of several (Table.Stream). It is not safe for
// concurrent use.
type Stream struct {
	table      *Table
	next, step int
}

// Stream returns the rows that goroutine g of so many writes: all of them together have those of
// Nth, each once.
func (t *Table) Stream(g, of int) *Stream { return &Stream{table: t, next: g, step: of} }

// askedBytes is how much of the row to come is asked for: most rows of ten cells are shorter.
const askedBytes = 1 << 10

// Next is Nth for the next row. The one after it is asked of memory meanwhile: who writes a row has
// mostly just made it up or received it, so it is in the processor's caches, and the time to
// get it there is not that of the engine it is written to.
func (s *Stream) Next(buf []byte, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	t := s.table
	key, cells = t.Nth(s.next, buf, dst)
	s.next += s.step
	coming := t.data[t.rows[s.next%len(t.rows)]:]
	prefetch.Bytes(coming[:min(askedBytes, len(coming))])
	return key, cells
}
