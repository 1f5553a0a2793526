package lsmstore

import "colonnade/widecol"

// Divide returns queries that together select what q does: ranges of its rows, in order, with about
// least bytes of files in each, or more, so that there are about 64. Goroutines may read the parts
// at once, and their costs add up to that of q. It returns q alone if rows must be counted from the
// first, or there are too few to divide. A part can be divided again, also while others are read.
func (v *view) Divide(q *widecol.Query, least int64) []widecol.Query {
	whole := []widecol.Query{*q}
	if q.RowLimit != widecol.NoLimit || q.CellLimit != widecol.NoLimit || q.Offset > 0 || q.Sample < 1 {
		return whole
	}
	var bounds [][]byte
	for _, id := range v.schema.holding(q.Filter.Columns) {
		if found := v.snap.Divide(id, q.Start, q.End, least); len(found) > len(bounds) {
			bounds = found
		}
	}
	for _, row := range bounds {
		last := &whole[len(whole)-1]
		rest := *last
		last.End, rest.Start = row, row
		whole = append(whole, rest)
	}
	return whole
}
