package lsmstore

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Pages. A query with After begins behind a row, or within one. That row is read once more, in a range of its
// own that comes before all others (resume); what was returned of it is left out (rest). A query that a limit has
// ended goes on without its limits, to find out whether more follows (More).

// resumed is the row that a query goes on in.
type resumed struct {
	after  *widecol.Position
	copies int64 // of the version at after that are still to be left out
	begun  bool  // its range is open
}

// resume makes the query begin behind its After.
func (r *rows) resume() {
	after := r.q.After
	r.limits.resume(after)
	r.ranges = r.q.Rows.Behind(after.Row, r.q.Reverse)
	if after.Column == nil || !r.q.Rows.Contains(after.Row) {
		return
	}
	r.within = &resumed{after: after, copies: after.Copies}
	at := 0
	if r.q.Reverse {
		at = len(r.ranges)
	}
	r.ranges = slices.Insert(r.ranges, at, widecol.KeyRange(after.Row))
}

// narrowed returns the query for the row that it goes on in. Unless something counts its versions from the
// first, those of columns before the place need not be read.
func (r *rows) narrowed() *widecol.Query {
	if r.q.RowFilter != nil || r.q.RowCellLimit != widecol.NoLimit {
		return r.q
	}
	q := *r.q
	ranges := []cell.Range{{}}
	if q.Filter.Columns != nil {
		ranges = slices.Clone(q.Filter.Columns.Ranges())
	}
	for i := range ranges {
		if bytes.Compare(ranges[i].Start, r.within.after.Column) < 0 {
			ranges[i].Start = r.within.after.Column
		}
	}
	q.Filter.Columns = cell.NewColumns(ranges...)
	return &q
}

// rest returns the cells of a run that come behind the place.
func (s *resumed) rest(run []cell.Cell) []cell.Cell {
	for i := range run {
		order := bytes.Compare(run[i].Column, s.after.Column)
		switch {
		case order > 0, order == 0 && run[i].Time < s.after.Time:
			return run[i:]
		case order == 0 && run[i].Time == s.after.Time:
			if s.copies == 0 {
				return run[i:]
			}
			s.copies--
		}
	}
	return nil
}

// More implements widecol.Rows.
func (r *rows) More() (p widecol.Position, more bool) {
	if r.err != nil || !r.limits.cutOff() {
		return p, false
	}
	p = r.place()
	if r.limits.inside {
		return p, true
	}
	stats := r.Stats()
	r.final = &stats
	q := *r.q
	q.RowLimit, q.CellLimit = widecol.NoLimit, widecol.NoLimit
	r.q, r.limits.q, r.done = &q, &q, false
	more = r.Next()
	r.cells, r.done = nil, true
	if !more {
		return widecol.Position{}, false
	}
	return p, true
}

// place returns the position behind what was returned. The partitions are still at its row.
func (r *rows) place() widecol.Position {
	l, after := &r.limits, r.q.After
	if l.rows == 0 {
		if after == nil {
			return widecol.Position{}
		}
		return *after
	}
	p := widecol.Position{Seen: l.seen, Kept: l.taken}
	for i := range r.parts {
		if r.parts[i].at {
			p.Row = bytes.Clone(r.parts[i].row)
			break
		}
	}
	if l.inside {
		p.Column, p.Time, p.Copies = l.last.column, l.last.time, l.last.copies
		if r.within != nil && p.Time == after.Time && bytes.Equal(p.Column, after.Column) {
			p.Copies += after.Copies
		}
	}
	return p
}
