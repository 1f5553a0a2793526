package lsmstore

import "colonnade/widecol"

// Divide divides q into queries over ranges of its rows, in order. Each has about least bytes of files, or
// more, so that there are about 64. Goroutines may run them at once, and their costs add up to that of q.
// Divide returns q alone if it has to count rows from the first, or is too small. A part can be divided
// again, also while others are read.
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
