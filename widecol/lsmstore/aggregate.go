package lsmstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.AggregateView = openView{}

// Aggregate implements widecol.AggregateView. Where the query allows it, it takes many rows from a file in one step, and goes
// row by row in between. Otherwise it takes what Rows returns.
func (v *view) Aggregate(ctx context.Context, q *widecol.Query, t *widecol.Aggregator) (widecol.Stats, error) {
	scanned, err := v.Scan(ctx, q)
	if err != nil {
		return widecol.Stats{}, err
	}
	r := scanned.(*rows)
	defer r.Close()
	if !r.separate() {
		return widecol.AggregateRows(r, t)
	}
	b := bulk{rows: r, aggregator: t}
	for len(r.parts) == 1 {
		for b.next() {
		}
		if r.err != nil || !r.nextRange() {
			break
		}
	}
	return r.Stats(), r.err
}

// separate reports whether each row of the result is of one partition and the same without the others: no filter tree
// has to see it, and no limit counts over rows. A limit on the versions of a column is none on rows that have one
// of each.
func (r *rows) separate() bool {
	q := r.q
	return len(r.partitions) == 1 && r.merging == nil && r.filter == nil && q.RowLimit == widecol.NoLimit && q.CellLimit == widecol.NoLimit &&
		q.Offset == 0 && q.Sample >= 1 && q.RowCellLimit == widecol.NoLimit && q.ColumnCellLimit != 0
}

// bulk adds rows that are separate to an aggregator. Errors go into rows.err.
type bulk struct {
	rows       *rows
	aggregator *widecol.Aggregator

	taken cell.Rows
	key   []byte   // of the first row taken
	until [64]byte // memory for the end of a group
	poor  int      // steps in a row that did not pay
	pause int      // rows until the next step
}

// A step of less than few rows does not pay. One comes at the end of each block; after several in a row, more and
// more rows go one by one.
const few, maxPause = 4, 64

// next adds the next rows of the current range. It returns false if there are none, or after an error.
func (b *bulk) next() bool {
	r := b.rows
	scan := r.parts[0].scan
	row := scan.PeekRow()
	if row == nil {
		r.failed(&r.parts[0])
		return false
	}
	if b.pause > 0 {
		b.pause--
		return b.addRow()
	}
	b.key = append(b.key[:0], row...)
	if r.sampling.rows != nil {
		r.endSampling()
	}
	scan.TakeRows(&b.taken, b.aggregator.GroupEnd(b.until[:0], row))
	n := len(b.taken.Ends)
	if b.poor++; n >= few {
		b.poor = 0
	}
	if b.poor > 2 {
		b.pause = min(1<<min(b.poor, 30), maxPause)
	}
	if n == 0 {
		return b.addRow()
	}
	return b.addTaken()
}

// addRow adds the row that PeekRow has returned.
func (b *bulk) addRow() bool {
	r, scan := b.rows, b.rows.parts[0].scan
	if !scan.NextRow() {
		r.failed(&r.parts[0])
		return false
	}
	r.row, r.fresh = scan.Row(), true
	if r.stats.RowsScanned++; r.stats.RowsScanned > r.sampling.at {
		r.sample(r.row)
	}
	r.limits.beginRow()
	for cells := r.nextCells(scan); len(cells) > 0; cells = r.nextCells(scan) {
		if cells = r.limits.cut(cells); len(cells) == 0 {
			continue
		}
		if r.fresh && !b.beginRow(r.row) || !b.add(cells) {
			return false
		}
		if r.fresh {
			r.fresh = false
			r.stats.Rows++
		}
	}
	if r.err != nil || r.failed(&r.parts[0]) {
		return false
	}
	return !r.fresh || r.pause()
}

// addTaken adds the rows that were taken.
func (b *bulk) addTaken() bool {
	r := b.rows
	if !r.pause() {
		return false
	}
	r.row, r.step = b.key, len(b.taken.Ends)
	if r.stats.RowsScanned += int64(r.step); r.stats.RowsScanned > r.sampling.at {
		r.sampleStep(b.key)
	}
	cells := b.selected()
	r.step = 0
	return r.err == nil && (len(cells) == 0 || b.beginRow(b.key) && b.add(cells))
}

func (b *bulk) beginRow(row []byte) bool {
	b.rows.err = b.aggregator.BeginRow(row)
	return b.rows.err == nil
}

func (b *bulk) add(cells []cell.Cell) bool {
	b.rows.stats.Cells += int64(len(cells))
	b.rows.err = b.aggregator.Add(cells)
	return b.rows.err == nil
}

// selected returns the cells of taken that the query selects, and counts the rows that have any.
func (b *bulk) selected() []cell.Cell {
	r, all := b.rows, b.taken.Cells
	if r.selective && len(b.taken.Ends) == len(all) { // each row has one
		kept := r.appendSelected(all[:0], all)
		r.stats.Rows += int64(len(kept))
		return kept
	}
	kept := all[:0]
	from := 0
	for _, end := range b.taken.Ends {
		before := len(kept)
		if r.selective {
			kept = r.appendSelected(kept, all[from:end])
		} else {
			kept = all[:end]
		}
		if len(kept) > before {
			r.stats.Rows++
		}
		from = end
	}
	return kept
}
