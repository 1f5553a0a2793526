package lsmstore

import (
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.Divider = openView{}

// Divide implements widecol.Divider. A part covers about least bytes of files, or more if a range
// would have more than about 64 parts. Small ranges next to each other are one part. A query of more
// than maxDivided ranges is not divided. A part that is to explain has all of the filter tree, others what is left of it.
func (v *view) Divide(q *widecol.Query, least int64) []widecol.Query {
	whole := []widecol.Query{*q}
	asked := q
	if q.RowFilter != nil {
		q = v.narrowed(q)
	}
	if q.RowLimit != widecol.NoLimit || q.CellLimit != widecol.NoLimit || q.Offset > 0 || q.Sample < 1 || q.After != nil || len(q.Rows) > maxDivided {
		return whole
	}
	var parts []widecol.Query
	add := func(rows widecol.RowSet) {
		if len(rows) > 0 {
			part := *q
			if asked.Explain != nil {
				part = *asked
				part.Explain = new(widecol.Explain)
			}
			part.Rows = rows
			parts = append(parts, part)
		}
	}
	small := 0 // the first range that is in no part
	for i, rows := range q.Rows {
		divided := v.divideRange(q.Filter.Columns, rows, least)
		if len(divided) == 1 {
			continue
		}
		add(q.Rows[small:i])
		small = i + 1
		for _, part := range divided {
			add(widecol.RowSet{part})
		}
	}
	if parts == nil {
		return whole
	}
	add(q.Rows[small:])
	if q.Reverse {
		slices.Reverse(parts)
	}
	return parts
}

// maxDivided bounds the ranges of a query to divide. Many ranges are small, and each costs a search
// in the files.
const maxDivided = 64

// divideRange divides a range of rows. It uses the bounds of the partition that gives the most
// parts.
func (v *view) divideRange(columns *cell.Columns, rows widecol.RowRange, least int64) widecol.RowSet {
	var bounds [][]byte
	ids, _ := v.schema.holding(columns)
	for _, id := range ids {
		if found := v.snap.Divide(id, rows.Start, rows.End, least); len(found) > len(bounds) {
			bounds = found
		}
	}
	parts := widecol.RowSet{rows}
	for _, row := range bounds {
		last := &parts[len(parts)-1]
		rest := widecol.RowRange{Start: row, End: last.End}
		last.End = row
		parts = append(parts, rest)
	}
	return parts
}
