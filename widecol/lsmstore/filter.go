package lsmstore

import (
	"context"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/rowfilter"
)

// filtered prepares a query with a RowFilter: what can be pushed down is in the query returned, the
// evaluation of the rest, if there is any, in the Eval.
func (v *view) filtered(ctx context.Context, q *widecol.Query) (*widecol.Query, *rowfilter.Eval, widecol.QueryParts, error) {
	program, err := v.compiled(q.RowFilter)
	if err != nil {
		return nil, nil, 0, err
	}
	narrow, parts := program.PushDown(q, v.schema.names())
	if narrow.RowFilter == nil {
		return &narrow, nil, parts, nil
	}
	narrow.KeysOnly = !rowfilter.ReadsValues(narrow.RowFilter, q.KeysOnly)
	return &narrow, program.NewEval(ctx, narrow.RowFilter), parts, nil
}

// narrowed returns q with what can be pushed down of its RowFilter, or q itself if the filter is no good:
// Scan reports that.
func (v *view) narrowed(q *widecol.Query) *widecol.Query {
	program, err := v.compiled(q.RowFilter)
	if err != nil {
		return q
	}
	narrow, _ := program.PushDown(q, v.schema.names())
	return &narrow
}

// compiled returns the program of a tree. The scans of one request have the same tree, or few.
func (v *view) compiled(f *widecol.RowFilter) (*rowfilter.Program, error) {
	if p := v.program.Load(); p != nil && p.Of(f) {
		return p, nil
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	p, err := rowfilter.Compile(f)
	if err != nil {
		return nil, err
	}
	v.program.Store(p)
	return p, nil
}

// names returns the names of the families, sorted.
func (s *schema) names() []string {
	names := make([]string, len(s.sorted))
	for i, f := range s.sorted {
		names[i] = f.name
	}
	return names
}

// nextFiltered returns the next cells of the row that the filter lets through, nil at the end of the row
// or after an error.
func (r *rows) nextFiltered() []cell.Cell {
	for ended := false; ; {
		if out := r.filter.Next(); len(out) > 0 {
			return out
		}
		if r.err = r.filter.Err(); r.err != nil || ended || r.filter.Done() {
			return nil
		}
		run := r.nextRun()
		switch {
		case r.err != nil:
			return nil
		case run == nil:
			ended = true
			r.filter.EndRow()
		case !r.filter.Push(run):
			if r.err = r.decide(); r.err != nil {
				return nil
			}
		}
	}
}

// decide decides about the conditions of the filter by reading the row anew: it is too large to be held.
// The scans of the row stay where they are.
func (r *rows) decide() error {
	q := *r.q
	q.SetKey(r.row)
	q.RowFilter = nil
	q.ColumnCellLimit, q.RowCellLimit, q.RowLimit, q.CellLimit = widecol.NoLimit, widecol.NoLimit, widecol.NoLimit, widecol.NoLimit
	q.Offset, q.Sample, q.After, q.Explain = 0, 1, nil, nil
	if r.explain != nil {
		q.Explain = &r.explain.again
	}
	for r.filter.Undecided() {
		again, err := r.view.Scan(r.ctx, &q)
		if err != nil {
			return err
		}
		for again.Next() && !r.filter.Observe(again.Cells()) {
		}
		err = again.Err()
		stats := again.Stats()
		again.Close()
		if err != nil {
			return err
		}
		r.stats.CellsScanned += stats.CellsScanned
		r.stats.BytesScanned += stats.BytesScanned
		r.filter.EndPass()
	}
	return r.filter.Err()
}
