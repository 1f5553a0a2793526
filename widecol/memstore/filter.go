package memstore

import (
	"cmp"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// filterRow applies a filter tree to the versions of a row, each filter to the whole list.
func filterRow(f *widecol.RowFilter, row []version) []version {
	var sunk []version
	out := filtered(f, row, &sunk)
	return pooled(out, sunk)
}

// pooled joins lists of versions of a row. Equal versions stay in the order of the lists.
func pooled(lists ...[]version) []version {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, compare)
	return all
}

// filtered returns what a filter lets through. It adds to sunk what reaches a sink.
func filtered(f *widecol.RowFilter, row []version, sunk *[]version) []version {
	row = slices.Clone(row)
	switch f.Op {
	case widecol.Chain:
		for _, sub := range f.Filters {
			row = filtered(sub, row, sunk)
		}
		return row
	case widecol.Interleave:
		var outs [][]version
		for _, sub := range f.Filters {
			outs = append(outs, filtered(sub, row, sunk))
		}
		return pooled(outs...)
	case widecol.Condition:
		branch := f.Else
		if len(filtered(f.If, row, sunk)) > 0 {
			branch = f.Then
		}
		if branch == nil {
			return nil
		}
		return filtered(branch, row, sunk)
	case widecol.Sink:
		*sunk = append(*sunk, row...)
		return nil
	case widecol.RowOffset:
		return row[min(int(f.N), len(row)):]
	case widecol.RowLimit:
		return row[:min(int(f.N), len(row))]
	case widecol.ColumnLimit:
		seen := make(map[string]int64)
		return slices.DeleteFunc(row, func(v version) bool {
			seen[string(v.column())]++
			return seen[string(v.column())] > f.N
		})
	case widecol.StripValue:
		for i := range row {
			row[i].typ, row[i].value = cell.Bytes, ""
		}
		return row
	case widecol.ApplyLabel:
		for i := range row {
			row[i].label = f.Label
		}
		return row
	}
	passes := passing(f)
	return slices.DeleteFunc(row, func(v version) bool { return !passes(v) })
}

// passing returns the test of a filter that looks at each version alone.
func passing(f *widecol.RowFilter) func(v version) bool {
	switch f.Op {
	case widecol.PassAll:
		return func(version) bool { return true }
	case widecol.RowKeyRegex, widecol.FamilyRegex, widecol.QualifierRegex, widecol.ValueRegex:
		re, err := widecol.CompilePattern(f.Pattern)
		if err != nil {
			panic(err) // the filter was checked
		}
		return func(v version) bool { return matches(re, v.text(f.Op)) }
	case widecol.ColumnRange:
		return func(v version) bool { return v.family == f.Family && between(v.qualifier, f) }
	case widecol.ValueRange:
		return func(v version) bool { return between(v.bytes(), f) }
	case widecol.TimestampRange:
		return func(v version) bool { return v.time >= f.Times.Start && v.time < f.Times.End }
	case widecol.RowSample:
		return func(v version) bool { return sampled(v.row) < f.P }
	}
	return func(version) bool { return false } // BlockAll
}

// text returns what a regular expression looks at.
func (v version) text(op widecol.FilterOp) string {
	return map[widecol.FilterOp]string{
		widecol.RowKeyRegex: v.row, widecol.FamilyRegex: v.family, widecol.QualifierRegex: v.qualifier, widecol.ValueRegex: v.bytes(),
	}[op]
}

// matches reports whether a text of bytes matches a pattern as a whole.
func matches(re *regexp.Regexp, text string) bool {
	characters := make([]rune, len(text))
	for i := range len(text) {
		characters[i] = rune(text[i])
	}
	return re.MatchString(string(characters))
}

func between(text string, f *widecol.RowFilter) bool {
	from := cmp.Compare(text, string(f.Start.Value))
	to := cmp.Compare(text, string(f.End.Value))
	return (f.Start.Kind == widecol.Unbounded || from > 0 || from == 0 && f.Start.Kind == widecol.Included) &&
		(f.End.Kind == widecol.Unbounded || to < 0 || to == 0 && f.End.Kind == widecol.Included)
}

// bytes returns the value as Bigtable has it: numbers begin with their highest byte.
func (v version) bytes() string {
	if !slices.Contains([]cell.Type{cell.I64, cell.I32, cell.F64, cell.F32}, v.typ) {
		return v.value
	}
	b := []byte(v.value)
	slices.Reverse(b)
	return string(b)
}

// sampled returns the number from 0 to 1 of a row, which a sample compares with its probability.
func sampled(row string) float64 {
	hash := fnv.New64a()
	strings.NewReader(row).WriteTo(hash)
	h := hash.Sum64()
	for _, factor := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53} {
		h = (h ^ h>>33) * factor
	}
	return float64((h^h>>33)>>11) / (1 << 53)
}
