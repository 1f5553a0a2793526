package rowfilter

import (
	"github.com/colonnade-db/colonnade/cell"
)

// Deciding about conditions
//
//  1. A condition is open if every condition that decides what reaches it is decided. The cells that reach
//     an open condition go to its predicate, and no further. Once the predicate lets one through, the
//     condition is true; if it has not at the end of the row, the condition is false.
//  2. That is one pass over the row, without a result. When no open condition is left, the next pass
//     starts with those that have become open meanwhile. When there are none, the cells are evaluated
//     once more, for the result.
//  3. Passes go over the cells that are held: those from the start of the row. A pass that ends early
//     leaves the rest of the row unread, so that a row is held only as far as its conditions need.

// Push gives the Eval the next cells of the row. It returns false if it would have to hold too many:
// then the caller decides as Undecided says. The cells must stay valid until Next returns none.
func (e *Eval) Push(cells []cell.Cell) bool {
	if !e.deciding {
		e.in, e.pos = cells, 0
		return true
	}
	if !e.held.add(cells) {
		e.after = cells
		e.beginPass()
		return false
	}
	e.decide(e.Observe(cells))
	return true
}

// decide goes on to the next pass when one has ended, over what is held, as long as passes end.
func (e *Eval) decide(ended bool) {
	for ended && e.deciding && e.err == nil {
		e.EndPass()
		ended = e.deciding && e.Observe(e.held.cells)
	}
}

// EndRow tells the Eval that the row has no more cells. Next may return more after it.
func (e *Eval) EndRow() {
	for e.deciding && e.err == nil {
		e.EndPass()
		if e.deciding {
			e.Observe(e.held.cells)
		}
	}
}

// Undecided reports whether the cells of the row are needed once more, after Push has returned false:
//
//	for e.Undecided() {
//		for cells := all cells of the row … {
//			if e.Observe(cells) { break }
//		}
//		e.EndPass()
//	}
//
// After that, Next returns what Push has taken, and the row goes on.
func (e *Eval) Undecided() bool { return e.deciding && e.err == nil }

// Observe takes cells of the row in the course of a pass. It returns true when the pass needs no more.
func (e *Eval) Observe(cells []cell.Cell) (ended bool) {
	for i := range cells {
		if e.open == 0 || e.err != nil {
			return true
		}
		e.step(&cells[i])
		e.root.apply(e.one())
	}
	return e.open == 0
}

// one returns the mark of a cell that the tree has not seen.
func (e *Eval) one() []mark {
	e.first[0] = 0
	return e.first[:]
}

// EndPass ends a pass, and starts the next one or the evaluation.
func (e *Eval) EndPass() {
	for _, c := range e.conditions {
		if c.open {
			c.state, c.open = chosenElse, false
		}
	}
	e.beginPass()
}

// findOpen finds the conditions that a pass can decide. Those that depend on the row key are decided at
// once. If there is nothing left to decide, the evaluation starts with what is held.
func (e *Eval) findOpen() {
	for {
		for _, c := range e.conditions {
			c.open, c.inner = false, false
		}
		e.open = 0
		e.root.findOpen()
		if !e.decideByRow() {
			break
		}
	}
	if e.open > 0 {
		return
	}
	e.deciding = false
	e.in, e.pos = e.held.cells, 0
}

// decideByRow decides the open conditions that need no cell to be decided.
func (e *Eval) decideByRow() (any bool) {
	for _, c := range e.conditions {
		if !c.open || !c.byRow {
			continue
		}
		any = true
		c.state = chosenElse
		if len(c.predicate.apply(e.one())) > 0 {
			c.state = chosenThen
		}
	}
	return any
}

// held is a copy of the first cells of a row.
type held struct {
	cells []cell.Cell
	size  int
	limit int
	room  []byte // the chunk at hand; full ones belong to the cells alone
}

const (
	smallestChunk = 512
	heldChunk     = 16 << 10
	cellSize      = 80 // of a cell.Cell, about
)

// add copies cells, or returns false if there would be too many.
func (h *held) add(cells []cell.Cell) bool {
	size := h.size
	for i := range cells {
		size += cellSize + len(cells[i].Column) + len(cells[i].Value)
	}
	if size > h.limit {
		return false
	}
	h.size = size
	for _, c := range cells {
		if n := len(h.cells); n > 0 && string(h.cells[n-1].Column) == string(c.Column) {
			c.Column = h.cells[n-1].Column
		} else {
			c.Column = h.copy(c.Column)
		}
		c.Value = h.copy(c.Value)
		h.cells = append(h.cells, c)
	}
	return true
}

func (h *held) copy(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if cap(h.room)-len(h.room) < len(b) {
		h.room = make([]byte, 0, max(min(h.size, heldChunk), smallestChunk, len(b)))
	}
	h.room = append(h.room, b...)
	return h.room[len(h.room)-len(b) : len(h.room) : len(h.room)]
}

func (h *held) clear() {
	clear(h.cells)
	h.cells, h.size = h.cells[:0], 0
	if h.room = h.room[:0]; cap(h.room) > heldChunk {
		h.room = nil
	}
}
