package colonnade

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Snapshot is a table as it was when the Snapshot was opened, whatever is written, deleted or compacted since. Versions
// expire by the time of the opening. It keeps the memory and the files of its moment until it is closed.
//
// Any number of goroutines may read at the same time, and a loop over a scan may read further rows.
type Snapshot struct {
	view   widecol.View
	closed atomic.Bool
}

// Close releases the snapshot. No read of it may be under way. Further calls do nothing.
func (s *Snapshot) Close() {
	if !s.closed.Swap(true) {
		s.view.Close()
	}
}

// Row is a row of a scan. It is valid until the loop goes on.
type Row struct {
	rows    widecol.Rows
	key     []byte
	unread  bool // rows is at cells of this row
	another bool // rows is at the next row
}

// Key returns the row key. The bytes are valid until the loop over the scan goes on.
func (r *Row) Key() []byte { return r.key }

// Cells returns the cells of the row, to be ranged over once. They are read as the loop goes on, so a row may be larger
// than memory. After an error, which ends the scan, the row is not whole.
func (r *Row) Cells() iter.Seq2[Cell, error] {
	// It is a literal around a method so that the compiler inlines it: otherwise each row costs an allocation.
	return func(yield func(Cell, error) bool) { r.each(yield) }
}

func (r *Row) each(yield func(Cell, error) bool) {
	for r.unread {
		r.unread = false
		cells := r.rows.Cells()
		for i := range cells {
			if !yield(Cell{&cells[i]}, nil) {
				return
			}
		}
		r.next()
	}
	if err := r.rows.Err(); err != nil {
		yield(Cell{}, failure(err))
	}
}

// next moves on to further cells of the row, or to the next row.
func (r *Row) next() {
	if r.rows.Next() {
		r.another = r.rows.First()
		r.unread = !r.another
	}
}

// skip moves on to the next row. It returns false if there is none.
func (r *Row) skip() bool {
	for r.unread = false; !r.another; {
		if !r.rows.Next() {
			return false
		}
		r.another = r.rows.First()
	}
	r.key = append(r.key[:0], r.rows.Row()...) // it outlives the cells
	r.unread, r.another = true, false
	return true
}

// Cell is a version of a cell: one of a scan, which is valid until its loop goes on, or a copy, see Clone.
type Cell struct{ c *cell.Cell }

// Family returns the name of the family. The bytes are a part of the cell.
func (c Cell) Family() []byte {
	family, _ := cell.SplitColumn(c.c.Column)
	return family
}

// Qualifier returns the qualifier. The bytes are a part of the cell.
func (c Cell) Qualifier() []byte {
	_, qualifier := cell.SplitColumn(c.c.Column)
	return qualifier
}

// Time returns the time in microseconds since the Unix epoch.
func (c Cell) Time() int64 { return c.c.Time }

// Value returns the value, which is a part of the cell.
func (c Cell) Value() Value { return Value{c.c.Type, c.c.Value} }

// Clone returns a copy that stays valid.
func (c Cell) Clone() Cell {
	b := slices.Concat(c.c.Column, c.c.Value)
	n := len(c.c.Column)
	return Cell{&cell.Cell{Column: b[:n:n], Value: b[n:], Time: c.c.Time, Type: c.c.Type}}
}

// Cells are cells of a row, in the order of the table.
type Cells []Cell

// Find returns the first version of a column, which is the newest.
func (l Cells) Find(family, qualifier string) (c Cell, ok bool) {
	for _, c := range l {
		if string(c.Family()) == family && string(c.Qualifier()) == qualifier {
			return c, true
		}
	}
	return Cell{}, false
}

// Scan returns the rows that q selects. A loop that is left early, by break, return or panic, closes the scan. The error
// comes last, with a nil row.
func (s *Snapshot) Scan(ctx context.Context, q Query) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) { s.scan(ctx, &q, yield) }
}

func (s *Snapshot) scan(ctx context.Context, q *Query, yield func(*Row, error) bool) {
	m, err := q.model()
	if err != nil {
		yield(nil, err)
		return
	}
	rows, err := s.view.Scan(ctx, &m)
	if err != nil {
		yield(nil, failure(err))
		return
	}
	defer func() {
		if q.Stats != nil {
			*q.Stats = Stats(rows.Stats())
		}
		rows.Close()
	}()
	for row := (&Row{rows: rows}); row.skip(); {
		if !yield(row, nil) {
			return
		}
	}
	if err := rows.Err(); err != nil {
		yield(nil, failure(err))
	}
}

// Row returns the cells of a row that q selects, none if there is no such row. The Rows of q are not used. The whole
// row is held in memory: Limit and Columns bound it.
func (s *Snapshot) Row(ctx context.Context, key string, q Query) (Cells, error) {
	q.Rows = Keys(key)
	var cells Cells
	for row, err := range s.Scan(ctx, q) {
		if err != nil {
			return nil, err
		}
		for c, err := range row.Cells() {
			if err != nil {
				return nil, err
			}
			cells = append(cells, c.Clone())
		}
	}
	return cells, nil
}

// Get returns the newest version of a column. It reports whether there is one.
func (s *Snapshot) Get(ctx context.Context, row, family, qualifier string) (c Cell, ok bool, err error) {
	filter, wrong := oneColumn(family, qualifier)
	if wrong != nil {
		return Cell{}, false, wrong
	}
	q := Query{Columns: ColumnSet{filter: filter}, Limit: Limit{CellsPerRow: 1}}
	cells, err := s.Row(ctx, row, q)
	if err != nil || len(cells) == 0 {
		return Cell{}, false, err
	}
	return cells[0], true, nil
}

// Scan is that of a Snapshot which is opened when the loop begins, and closed when it ends.
func (t *Table) Scan(ctx context.Context, q Query) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		s, err := t.Snapshot(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.scan(ctx, &q, yield)
	}
}

// Row is that of a Snapshot of now.
func (t *Table) Row(ctx context.Context, key string, q Query) (Cells, error) {
	s, err := t.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Row(ctx, key, q)
}

// Get is that of a Snapshot of now.
func (t *Table) Get(ctx context.Context, row, family, qualifier string) (c Cell, ok bool, err error) {
	s, err := t.Snapshot(ctx)
	if err != nil {
		return Cell{}, false, err
	}
	defer s.Close()
	return s.Get(ctx, row, family, qualifier)
}
