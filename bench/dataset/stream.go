package dataset

import (
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/prefetch"
)

// A Stream is an endless stream of rows for one of several goroutines, see Table.Stream. It is not safe
// for concurrent use.
type Stream struct {
	table      *Table
	next, step int
}

// Stream returns the stream of goroutine g of n. Together, the n streams have each row of Nth once.
func (t *Table) Stream(g, of int) *Stream { return &Stream{table: t, next: g, step: of} }

// askedBytes is how much of the next row is prefetched: most rows of ten cells are shorter.
const askedBytes = 1 << 10

// Next is Nth for the next row. It prefetches the row after it: a real client has mostly just made or
// received its row, so that the row is in the CPU's caches. Otherwise the engine's figures would
// include the time to fetch it.
func (s *Stream) Next(buf []byte, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	t := s.table
	key, cells = t.Nth(s.next, buf, dst)
	s.next += s.step
	coming := t.data[t.rows[s.next%len(t.rows)]:]
	prefetch.Bytes(coming[:min(askedBytes, len(coming))])
	return key, cells
}
