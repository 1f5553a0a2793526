package lsmstore

import "colonnade/widecol"

// Divide returns queries that together select what q does, each a range of its rows,
// in their order, with about least bytes of files in each, or more, so that there are about 64. The
// answers of the parts may be read at once, by several goroutines, and what they have cost adds
// up to what q costs. It is q alone where the rows have to be counted from the first, and where
// there are too few to divide. A part can be divided again, also while others are read.
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
