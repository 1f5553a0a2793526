package lsmstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// TestFingerprintOfTree: the fingerprint of a condition is that of docs/formats.md, with all kinds of filters.
func TestFingerprintOfTree(t *testing.T) {
	open, closed := widecol.Bound{Kind: widecol.Excluded, Value: []byte("a")}, widecol.Bound{Kind: widecol.Included, Value: []byte("b")}
	regex := func(op widecol.FilterOp, text string) *widecol.RowFilter {
		return &widecol.RowFilter{Op: op, Pattern: []byte(text)}
	}
	tree := &widecol.RowFilter{Op: widecol.Chain, Filters: []*widecol.RowFilter{
		{Op: widecol.Interleave, Filters: []*widecol.RowFilter{{Op: widecol.PassAll}, {Op: widecol.BlockAll}, {Op: widecol.Sink}, {Op: widecol.StripValue}}},
		{Op: widecol.Condition, If: &widecol.RowFilter{Op: widecol.PassAll}, Else: regex(widecol.RowKeyRegex, "r")},
		regex(widecol.FamilyRegex, "f"), regex(widecol.QualifierRegex, "q"), regex(widecol.ValueRegex, "v"),
		{Op: widecol.RowSample, P: 0.5},
		{Op: widecol.ColumnRange, Family: "f", Start: open, End: closed},
		{Op: widecol.ValueRange, Start: closed},
		{Op: widecol.TimestampRange, Times: widecol.TimeRange{Start: 1, End: 2}},
		{Op: widecol.RowOffset, N: 3}, {Op: widecol.RowLimit, N: 4}, {Op: widecol.ColumnLimit, N: 5},
		{Op: widecol.ApplyLabel, Label: "l"},
	}}
	w := new(bytes.Buffer)
	add := func(parts ...any) {
		for _, p := range parts {
			switch p := p.(type) {
			case int:
				w.Write(binary.LittleEndian.AppendUint64(nil, uint64(p)))
			case string:
				w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
				w.WriteString(p)
			}
		}
	}
	add(1, "chain", 13,
		1, "interleave", 4, 1, "pass_all_filter", 1, "block_all_filter", 1, "sink", 1, "strip_value_transformer",
		1, "condition", 1, "pass_all_filter", 0, 1, "row_key_regex_filter", "r",
		1, "family_name_regex_filter", "f", 1, "column_qualifier_regex_filter", "q", 1, "value_regex_filter", "v",
		1, "row_sample_filter", int(math.Float64bits(0.5)),
		1, "column_range_filter", "f", 2, "a", 1, "b",
		1, "value_range_filter", 1, "b", 0, "",
		1, "timestamp_range_filter", 1, 2,
		1, "cells_per_row_offset_filter", 3, 1, "cells_per_row_limit_filter", 4, 1, "cells_per_column_limit_filter", 5,
		1, "apply_label_transformer", "l")
	d := &digest{Hash: sha256.New()}
	d.tree(tree)
	if d.sum() != sha256.Sum256(w.Bytes()) {
		t.Error("a tree of all filters has another fingerprint")
	}

	query := widecol.NewQuery()
	query.RowFilter = &widecol.RowFilter{Op: widecol.PassAll}
	w.Reset()
	last := int(math.MaxInt64)
	add(4, "row", 1, 0, 0, last, 0, 1, "pass_all_filter", -1, -1, -1, 0, -1, 0, 0)
	if got := fingerprintOfCheck(&widecol.CheckAndMutate{Row: []byte("row"), Not: true, If: query}); got != sha256.Sum256(w.Bytes()) {
		t.Error("a condition has another fingerprint")
	}
}
