package bigtable

import (
	"math"
	"strings"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/colonnade-db/colonnade/widecol"
)

// filterOf takes a filter tree over, which is a field of a request; nil for nil. The tree keeps parts of the message. A
// large message is refused before it is walked.
func filterOf(field string, m *btpb.RowFilter) (*widecol.RowFilter, error) {
	if m == nil {
		return nil, nil
	}
	if size := proto.Size(m); size > widecol.MaxFilterBytes {
		return nil, invalid(field, "the filter has %d bytes, allowed are %d", size, widecol.MaxFilterBytes)
	}
	f := filterNode(m)
	if err := f.Check(); err != nil {
		err.Path = field + strings.TrimPrefix(err.Path, "filter")
		return nil, statusOf(err)
	}
	return f, nil
}

// filterNode takes a filter over, and those below it. What Check refuses, it takes over too.
func filterNode(m *btpb.RowFilter) *widecol.RowFilter {
	if m == nil {
		return nil
	}
	switch f := m.Filter.(type) {
	case *btpb.RowFilter_Chain_:
		return &widecol.RowFilter{Op: widecol.Chain, Filters: filterNodes(f.Chain.GetFilters())}
	case *btpb.RowFilter_Interleave_:
		return &widecol.RowFilter{Op: widecol.Interleave, Filters: filterNodes(f.Interleave.GetFilters())}
	case *btpb.RowFilter_Condition_:
		c := f.Condition
		return &widecol.RowFilter{Op: widecol.Condition, If: filterNode(c.GetPredicateFilter()), Then: filterNode(c.GetTrueFilter()), Else: filterNode(c.GetFalseFilter())}
	case *btpb.RowFilter_Sink:
		return &widecol.RowFilter{Op: widecol.Sink, False: !f.Sink}
	case *btpb.RowFilter_PassAllFilter:
		return &widecol.RowFilter{Op: widecol.PassAll, False: !f.PassAllFilter}
	case *btpb.RowFilter_BlockAllFilter:
		return &widecol.RowFilter{Op: widecol.BlockAll, False: !f.BlockAllFilter}
	case *btpb.RowFilter_StripValueTransformer:
		return &widecol.RowFilter{Op: widecol.StripValue, False: !f.StripValueTransformer}
	case *btpb.RowFilter_RowSampleFilter:
		return &widecol.RowFilter{Op: widecol.RowSample, P: f.RowSampleFilter}
	case *btpb.RowFilter_CellsPerRowOffsetFilter:
		return &widecol.RowFilter{Op: widecol.RowOffset, N: int64(f.CellsPerRowOffsetFilter)}
	case *btpb.RowFilter_CellsPerRowLimitFilter:
		return &widecol.RowFilter{Op: widecol.RowLimit, N: int64(f.CellsPerRowLimitFilter)}
	case *btpb.RowFilter_CellsPerColumnLimitFilter:
		return &widecol.RowFilter{Op: widecol.ColumnLimit, N: int64(f.CellsPerColumnLimitFilter)}
	case *btpb.RowFilter_ApplyLabelTransformer:
		return &widecol.RowFilter{Op: widecol.ApplyLabel, Label: f.ApplyLabelTransformer}
	}
	return filterOfContent(m)
}

// filterOfContent takes over a filter of keys, columns, times or values. A message without a filter, or with one that
// this version does not know, has no op.
func filterOfContent(m *btpb.RowFilter) *widecol.RowFilter {
	switch f := m.Filter.(type) {
	case *btpb.RowFilter_RowKeyRegexFilter:
		return &widecol.RowFilter{Op: widecol.RowKeyRegex, Pattern: f.RowKeyRegexFilter}
	case *btpb.RowFilter_FamilyNameRegexFilter:
		return &widecol.RowFilter{Op: widecol.FamilyRegex, Pattern: []byte(f.FamilyNameRegexFilter)}
	case *btpb.RowFilter_ColumnQualifierRegexFilter:
		return &widecol.RowFilter{Op: widecol.QualifierRegex, Pattern: f.ColumnQualifierRegexFilter}
	case *btpb.RowFilter_ValueRegexFilter:
		return &widecol.RowFilter{Op: widecol.ValueRegex, Pattern: f.ValueRegexFilter}
	case *btpb.RowFilter_ColumnRangeFilter:
		return columnRange(f.ColumnRangeFilter)
	case *btpb.RowFilter_ValueRangeFilter:
		return valueRange(f.ValueRangeFilter)
	case *btpb.RowFilter_TimestampRangeFilter:
		r := f.TimestampRangeFilter
		return &widecol.RowFilter{Op: widecol.TimestampRange, Times: timesOf(r.GetStartTimestampMicros(), r.GetEndTimestampMicros())}
	}
	return &widecol.RowFilter{}
}

func filterNodes(list []*btpb.RowFilter) []*widecol.RowFilter {
	nodes := make([]*widecol.RowFilter, len(list))
	for i, m := range list {
		nodes[i] = filterNode(m)
	}
	return nodes
}

// timesOf returns a range of times, whose end is not in it; 0 is no end.
func timesOf(start, end int64) widecol.TimeRange {
	if end == 0 {
		end = math.MaxInt64
	}
	return widecol.TimeRange{Start: start, End: end}
}

func columnRange(m *btpb.ColumnRange) *widecol.RowFilter {
	f := &widecol.RowFilter{Op: widecol.ColumnRange, Family: m.GetFamilyName()}
	switch b := m.GetStartQualifier().(type) {
	case *btpb.ColumnRange_StartQualifierClosed:
		f.Start = widecol.Bound{Kind: widecol.Included, Value: b.StartQualifierClosed}
	case *btpb.ColumnRange_StartQualifierOpen:
		f.Start = widecol.Bound{Kind: widecol.Excluded, Value: b.StartQualifierOpen}
	}
	switch b := m.GetEndQualifier().(type) {
	case *btpb.ColumnRange_EndQualifierClosed:
		f.End = widecol.Bound{Kind: widecol.Included, Value: b.EndQualifierClosed}
	case *btpb.ColumnRange_EndQualifierOpen:
		f.End = widecol.Bound{Kind: widecol.Excluded, Value: b.EndQualifierOpen}
	}
	return f
}

func valueRange(m *btpb.ValueRange) *widecol.RowFilter {
	f := &widecol.RowFilter{Op: widecol.ValueRange}
	switch b := m.GetStartValue().(type) {
	case *btpb.ValueRange_StartValueClosed:
		f.Start = widecol.Bound{Kind: widecol.Included, Value: b.StartValueClosed}
	case *btpb.ValueRange_StartValueOpen:
		f.Start = widecol.Bound{Kind: widecol.Excluded, Value: b.StartValueOpen}
	}
	switch b := m.GetEndValue().(type) {
	case *btpb.ValueRange_EndValueClosed:
		f.End = widecol.Bound{Kind: widecol.Included, Value: b.EndValueClosed}
	case *btpb.ValueRange_EndValueOpen:
		f.End = widecol.Bound{Kind: widecol.Excluded, Value: b.EndValueOpen}
	}
	return f
}
