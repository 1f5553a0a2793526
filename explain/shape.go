package explain

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// queryShape returns what may be known of a query: what it selects by, and how much. What it does not select by is left out.
func queryShape(q *widecol.Query) (shape []slog.Attr) {
	add := func(said bool, attr slog.Attr) {
		if said {
			shape = append(shape, attr)
		}
	}
	add(true, rowsShape(q.Rows))
	families := slices.Compact(slices.Sorted(slices.Values(q.Filter.Families)))
	if len(families) > maxFamiliesShape {
		families = append(families[:maxFamiliesShape], "…")
	}
	add(families != nil, slog.Any("families", families))
	add(q.Filter.Columns != nil, slog.Int("columns", len(q.Filter.Columns.Ranges())))
	add(q.Times != widecol.AllTimes, slog.Bool("times", true))
	if q.Value != nil {
		add(true, slog.String("value", q.Value.Type.String()+" "+q.Value.Op.String()))
	}
	if q.RowFilter != nil {
		var text strings.Builder
		appendFilterShape(&text, q.RowFilter)
		add(true, slog.String("filter", text.String()))
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"row_limit", q.RowLimit}, {"row_cell_limit", q.RowCellLimit}, {"column_cell_limit", q.ColumnCellLimit}, {"cell_limit", q.CellLimit},
	} {
		add(limit.value != widecol.NoLimit, slog.Int64(limit.name, limit.value))
	}
	add(q.Offset > 0, slog.Int64("offset", q.Offset))
	add(q.Sample < 1, slog.Float64("sample", q.Sample))
	add(q.KeysOnly, slog.Bool("strip_value", true))
	add(q.Reverse, slog.Bool("reverse", true))
	add(q.After != nil, slog.Bool("later_page", true))
	return shape
}

// maxFamiliesShape bounds the families that are named: a query may name any number, there or not.
const maxFamiliesShape = 32

// rowsShape returns how many keys and ranges a set of rows has, and the bytes of the keys and the bounds.
func rowsShape(rows widecol.RowSet) slog.Attr {
	if rows.All() {
		return slog.String("rows", "all")
	}
	keys, ranges, length := 0, 0, 0
	for _, r := range rows {
		length += len(r.Start)
		if r.Key() != nil {
			keys++
			continue
		}
		ranges++
		length += len(r.End)
	}
	return slog.Group("rows", slog.Int("keys", keys), slog.Int("ranges", ranges), slog.Int("bytes", length))
}

// maxFilterShape bounds the text of a filter tree, which may have thousands of nodes.
const maxFilterShape = 1 << 10

// appendFilterShape appends the names of the filters of a tree.
func appendFilterShape(text *strings.Builder, f *widecol.RowFilter) {
	if f == nil {
		text.WriteByte('-')
		return
	}
	if text.Len() > maxFilterShape {
		text.WriteString("…")
		return
	}
	text.WriteString(f.Op.String())
	below := f.Filters
	if f.Op == widecol.Condition {
		below = []*widecol.RowFilter{f.If, f.Then, f.Else}
	}
	if len(below) == 0 {
		return
	}
	for i, sub := range below {
		text.WriteByte("(,"[min(i, 1)])
		if text.Len() > maxFilterShape {
			text.WriteString("…")
			break
		}
		appendFilterShape(text, sub)
	}
	text.WriteByte(')')
}
