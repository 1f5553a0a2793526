package bigtable

import (
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// filter returns a random filter tree of at most some levels. Few of them are wrong.
func (g *generator) filter(levels int) *btpb.RowFilter {
	n := g.IntN(100)
	switch {
	case levels > 1 && n < 22:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_Chain_{Chain: &btpb.RowFilter_Chain{Filters: g.filters(levels)}}}
	case levels > 1 && n < 38:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_Interleave_{Interleave: &btpb.RowFilter_Interleave{Filters: g.filters(levels)}}}
	case levels > 1 && n < 55:
		c := new(btpb.RowFilter_Condition)
		if g.often(98) {
			c.PredicateFilter = g.filter(levels - 1)
		}
		if g.often(85) {
			c.TrueFilter = g.filter(levels - 1)
		}
		if g.often(60) {
			c.FalseFilter = g.filter(levels - 1)
		}
		return &btpb.RowFilter{Filter: &btpb.RowFilter_Condition_{Condition: c}}
	case n%5 < 3:
		return g.contentFilter()
	}
	return g.countFilter()
}

func (g *generator) filters(levels int) (list []*btpb.RowFilter) {
	n := 2 + g.IntN(2)
	if g.often(2) {
		n = g.IntN(2)
	}
	for range n {
		list = append(list, g.filter(levels-1))
	}
	return list
}

// contentFilter is one of keys, columns, times or values.
func (g *generator) contentFilter() *btpb.RowFilter {
	pattern := []byte(one(g, patterns[:len(patterns)-4]))
	if g.often(2) {
		pattern = []byte(one(g, patterns[len(patterns)-4:])) // wrong ones
	}
	switch g.IntN(8) {
	case 0:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_RowKeyRegexFilter{RowKeyRegexFilter: pattern}}
	case 1, 2:
		name := one(g, []string{".*", "a", "a|b", "[a-z]+", "Z", "versions|age", "s.*", "none", "(", "a:b"}[:8+g.IntN(50)/48*2])
		return &btpb.RowFilter{Filter: &btpb.RowFilter_FamilyNameRegexFilter{FamilyNameRegexFilter: name}}
	case 3:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_ColumnQualifierRegexFilter{ColumnQualifierRegexFilter: pattern}}
	case 4:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_ValueRegexFilter{ValueRegexFilter: pattern}}
	case 5:
		return g.columnRange()
	case 6:
		return g.valueRange()
	}
	r := g.times()
	if g.often(2) {
		r.StartTimestampMicros = -1
	}
	return &btpb.RowFilter{Filter: &btpb.RowFilter_TimestampRangeFilter{TimestampRangeFilter: r}}
}

// bounds returns two of a list, in their order but for few.
func (g *generator) bounds(list []string) (start, end []byte) {
	a, b := one(g, list), one(g, list)
	if a > b && g.often(97) {
		a, b = b, a
	}
	return []byte(a), []byte(b)
}

func (g *generator) columnRange() *btpb.RowFilter {
	r := &btpb.ColumnRange{FamilyName: one(g, families)}
	if g.often(2) {
		r.FamilyName = ""
	}
	start, end := g.bounds(qualifiers)
	switch g.IntN(3) {
	case 0:
		r.StartQualifier = &btpb.ColumnRange_StartQualifierClosed{StartQualifierClosed: start}
	case 1:
		r.StartQualifier = &btpb.ColumnRange_StartQualifierOpen{StartQualifierOpen: start}
	}
	switch g.IntN(3) {
	case 0:
		r.EndQualifier = &btpb.ColumnRange_EndQualifierClosed{EndQualifierClosed: end}
	case 1:
		r.EndQualifier = &btpb.ColumnRange_EndQualifierOpen{EndQualifierOpen: end}
	}
	return &btpb.RowFilter{Filter: &btpb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

func (g *generator) valueRange() *btpb.RowFilter {
	r := new(btpb.ValueRange)
	start, end := g.bounds(values)
	switch g.IntN(3) {
	case 0:
		r.StartValue = &btpb.ValueRange_StartValueClosed{StartValueClosed: start}
	case 1:
		r.StartValue = &btpb.ValueRange_StartValueOpen{StartValueOpen: start}
	}
	switch g.IntN(3) {
	case 0:
		r.EndValue = &btpb.ValueRange_EndValueClosed{EndValueClosed: end}
	case 1:
		r.EndValue = &btpb.ValueRange_EndValueOpen{EndValueOpen: end}
	}
	return &btpb.RowFilter{Filter: &btpb.RowFilter_ValueRangeFilter{ValueRangeFilter: r}}
}

// countFilter is one that looks at no content.
func (g *generator) countFilter() *btpb.RowFilter {
	count, so := int32(1+g.IntN(4)), g.often(98)
	if g.often(2) {
		count = int32(g.IntN(2) - 1)
	}
	switch g.IntN(10) {
	case 0:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_CellsPerRowOffsetFilter{CellsPerRowOffsetFilter: count}}
	case 1:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_CellsPerRowLimitFilter{CellsPerRowLimitFilter: count}}
	case 2, 3:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_CellsPerColumnLimitFilter{CellsPerColumnLimitFilter: count}}
	case 4:
		label := one(g, labels[:3])
		if g.often(3) {
			label = one(g, labels)
		}
		return &btpb.RowFilter{Filter: &btpb.RowFilter_ApplyLabelTransformer{ApplyLabelTransformer: label}}
	case 5:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_StripValueTransformer{StripValueTransformer: so}}
	case 6:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_BlockAllFilter{BlockAllFilter: so}}
	case 7:
		return &btpb.RowFilter{Filter: &btpb.RowFilter_Sink{Sink: so}}
	case 8: // all or none: which rows a share is, differs
		return &btpb.RowFilter{Filter: &btpb.RowFilter_RowSampleFilter{RowSampleFilter: one(g, []float64{1e-12, 1 - 1e-12, 1e-12, 1 - 1e-12, 0, 1}[:4+g.IntN(50)/48*2])}}
	}
	if g.often(2) {
		return &btpb.RowFilter{}
	}
	return &btpb.RowFilter{Filter: &btpb.RowFilter_PassAllFilter{PassAllFilter: so}}
}
