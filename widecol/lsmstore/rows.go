package lsmstore

import (
	"bytes"
	"context"
	"fmt"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/rowfilter"
)

// rows implements widecol.Rows. It joins the partitions by row key and applies the limits. A partition has
// whole families, except those that move, so the families of a row come from one partition after the other, in runs.
type rows struct {
	ctx        context.Context
	q          *widecol.Query
	view       *view
	ranges     widecol.RowSet // not opened yet
	partitions []engine.PartitionID
	parts      []part          // the scans of the current range, in the order of partitions
	room       [1]part         // memory of parts, for a table without locality groups
	counted    *querySet       // where the query counts, nil for nowhere or if it has
	filter     *rowfilter.Eval // nil if the query has no RowFilter
	merging    *mergingRows    // nil unless a family of the query moves
	limits     limits
	stats      widecol.Stats // without the scans in parts

	sampling  sampling
	explain   *explaining    // nil unless the query has an Explain
	source    *part          // of the last run
	selective bool           // the query selects by time or value
	within    *resumed       // the row that the query goes on in, until it is passed
	final     *widecol.Stats // once More has looked further
	looked    uint64         // rows and chunks; see pause
	started   bool
	row       []byte      // the current row
	passed    []byte      // see Passed
	owed      bool        // Yield was called last where nothing was passed
	step      int         // rows of the current step, row is the first; 0 outside of steps (bulk)
	cells     []cell.Cell // the current chunk
	first     bool
	fresh     bool // the current row has returned no chunk yet
	err       error
	done      bool
	closed    bool
}

// Next implements widecol.Rows.
func (r *rows) Next() bool {
	for r.err == nil && !r.done {
		if r.row == nil && !r.nextRow() {
			break
		}
		var run []cell.Cell
		if r.filter == nil {
			run = r.nextRun()
		} else {
			run = r.nextFiltered()
		}
		if run == nil {
			if r.fresh { // the row may have had no chunk
				r.passRow()
			}
			r.row = nil
			continue
		}
		run = r.limits.cut(run)
		if r.limits.overColumn() && r.skipsVersions() {
			r.source.scan.SkipColumn(r.limits.column)
		}
		if len(run) == 0 {
			if r.limits.rowDone {
				r.row = nil
			}
			continue
		}
		if r.within != nil {
			if run = r.within.rest(run); len(run) == 0 {
				continue
			}
		}
		if r.fresh && !r.enterRow() {
			continue
		}
		if run = r.limits.total(run); len(run) == 0 {
			r.done = true
			break
		}
		r.first, r.fresh = r.fresh, false
		if r.first {
			r.stats.Rows++
		}
		r.stats.Cells += int64(len(run))
		r.cells = run
		return true
	}
	r.cells = nil
	r.endExplain(true)
	return false
}

// skipsVersions reports whether what is over the limit for columns need not be read: of others, the parts have
// what the filter tree counts, or what comes from several partitions.
func (r *rows) skipsVersions() bool { return r.filter == nil && r.merging == nil }

// pause is called for each chunk, each row without one, and each range. Now and then it lets the caller do
// something else, and looks whether the caller still wants the result. It returns false if not.
func (r *rows) pause() bool {
	r.looked++
	return r.looked%widecol.YieldEvery != 1 || r.goOn()
}

// passRow is pause at the end of a row of which nothing was returned. If Yield was called within the row, where the
// query had passed nothing, it is called again.
func (r *rows) passRow() {
	r.passed = r.row
	if r.pause() && r.owed {
		r.goOn()
	}
	r.passed = nil
}

func (r *rows) goOn() bool {
	if r.err = r.ctx.Err(); r.err == nil && r.q.Yield != nil && r.looked > 1 { // a short read has no time for it
		r.owed = r.passed == nil
		r.err = r.q.Yield()
	}
	return r.err == nil
}

// Passed implements widecol.PassedRows.
func (r *rows) Passed() []byte { return r.passed }

// enterRow decides about a row with a cell: it is returned or skipped, or the result ends before it.
func (r *rows) enterRow() bool {
	if r.within != nil { // it has been decided
		r.limits.rows++
		return true
	}
	switch r.limits.decide() {
	case passRow:
		r.row = nil
		return false
	case endOfRows:
		r.done = true
		return false
	}
	return true
}

// nextRow moves to the next row that any partition has.
func (r *rows) nextRow() bool {
	if r.limits.exhausted() {
		r.done = true
		return false
	}
	next, ok := r.nearestRow()
	for ok && next == nil {
		if !r.nextRange() {
			return false
		}
		next, ok = r.nearestRow()
	}
	if !ok {
		return false
	}
	for i := range r.parts {
		p := &r.parts[i]
		p.at = p.row != nil && bytes.Equal(p.row, next)
		p.cells, p.drained = nil, !p.at
	}
	r.row, r.fresh = next, true
	r.limits.beginRow()
	if r.merging != nil {
		r.merging.beginRow()
	}
	if r.filter != nil {
		r.filter.BeginRow(next)
	}
	if r.stats.RowsScanned++; r.stats.RowsScanned > r.sampling.at {
		r.sample(next)
	}
	return true
}

// nearestRow moves the partitions past the current row. It returns the next row of any, nil at the end
// of the range: the lowest, or the highest if the query is reverse. ok is false after an error.
func (r *rows) nearestRow() (nearest []byte, ok bool) {
	for i := range r.parts {
		p := &r.parts[i]
		if (p.at || !r.started) && !r.advance(p) {
			return nil, false
		}
		if p.row != nil && (nearest == nil || bytes.Compare(p.row, nearest) < 0 != r.q.Reverse) {
			nearest = p.row
		}
	}
	r.started = true
	return nearest, true
}

// nextRange opens the next range. It returns false after the last one, or after an error.
func (r *rows) nextRange() bool {
	r.closeParts()
	if len(r.ranges) == 0 {
		r.done = true
		return false
	}
	if !r.pause() {
		return false
	}
	r.err = r.openRange()
	return r.err == nil
}

// openRange opens the next range.
func (r *rows) openRange() (err error) {
	r.started = false
	next, rest := r.ranges[0], r.ranges[1:]
	if r.q.Reverse {
		last := len(r.ranges) - 1
		next, rest = r.ranges[last], r.ranges[:last]
	}
	q := r.q
	if w := r.within; w != nil && w.begun {
		r.within = nil
	} else if w != nil {
		w.begun = true
		q = r.narrowed()
	}
	if r.parts, err = r.view.open(r.parts, r.partitions, q, next, r.explain); err != nil {
		r.closeParts()
		return err
	}
	r.ranges = rest
	return nil
}

// advance moves a partition to its next row.
func (r *rows) advance(p *part) bool {
	p.row, p.at = nil, false
	if p.scan.NextRow() {
		p.row = p.scan.Row()
		return true
	}
	return !r.failed(p)
}

// failed reports whether a partition ended with an error.
func (r *rows) failed(p *part) bool {
	err := p.scan.Err()
	if err == nil { // a fast path: there are two calls per row
		return false
	}
	r.err = failure(err)
	return true
}

// nextRun returns the next cells of the row, all from one partition, nil at the end of the row. If a
// partition fails within the row, the result ends at once: under a limit the next row might never be
// reached, and this one would look complete.
func (r *rows) nextRun() []cell.Cell {
	if r.merging != nil {
		return r.nextMerged()
	}
	var lowest *part
	var bound []byte // the first column of another partition
	for i := range r.parts {
		p := &r.parts[i]
		if len(p.cells) == 0 && !p.drained && !r.fill(p) {
			return nil
		}
		if p.drained {
			continue
		}
		column := p.cells[0].Column
		switch {
		case lowest == nil:
			lowest = p
		case bytes.Compare(column, lowest.cells[0].Column) < 0:
			lowest, bound = p, lowerOf(bound, lowest.cells[0].Column)
		default:
			bound = lowerOf(bound, column)
		}
	}
	if lowest == nil {
		return nil
	}
	run := lowest.cells
	if n := len(run); bound != nil && bytes.Compare(run[n-1].Column, bound) > 0 {
		run = run[:sort.Search(n, func(i int) bool { return bytes.Compare(run[i].Column, bound) > 0 })]
	}
	lowest.cells = lowest.cells[len(run):]
	r.source = lowest
	return run
}

// fill gets the next cells of a part. It returns false on an error; a part without more cells is drained.
func (r *rows) fill(p *part) bool {
	p.cells = r.nextCells(p.scan)
	p.drained = len(p.cells) == 0
	return !p.drained || r.err == nil && !r.failed(p)
}

// nextCells returns the next cells of the current row of a scan that the query selects. It returns none at
// its end and on an error, which is in r or in the scan.
func (r *rows) nextCells(scan *engine.Scan) []cell.Cell {
	for {
		cells := scan.Cells()
		if len(cells) == 0 || !r.pause() {
			return nil
		}
		if !r.selective {
			return cells
		}
		selected := r.appendSelected(cells[:0], cells)
		if r.err != nil {
			return nil
		}
		if len(selected) > 0 {
			return selected
		}
	}
}

// appendSelected appends the cells that the query selects by time and value. dst may be the beginning of cells. A
// value that it cannot compare is damage, which goes into r.err.
func (r *rows) appendSelected(dst, cells []cell.Cell) []cell.Cell {
	if r.explain != nil {
		return r.appendCounted(dst, cells)
	}
	selected := cells
	if r.q.Times != widecol.AllTimes {
		selected = dst
		for i := range cells {
			if r.q.Times.Contains(cells[i].Time) {
				selected = append(selected, cells[i])
			}
		}
		if r.q.Value == nil {
			return selected
		}
		selected = selected[len(dst):]
	}
	dst, misfit := r.q.Value.Select(dst, selected)
	if misfit != nil {
		r.err = r.wrongType(misfit)
	}
	return dst
}

// wrongType returns the error for a value that does not have its type.
func (r *rows) wrongType(c *cell.Cell) error {
	place := fmt.Sprintf("row %.100q", r.row)
	if r.step > 1 {
		place = fmt.Sprintf("one of the %d rows from %.100q on", r.step, r.row)
	}
	return widecol.Errorf(widecol.Corrupt, "corruption", "a value of %d bytes in %s of table %q does not have its type, %s", len(c.Value), place, r.view.table.name, c.Type)
}

func lowerOf(a, b []byte) []byte {
	if a == nil || bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// First implements widecol.Rows.
func (r *rows) First() bool { return r.first }

// Row implements widecol.Rows.
func (r *rows) Row() []byte { return r.row }

// Cells implements widecol.Rows.
func (r *rows) Cells() []cell.Cell { return r.cells }

// Labels implements widecol.Rows.
func (r *rows) Labels() []string {
	if r.filter == nil {
		return nil
	}
	return r.filter.LabelsOf(r.cells)
}

// Err implements widecol.Rows.
func (r *rows) Err() error { return r.err }

// Stats implements widecol.Rows.
func (r *rows) Stats() widecol.Stats {
	if r.final != nil {
		return *r.final
	}
	s := r.stats
	for i := range r.parts {
		s.AddScanned(r.parts[i].scan.Scanned())
	}
	return s
}

// Close implements widecol.Rows.
func (r *rows) Close() {
	r.endExplain(r.done)
	r.closeParts()
	if !r.closed {
		r.closed = true
		if r.sampling.rows != nil {
			r.endSampling()
		}
		r.view.table.counters.countRead(r.view.snap.Shard(), r.Stats())
	}
	if r.counted != nil {
		r.counted.shards[r.view.snap.Shard()][queriesAt].Add(1)
		r.counted = nil
	}
}

// closeParts closes the scans of the current range. Their costs stay in stats.
func (r *rows) closeParts() {
	if r.counted != nil && len(r.parts) > 0 {
		r.counted.shards[r.view.snap.Shard()][rangesAt].Add(1)
	}
	for i := range r.parts {
		n := r.parts[i].scan.Scanned()
		r.stats.AddScanned(n)
		if r.counted != nil {
			r.counted.count(r.view.snap.Shard(), i, n)
		}
		r.explain.closed(i, r.parts[i].scan)
		r.parts[i].scan.Close()
	}
	clear(r.parts)
	r.parts = r.parts[:0]
}
