package memstore

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

// view is a table at one moment, with the clock at that moment.
type view struct {
	store *Store
	table *table
	now   int64
	busy  bool // a Rows is open
}

// View implements widecol.Store.
func (s *Store) View(ctx context.Context, name string) (widecol.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.findLocked(ctx, name)
	if err != nil {
		return nil, err
	}
	return &view{store: s, table: t, now: s.opt.Now()}, nil
}

func (v *view) Close() {}

// Scan implements widecol.View.
func (v *view) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	if err := v.begin(ctx, q); err != nil {
		return nil, err
	}
	r := &rows{ctx: ctx, view: v, query: q}
	r.answer, r.err = v.table.query(q, v.now)
	r.stats = r.answer.stats
	return r, nil
}

// begin checks a query. The view is busy with it from here on.
func (v *view) begin(ctx context.Context, q *widecol.Query) error {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if err := v.store.usableLocked(ctx); err != nil {
		return err
	}
	if v.busy {
		return widecol.Errorf(widecol.Internal, "view_busy", "the last Rows of the view is still open")
	}
	if err := v.table.known(q.Filter); err != nil {
		return err
	}
	if q.RowFilter != nil {
		if err := q.RowFilter.Check(); err != nil {
			return err
		}
	}
	v.busy = true
	return nil
}

// answer is the result of a query.
type answer struct {
	rows  [][]version
	stats widecol.Stats    // of what was looked at
	end   widecol.Position // behind the last version, which may be the last of its row

	skipped int64           // rows that the offset passed over
	explain widecol.Explain // if the query has one
}

// query computes q row by row, and counts the rows and cells that it looks at. Its error is that of Yield.
func (t *table) query(q *widecol.Query, now int64) (a answer, err error) {
	after := q.After
	if after == nil {
		after = new(widecol.Position)
	}
	a.end = *after
	if len(q.Rows) == 0 || q.RowLimit == 0 || q.CellLimit == 0 || q.RowCellLimit == 0 || q.ColumnCellLimit == 0 {
		return a, nil
	}
	read, partitions := t.read(q.Filter)
	a.stats.Partitions = partitions
	if q.Explain != nil {
		for _, family := range slices.Sorted(maps.Keys(read)) {
			if read[family] {
				a.explain.Partition(t.partition(family))
			}
		}
	}
	room := q.CellLimit // versions that may still be returned
	index := after.Seen // of the next row that would be returned without sample, offset and limit
	kept := after.Kept  // rows that the sample kept

	reached := float64(kept) - 1 // the largest floor(index*Sample) so far: each row that was kept has raised it by 1
	for row := range t.inOrder(q.Reverse) {
		if !slices.ContainsFunc(q.Rows, func(r widecol.RowRange) bool { return r.Contains([]byte(row[0].row)) }) {
			continue
		}
		within := row[0].row == string(after.Row)
		if after.Row != nil && comesAfter(string(after.Row), row[0].row, q.Reverse) || within && after.Column == nil {
			continue
		}
		if room == 0 || q.RowLimit >= 0 && int64(len(a.rows)) >= q.RowLimit {
			break
		}
		if q.Yield != nil {
			if err := q.Yield(); err != nil {
				return answer{}, err
			}
		}
		look(&a.stats, row, read)
		cells := selected(t.left(row, now), q)
		if q.RowFilter != nil {
			cells = filterRow(q.RowFilter, cells)
		}
		if q.Explain != nil {
			t.explainRow(&a.explain, q, row, now, read, cells)
		}
		cells = limit(cells, q)
		if within {
			cells = behind(cells, after)
		}
		if len(cells) == 0 {
			continue
		}
		// Most decimal fractions have no exact float64.
		if !within {
			step := math.Floor(float64(index)*q.Sample + 1e-9)
			index++
			if step <= reached {
				continue
			}
			reached = step
			kept++
			if kept <= q.Offset {
				a.skipped++
				continue
			}
		}
		if room > 0 {
			cells = cells[:min(int64(len(cells)), room)]
			room -= int64(len(cells))
		}
		a.rows = append(a.rows, cells)
		a.end = place(cells, index, kept)
		if within && string(a.end.Column) == string(after.Column) && a.end.Time == after.Time {
			a.end.Copies += after.Copies
		}
	}
	return a, nil
}

// comesAfter reports whether row a comes after row b.
func comesAfter(a, b string, reverse bool) bool {
	if reverse {
		return a < b
	}
	return a > b
}

// behind returns the versions of a row that come behind a position in it.
func behind(row []version, p *widecol.Position) []version {
	copies := int64(0)
	return slices.DeleteFunc(slices.Clone(row), func(v version) bool {
		at := version{row: string(p.Row), time: p.Time}
		at.family, at.qualifier = split(p.Column)
		order := compare(v, at)
		if order == 0 {
			copies++
		}
		return order < 0 || order == 0 && copies <= p.Copies
	})
}

// place returns the position behind the last of some versions.
func place(cells []version, seen, kept int64) widecol.Position {
	last := cells[len(cells)-1]
	p := widecol.Position{Row: []byte(last.row), Seen: seen, Kept: kept, Column: last.column(), Time: last.time}
	for _, v := range cells {
		if compare(v, last) == 0 {
			p.Copies++
		}
	}
	return p
}

// more computes whether anything comes behind an answer of a query that a limit may have ended, and where.
func (t *table) more(q *widecol.Query, a *answer, now int64) (p widecol.Position, more bool, err error) {
	returned := int64(0)
	for _, row := range a.rows {
		returned += int64(len(row))
	}
	if int64(len(a.rows)) != q.RowLimit && returned != q.CellLimit {
		return p, false, nil
	}
	rest := *q
	rest.After, rest.RowLimit, rest.CellLimit, rest.Explain = &a.end, widecol.NoLimit, widecol.NoLimit, nil
	next, err := t.query(&rest, now)
	if err != nil || len(next.rows) == 0 {
		return p, false, err
	}
	p = a.end
	if len(a.rows) > 0 && next.rows[0][0].row != string(p.Row) {
		p.Column, p.Time, p.Copies = nil, 0, 0
	}
	return p, true, nil
}

// selected returns the versions of a row that the query selects by column, time and value.
func selected(row []version, q *widecol.Query) []version {
	var out []version
	for _, v := range row {
		if v.in(q.Filter) && v.time >= q.Times.Start && v.time < q.Times.End && (q.Value == nil || v.matches(q.Value)) {
			out = append(out, v)
		}
	}
	return out
}

// limit returns the versions of a row that the limits within a row leave.
func limit(row []version, q *widecol.Query) []version {
	var out []version
	inColumn := int64(0)
	for i, v := range row {
		if i > 0 && (v.family != row[i-1].family || v.qualifier != row[i-1].qualifier) {
			inColumn = 0
		}
		if q.ColumnCellLimit >= 0 && inColumn >= q.ColumnCellLimit {
			continue
		}
		if q.RowCellLimit >= 0 && int64(len(out)) >= q.RowCellLimit {
			break
		}
		inColumn++
		out = append(out, v)
	}
	return out
}

// read returns the families that a query with the filter reads, and the number of partitions. A
// partition is read as a whole, so it may have families that the filter does not select.
func (t *table) read(f widecol.Filter) (families map[string]bool, partitions int64) {
	names := make(map[string]bool)
	for family := range t.families {
		if f.Columns.Overlaps([]byte(family)) {
			names[t.partition(family)] = true
		}
	}
	families = make(map[string]bool)
	for family := range t.families {
		families[family] = names[t.partition(family)]
	}
	return families, int64(len(names))
}

// look counts a row as scanned, with its cells in the families read.
func look(stats *widecol.Stats, row []version, read map[string]bool) {
	cells := stats.CellsScanned
	for _, v := range row {
		if read[v.family] {
			stats.CellsScanned++
			stats.BytesScanned += v.rawSize()
		}
	}
	if stats.CellsScanned > cells {
		stats.RowsScanned++
	}
}
