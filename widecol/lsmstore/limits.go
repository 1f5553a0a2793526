package lsmstore

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// limits applies the limits of a query to a stream of runs of cells, in the order of widecol.Query.
type limits struct {
	q *widecol.Query

	seen    int64 // rows with a cell
	taken   int64 // of those, the ones that stayed in the sample
	skipped int64 // of those, the ones that the offset passed over
	rows    int64 // of those, the ones returned
	cells   int64 // returned in all

	rowDone  bool   // the row has returned what RowCellLimit allows
	inside   bool   // CellLimit has ended a row that has more
	inRow    int64  // cells of the row so far
	inColumn int64  // cells of the column so far
	column   []byte // the column of the last cell, if columns are limited

	last *lastCell // once CellLimit is reached
}

// lastCell is the last cell that was returned.
type lastCell struct {
	column []byte
	time   int64
	copies int64 // that were returned
}

// verdict is the decision about a row.
type verdict int

const (
	takeRow verdict = iota
	passRow
	endOfRows
)

func (l *limits) init(q *widecol.Query) { *l = limits{q: q} }

// resume makes the limits go on behind a position.
func (l *limits) resume(p *widecol.Position) {
	l.seen, l.taken, l.skipped = p.Seen, p.Kept, min(p.Kept, l.q.Offset)
}

// cutOff reports whether the result has ended with a RowLimit or CellLimit.
func (l *limits) cutOff() bool {
	return (reached(l.rows, l.q.RowLimit) || reached(l.cells, l.q.CellLimit)) &&
		l.q.RowCellLimit != 0 && l.q.ColumnCellLimit != 0
}

// reached reports whether n has reached a limit.
func reached(n, limit int64) bool { return limit != widecol.NoLimit && n >= limit }

// exhausted reports whether no more row can be returned.
func (l *limits) exhausted() bool {
	return reached(l.rows, l.q.RowLimit) || reached(l.cells, l.q.CellLimit) ||
		l.q.RowCellLimit == 0 || l.q.ColumnCellLimit == 0
}

func (l *limits) beginRow() {
	l.inRow, l.inColumn, l.rowDone = 0, 0, false
	l.column = l.column[:0]
}

// cut applies the limits within a row, in place.
func (l *limits) cut(run []cell.Cell) []cell.Cell {
	if l.q.ColumnCellLimit != widecol.NoLimit {
		run = l.cutColumns(run)
	}
	if limit := l.q.RowCellLimit; limit != widecol.NoLimit {
		run = run[:min(int64(len(run)), limit-l.inRow)]
		l.inRow += int64(len(run))
		l.rowDone = l.inRow >= limit && len(run) == 0
	}
	return run
}

func (l *limits) cutColumns(run []cell.Cell) []cell.Cell {
	kept := run[:0]
	for _, c := range run {
		if !bytes.Equal(c.Column, l.column) {
			l.column = append(l.column[:0], c.Column...)
			l.inColumn = 0
		}
		if l.inColumn++; l.inColumn <= l.q.ColumnCellLimit {
			kept = append(kept, c)
		}
	}
	return kept
}

// skipAfter is how many cells of a column beyond its limit are stepped over before the rest is skipped.
const skipAfter = 64

// overColumn reports whether the column of the last cell has many more cells than its limit.
func (l *limits) overColumn() bool {
	return l.q.ColumnCellLimit != widecol.NoLimit && l.inColumn > l.q.ColumnCellLimit+skipAfter
}

// decide decides about a row that has a cell.
func (l *limits) decide() verdict {
	i := l.seen
	l.seen++
	if !l.q.Sampled(i, l.taken) {
		return passRow
	}
	l.taken++
	if l.skipped < l.q.Offset {
		l.skipped++
		return passRow
	}
	if reached(l.rows, l.q.RowLimit) {
		return endOfRows
	}
	l.rows++
	return takeRow
}

// total applies the limit on all cells.
func (l *limits) total(run []cell.Cell) []cell.Cell {
	if l.q.CellLimit != widecol.NoLimit {
		run = l.cutTotal(run)
	}
	l.cells += int64(len(run))
	return run
}

func (l *limits) cutTotal(run []cell.Cell) []cell.Cell {
	room := l.q.CellLimit - l.cells
	if int64(len(run)) > room {
		run, l.inside = run[:room], true
	}
	if n := len(run); n > 0 && int64(n) == room {
		last := &run[n-1]
		l.last = &lastCell{column: bytes.Clone(last.Column), time: last.Time}
		for i := n - 1; i >= 0 && run[i].Time == last.Time && bytes.Equal(run[i].Column, last.Column); i-- {
			l.last.copies++
		}
	}
	return run
}
