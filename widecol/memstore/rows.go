package memstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// chunkCells bounds the cells of a chunk. It is small: tests get rows of several chunks.
const chunkCells = 3

// rows returns a finished result.
type rows struct {
	ctx    context.Context
	view   *view
	query  *widecol.Query
	answer answer
	begun  int       // rows of answer
	ended  bool      // the query is explained
	rest   []version // of the row begun last
	stats  widecol.Stats
	err    error

	// The current chunk.
	first  bool
	row    []byte
	cells  []cell.Cell
	labels []string
}

// Next implements widecol.Rows.
func (r *rows) Next() bool {
	r.spoil()
	if r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil {
		r.end(widecol.EndFailed)
		return false
	}
	r.first = len(r.rest) == 0
	if r.first {
		if r.begun == len(r.answer.rows) {
			r.end(r.answer.reason(r.query))
			return false
		}
		r.rest = r.answer.rows[r.begun]
		r.begun++
		r.stats.Rows++
	}
	n := min(chunkCells, len(r.rest))
	r.row = []byte(r.rest[0].row)
	for _, v := range r.rest[:n] {
		c := cell.Cell{Column: v.column(), Time: v.time, Type: v.typ}
		if !r.query.KeysOnly {
			c.Value = []byte(v.value)
		}
		r.cells = append(r.cells, c)
		r.labels = append(r.labels, v.label)
	}
	r.rest = r.rest[n:]
	r.stats.Cells += int64(n)
	return true
}

// end explains the result, once.
func (r *rows) end(reason widecol.EndReason) {
	if !r.ended {
		r.ended = true
		r.view.table.explainEnd(r.query, &r.answer, reason)
	}
}

// spoil overwrites the current chunk, so a caller that kept its bytes fails.
func (r *rows) spoil() {
	for _, c := range r.cells {
		fill(c.Column)
		fill(c.Value)
	}
	fill(r.row)
	clear(r.cells)
	clear(r.labels)
	r.row, r.cells, r.labels = nil, r.cells[:0], r.labels[:0]
}

func fill(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

func (r *rows) First() bool          { return r.first }
func (r *rows) Row() []byte          { return r.row }
func (r *rows) Cells() []cell.Cell   { return r.cells }
func (r *rows) Labels() []string     { return r.labels }
func (r *rows) Err() error           { return r.err }
func (r *rows) Stats() widecol.Stats { return r.stats }

// More implements widecol.Rows.
func (r *rows) More() (p widecol.Position, more bool) {
	if r.err == nil {
		p, more, r.err = r.view.table.more(r.query, &r.answer, r.view.now)
	}
	return p, more
}

// Close implements widecol.Rows.
func (r *rows) Close() {
	r.spoil()
	r.end(widecol.EndStopped)
	r.answer, r.rest = answer{}, nil
	r.view.busy = false
}
