package rowfilter

import (
	"bytes"
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

const (
	// HeldBytes bounds the cells that an Eval holds while the conditions of its tree are undecided.
	HeldBytes = 1 << 20
	// chunkCells is about how many cells Next returns at once.
	chunkCells = 512
	// checkWork is about how many nodes are applied between two checks of the context: some
	// milliseconds.
	checkWork = 1 << 16
)

// Eval evaluates a tree over row after row.
//
//	e.BeginRow(key)
//	for cells := the next cells of the row … {
//		if !e.Push(cells) { … decide by reading the row again; see Undecided }
//		for out := e.Next(); len(out) > 0; out = e.Next() { … }
//		if e.Done() { break }
//	}
//	e.EndRow(), and Next as above
//
// It works on the cells in place where it can, and puts the number of a cell's label into its Seq. An Eval
// is for one goroutine.
type Eval struct {
	ctx    context.Context
	err    error
	root   node
	single bool // at most one copy of a cell comes out
	tracks bool // a filter looks at columns
	labels []string

	states []state // the nodes that count, to be set to 0 for each row and pass
	cost   int     // of a cell, in nodes
	work   int     // since the last check of the context

	dropped int64 // cells

	// The row, and the cell at hand.
	row       []byte
	rows      uint64 // rows begun
	cell      *cell.Cell
	column    []byte
	fresh     bool // no cell of the row was looked at
	family    []byte
	qualifier []byte
	columns   uint64 // columns begun, over all rows; two cells with one number are of the same column
	families  uint64

	first  [1]mark
	sunk   []mark
	marked []mark

	in    []cell.Cell // the cells to evaluate, borrowed or held
	pos   int
	after []cell.Cell // comes after in
	out   []cell.Cell

	conditions []*condition
	deciding   bool // some conditions of the row are undecided
	open       int  // of those, the ones that the current pass can decide
	dry        bool // a pass that decides, without a result
	held       held

	characters []byte // room for text as characters
	number     [8]byte
	long       longReader
	labelled   []string
}

// mark is one copy of a cell: the number of its label, counted from 1, and whether its value is stripped.
type mark uint32

const stripped mark = 1 << 31

// NewEval returns an Eval of a tree of the program: its own, or one that PushDown has returned.
func (p *Program) NewEval(ctx context.Context, f *widecol.RowFilter) *Eval {
	e := &Eval{ctx: ctx, single: f.Copies() <= 1, labels: p.labels, cost: count(f), held: held{limit: HeldBytes}}
	e.tracks = has(f, widecol.FamilyRegex, widecol.QualifierRegex, widecol.ColumnRange, widecol.ColumnLimit)
	e.root = e.build(p, f)
	return e
}

// Err returns the error of the context that ended the evaluation.
func (e *Eval) Err() error { return e.err }

// cancelled reports whether the context is done.
func (e *Eval) cancelled() bool {
	if e.err == nil {
		e.err = e.ctx.Err()
	}
	return e.err != nil
}

// BeginRow begins a row. The key must stay as it is until the next one.
func (e *Eval) BeginRow(row []byte) {
	e.row = row
	e.rows++
	e.in, e.pos, e.after = nil, 0, nil
	for _, c := range e.conditions {
		c.state = undecided
	}
	e.deciding = len(e.conditions) > 0
	if e.deciding {
		e.held.clear()
	}
	e.beginPass()
}

// beginPass starts again with the first cell of the row.
func (e *Eval) beginPass() {
	e.fresh = true
	for _, s := range e.states {
		s.reset()
	}
	if e.deciding {
		e.findOpen()
	}
	e.dry = e.deciding
}

// step makes c the cell at hand.
func (e *Eval) step(c *cell.Cell) {
	e.cell = c
	if e.work += e.cost; e.work >= checkWork {
		e.work = 0
		e.cancelled()
	}
	if !e.tracks || !e.fresh && bytes.Equal(c.Column, e.column) {
		return
	}
	e.columns++
	if family, _ := cell.SplitColumn(c.Column); e.fresh || !bytes.Equal(family, e.family) {
		e.families++
	}
	e.column = append(e.column[:0], c.Column...)
	e.family, e.qualifier = cell.SplitColumn(e.column)
	e.fresh = false
}

// marks returns what the tree makes of the cell at hand.
func (e *Eval) marks() []mark {
	e.sunk = e.sunk[:0]
	out := e.root.apply(e.one())
	if len(e.sunk) == 0 {
		return out
	}
	e.marked = append(append(e.marked[:0], out...), e.sunk...)
	return e.marked
}

// Next returns the next cells that the tree lets through, of those pushed. It returns none when it needs
// more, and after an error. They are valid until the next call of a method of the Eval but LabelsOf, and
// as long as the cells that were pushed.
func (e *Eval) Next() []cell.Cell {
	for e.err == nil && !e.deciding {
		if e.pos >= len(e.in) {
			if e.after == nil {
				return nil
			}
			e.in, e.pos, e.after = e.after, 0, nil
		}
		if out := e.emit(); len(out) > 0 && e.err == nil {
			return out
		}
	}
	return nil
}

// emit evaluates cells of in, in place if they have no copies.
func (e *Eval) emit() []cell.Cell {
	out := e.out[:0]
	if e.single {
		out = e.in[e.pos:e.pos]
	}
	for e.pos < len(e.in) && len(out) < chunkCells && e.err == nil {
		c := &e.in[e.pos]
		e.pos++
		e.step(c)
		marks := e.marks()
		if len(marks) == 0 {
			e.dropped++
			continue
		}
		for _, m := range marks {
			n := len(out)
			if e.single && cap(out)-n == cap(e.in)-e.pos+1 { // it is there already
				out = out[:n+1]
			} else {
				out = append(out, *c)
			}
			last := &out[n]
			last.Seq = uint64(m &^ stripped)
			if m&stripped != 0 {
				last.Type, last.Value = cell.Bytes, nil
			}
		}
	}
	if !e.single {
		e.out = out
	}
	return out
}

// Dropped returns of how many cells, so far, the tree has let no copy through.
func (e *Eval) Dropped() int64 { return e.dropped }

// Done reports whether the tree lets no more cells of the row through, whatever they are.
func (e *Eval) Done() bool {
	return !e.deciding && e.pos >= len(e.in) && e.after == nil && e.root.exhausted()
}

// LabelsOf returns the labels of cells that Next has returned, nil if the tree has none. The result is
// valid until the next call.
func (e *Eval) LabelsOf(cells []cell.Cell) []string {
	if len(e.labels) == 0 {
		return nil
	}
	e.labelled = e.labelled[:0]
	for i := range cells {
		label := ""
		if n := cells[i].Seq; n > 0 {
			label = e.labels[n-1]
		}
		e.labelled = append(e.labelled, label)
	}
	return e.labelled
}
