package widecol

import "context"

// Matches reports whether a filter tree lets at least one cell of a row through, or, for nil, whether the
// row has a cell. It reads no further than that takes. No Rows of the view may be open.
func Matches(ctx context.Context, view View, row []byte, f *RowFilter) (bool, error) {
	q := NewQuery()
	q.SetKey(row)
	q.RowFilter, q.CellLimit, q.KeysOnly = f, 1, true
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	return rows.Next(), rows.Err()
}
