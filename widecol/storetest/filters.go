package storetest

import (
	"fmt"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Short forms of filter trees.
func chainOf(fs ...*widecol.RowFilter) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.Chain, Filters: fs}
}

func interleaveOf(fs ...*widecol.RowFilter) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.Interleave, Filters: fs}
}

func regexOf(op widecol.FilterOp, pattern string) *widecol.RowFilter {
	return &widecol.RowFilter{Op: op, Pattern: []byte(pattern)}
}

func numberOf(op widecol.FilterOp, n int64) *widecol.RowFilter {
	return &widecol.RowFilter{Op: op, N: n}
}

func labelOf(label string) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.ApplyLabel, Label: label}
}

func conditionOf(predicate, then, otherwise *widecol.RowFilter) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.Condition, If: predicate, Then: then, Else: otherwise}
}

var (
	passTree  = &widecol.RowFilter{Op: widecol.PassAll}
	blockTree = &widecol.RowFilter{Op: widecol.BlockAll}
	stripTree = &widecol.RowFilter{Op: widecol.StripValue}
	sinkTree  = &widecol.RowFilter{Op: widecol.Sink}
)

// through returns a query for what a tree lets through.
func through(f *widecol.RowFilter) *widecol.Query {
	return asking(func(q *widecol.Query) { q.RowFilter = f })
}

// bare is a version that a tree has stripped.
func bare(v version) version {
	v.typ, v.value = cell.Bytes, ""
	return v
}

func labelled(v version, label string) version {
	v.value += labelMark + label
	return v
}

// filterRows are the versions of most cases: some of them in a group.
var filterRows = []string{
	"q a:x@2=one", "q b:y@1=two",
	"r a:x@3=one", "r a:x@2=two", "r a:x@1=three", "r a:xy@1=four", "r b:x@1=five", "r b:y@2=six",
	"row\n a:y@1=seven",
	"s b:\xff@5=",
}

func (f *fixture) filterable() []version {
	f.Helper()
	f.create("t", "a", "b+")
	f.write("t", filterRows...)
	return f.parseAll(filterRows)
}

var filterCases = []testCase{
	{"a filter tree selects by row, column, time and value", func(f *fixture) {
		all := f.filterable()
		view := f.view("t")
		defer view.close()
		bound := func(kind widecol.BoundKind, value string) widecol.Bound {
			return widecol.Bound{Kind: kind, Value: []byte(value)}
		}
		for _, tc := range []struct {
			f    *widecol.RowFilter
			keep func(v version) bool
		}{
			{passTree, func(version) bool { return true }},
			{blockTree, func(version) bool { return false }},
			{regexOf(widecol.RowKeyRegex, "r"), func(v version) bool { return v.row == "r" }},
			{regexOf(widecol.RowKeyRegex, "r.*"), func(v version) bool { return v.row == "r" }},
			{regexOf(widecol.RowKeyRegex, `r\C*`), func(v version) bool { return v.row[0] == 'r' }},
			{regexOf(widecol.RowKeyRegex, "q|s"), func(v version) bool { return v.row == "q" || v.row == "s" }},
			{regexOf(widecol.FamilyRegex, "[b-z]"), func(v version) bool { return v.family == "b" }},
			{regexOf(widecol.QualifierRegex, "x"), func(v version) bool { return v.qualifier == "x" }},
			{regexOf(widecol.QualifierRegex, "x.*"), func(v version) bool { return v.qualifier[0] == 'x' }},
			{regexOf(widecol.QualifierRegex, `[\x80-\xff]`), func(v version) bool { return v.qualifier == "\xff" }},
			{regexOf(widecol.ValueRegex, "t.*"), func(v version) bool { return strings.HasPrefix(v.value, "t") }},
			{regexOf(widecol.ValueRegex, ""), func(v version) bool { return v.value == "" }},
			{&widecol.RowFilter{Op: widecol.ColumnRange, Family: "a", Start: bound(widecol.Included, "x"), End: bound(widecol.Excluded, "xy")},
				func(v version) bool { return v.family == "a" && v.qualifier == "x" }},
			{&widecol.RowFilter{Op: widecol.ColumnRange, Family: "a", Start: bound(widecol.Excluded, "x"), End: bound(widecol.Included, "xy")},
				func(v version) bool { return v.family == "a" && v.qualifier == "xy" }},
			{&widecol.RowFilter{Op: widecol.ColumnRange, Family: "b"}, func(v version) bool { return v.family == "b" }},
			{&widecol.RowFilter{Op: widecol.ValueRange, Start: bound(widecol.Excluded, "one"), End: bound(widecol.Included, "six")},
				func(v version) bool { return v.value > "one" && v.value <= "six" }},
			{&widecol.RowFilter{Op: widecol.TimestampRange, Times: widecol.TimeRange{Start: 2, End: 5}},
				func(v version) bool { return v.time >= 2 && v.time < 5 }},
			{chainOf(regexOf(widecol.QualifierRegex, "x"), regexOf(widecol.ValueRegex, "t.*")),
				func(v version) bool { return v.qualifier == "x" && v.value[0] == 't' }},
		} {
			view.wantVersions(through(tc.f), filtered(all, tc.keep))
		}
	}},
	{"a filter tree sees values as Bigtable does", func(f *fixture) {
		f.create("t", "a", "b+")
		versions := []version{
			{"r", "a", "byte", 1, cell.Byte, "\x07"},
			{"r", "a", "f32", 1, cell.F32, "\x00\x00\x80\x3f"},
			{"r", "a", "f64", 1, cell.F64, "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
			{"r", "a", "i32", 1, cell.I32, "\xfe\xff\xff\xff"},
			{"r", "a", "i64", 1, cell.I64, "\x02\x01\x00\x00\x00\x00\x00\x00"},
			{"r", "b", "bool", 1, cell.Bool, "\x01"},
			{"r", "b", "bytes", 1, cell.Bytes, "\x00\xff\n"},
			{"r", "b", "string", 1, cell.String, "é"},
		}
		f.writeAll("t", versions)
		for i, pattern := range []string{`\x07`, `\x3f\x80\x00\x00`, `\x3f\xf0\x00{6}`, `\xff\xff\xff\xfe`, `\x00{6}\x01\x02`, `\x01`, `\x00\xff\n`, `\xc3\xa9`} {
			f.wantVersions("t", through(regexOf(widecol.ValueRegex, pattern)), versions[i:i+1])
		}
		f.wantVersions("t", through(regexOf(widecol.ValueRegex, `\C\C`)), versions[7:])
		f.wantVersions("t", through(&widecol.RowFilter{Op: widecol.ValueRange, Start: widecol.Bound{Kind: widecol.Included, Value: []byte{0, 0, 0, 0, 0, 0, 1, 2}},
			End: widecol.Bound{Kind: widecol.Excluded, Value: []byte{0, 0, 0, 0, 0, 0, 1, 3}}}), versions[4:5])
	}},
	{"limits of a filter tree count what reaches them", func(f *fixture) {
		all := f.filterable()
		f.wantVersions("t", through(numberOf(widecol.RowLimit, 1)), []version{all[0], all[2], all[8], all[9]})
		f.wantVersions("t", through(numberOf(widecol.RowOffset, 4)), all[6:8])
		f.wantVersions("t", through(numberOf(widecol.RowOffset, 0)), all)
		f.wantVersions("t", through(numberOf(widecol.ColumnLimit, 1)), slicesOf(all, 0, 1, 2, 5, 6, 7, 8, 9))
		f.wantVersions("t", through(chainOf(regexOf(widecol.ValueRegex, "t.*"), numberOf(widecol.ColumnLimit, 1))), slicesOf(all, 1, 3))
		f.wantVersions("t", through(chainOf(numberOf(widecol.ColumnLimit, 1), regexOf(widecol.ValueRegex, "t.*"))), all[1:2])
		f.wantVersions("t", through(chainOf(numberOf(widecol.RowOffset, 1), numberOf(widecol.RowLimit, 2))), slicesOf(all, 1, 3, 4))
		f.wantVersions("t", through(chainOf(numberOf(widecol.RowLimit, 3), numberOf(widecol.ColumnLimit, 2))), slicesOf(all, 0, 1, 2, 3, 8, 9))
		twice := through(chainOf(interleaveOf(passTree, passTree), numberOf(widecol.RowLimit, 3)))
		f.wantVersions("t", twice, slicesOf(all, 0, 0, 1, 2, 2, 3, 8, 8, 9, 9))
		twice.RowFilter.Filters[1] = numberOf(widecol.ColumnLimit, 3)
		f.wantVersions("t", twice, slicesOf(all, 0, 0, 1, 1, 2, 2, 3, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9))
	}},
	{"an interleave keeps every copy, in order", func(f *fixture) {
		all := f.filterable()
		x, two := regexOf(widecol.QualifierRegex, "x"), regexOf(widecol.ValueRegex, "t.*")
		f.wantVersions("t", through(interleaveOf(x, two)), slicesOf(all, 0, 1, 2, 3, 3, 4, 4, 6))
		f.wantVersions("t", through(interleaveOf(chainOf(x, labelOf("l")), chainOf(two, stripTree))),
			[]version{labelled(all[0], "l"), bare(all[1]), labelled(all[2], "l"), labelled(all[3], "l"), bare(all[3]),
				labelled(all[4], "l"), bare(all[4]), labelled(all[6], "l")})
	}},
	{"a label and a stripped value go through the rest of a chain", func(f *fixture) {
		all := f.filterable()
		f.wantVersions("t", through(chainOf(labelOf("l-1"), regexOf(widecol.RowKeyRegex, "s"))), []version{labelled(all[9], "l-1")})
		f.wantVersions("t", through(chainOf(stripTree, regexOf(widecol.ValueRegex, "one"))), nil)
		f.wantVersions("t", through(chainOf(regexOf(widecol.ValueRegex, "one"), stripTree, regexOf(widecol.ValueRegex, ""))), []version{bare(all[0]), bare(all[2])})
	}},
	{"a condition takes a branch for each row", func(f *fixture) {
		all := f.filterable()
		six := regexOf(widecol.ValueRegex, "six") // the last cell of its row
		f.wantVersions("t", through(conditionOf(six, passTree, nil)), all[2:8])
		f.wantVersions("t", through(conditionOf(six, nil, passTree)), slicesOf(all, 0, 1, 8, 9))
		f.wantVersions("t", through(conditionOf(six, numberOf(widecol.RowLimit, 1), labelOf("no"))),
			[]version{labelled(all[0], "no"), labelled(all[1], "no"), all[2], labelled(all[8], "no"), labelled(all[9], "no")})
		f.wantVersions("t", through(conditionOf(blockTree, passTree, numberOf(widecol.RowLimit, 1))), slicesOf(all, 0, 2, 8, 9))
		f.wantVersions("t", through(conditionOf(six, nil, nil)), nil)
		// In a chain it sees what the chain has left.
		f.wantVersions("t", through(chainOf(numberOf(widecol.RowLimit, 3), conditionOf(six, passTree, nil))), nil)
		f.wantVersions("t", through(chainOf(conditionOf(six, passTree, nil), numberOf(widecol.RowOffset, 5))), all[7:8])
		one := regexOf(widecol.ValueRegex, "one")
		f.wantVersions("t", through(chainOf(conditionOf(one, passTree, nil), conditionOf(six, nil, passTree))), all[:2])
		f.wantVersions("t", through(conditionOf(conditionOf(six, nil, passTree), conditionOf(one, numberOf(widecol.RowLimit, 1), passTree), nil)), slicesOf(all, 0, 8, 9))
	}},
	{"a sink moves cells past the rest of the tree", func(f *fixture) {
		all := f.filterable()
		f.wantVersions("t", through(chainOf(regexOf(widecol.FamilyRegex, "b"), interleaveOf(passTree, chainOf(labelOf("l"), sinkTree)), regexOf(widecol.QualifierRegex, "x"))),
			[]version{labelled(all[1], "l"), all[6], labelled(all[6], "l"), labelled(all[7], "l"), labelled(all[9], "l")})
		f.wantVersions("t", through(chainOf(numberOf(widecol.RowLimit, 1), sinkTree, blockTree)), slicesOf(all, 0, 2, 8, 9))
	}},
	{"a filter tree comes after columns, times and value, and before limits", func(f *fixture) {
		all := f.filterable()
		with := func(tree *widecol.RowFilter, change func(q *widecol.Query)) *widecol.Query {
			return asking(func(q *widecol.Query) { q.RowFilter = tree; change(q) })
		}
		first := numberOf(widecol.RowLimit, 1)
		f.wantVersions("t", with(first, func(q *widecol.Query) { q.Filter = f.columns("b") }), slicesOf(all, 1, 6, 9))
		f.wantVersions("t", with(first, func(q *widecol.Query) { q.Times.End = 2 }), slicesOf(all, 1, 4, 8))
		f.wantVersions("t", with(first, func(q *widecol.Query) {
			q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("two")}
		}), slicesOf(all, 1, 3))
		twice := interleaveOf(passTree, passTree)
		f.wantVersions("t", with(twice, func(q *widecol.Query) { q.ColumnCellLimit = 1 }), slicesOf(all, 0, 1, 2, 5, 6, 7, 8, 9))
		f.wantVersions("t", with(twice, func(q *widecol.Query) { q.RowCellLimit = 3 }), slicesOf(all, 0, 0, 1, 2, 2, 3, 8, 8, 9, 9))
		f.wantVersions("t", with(twice, func(q *widecol.Query) { q.CellLimit = 5 }), slicesOf(all, 0, 0, 1, 1, 2))
		// A row whose cells are all filtered out is no row.
		b := regexOf(widecol.ValueRegex, "(two|)")
		f.wantVersions("t", with(b, func(q *widecol.Query) { q.RowLimit = 2 }), slicesOf(all, 1, 3))
		f.wantVersions("t", with(b, func(q *widecol.Query) { q.Offset = 1 }), slicesOf(all, 3, 9))
		f.wantVersions("t", with(b, func(q *widecol.Query) { q.Sample = 0.5 }), slicesOf(all, 1, 9))
		f.wantVersions("t", with(b, func(q *widecol.Query) { q.RowLimit = 0 }), nil)
		f.wantVersions("t", with(b, func(q *widecol.Query) { q.RowCellLimit = 1 }), slicesOf(all, 1, 3, 9))
	}},
	{"a filter tree needs values that are left out", func(f *fixture) {
		all := f.filterable()
		q := through(chainOf(regexOf(widecol.ValueRegex, "one"), labelOf("l")))
		q.KeysOnly = true
		want := slicesOf(all, 0, 2)
		for i := range want {
			want[i].value = labelMark + "l"
		}
		f.wantVersions("t", q, want)
	}},
	{"a row sample depends on the key alone", func(f *fixture) {
		f.create("t", "a")
		all := f.numbered("t", 300)
		for _, p := range []float64{0.1, 0.5, 0.9} {
			f.wantVersions("t", through(&widecol.RowFilter{Op: widecol.RowSample, P: p}),
				filtered(all, func(v version) bool { return widecol.SampledRow([]byte(v.row), p) }))
		}
	}},
	{"Matches tells whether a filter tree lets a cell of a row through", func(f *fixture) {
		f.filterable()
		view := f.view("t")
		defer view.close()
		for _, tc := range []struct {
			row  string
			tree *widecol.RowFilter
			want bool
		}{
			{"r", nil, true}, {"nothing", nil, false}, {"nothing", passTree, false}, {"r", blockTree, false},
			{"r", regexOf(widecol.ValueRegex, "six"), true}, {"q", regexOf(widecol.ValueRegex, "six"), false},
			{"r", numberOf(widecol.RowOffset, 5), true}, {"r", numberOf(widecol.RowOffset, 6), false},
			{"r", conditionOf(regexOf(widecol.ValueRegex, "six"), nil, passTree), false},
			{"q", conditionOf(regexOf(widecol.ValueRegex, "six"), nil, passTree), true},
			{"r", chainOf(sinkTree, blockTree), true},
		} {
			got, err := widecol.Matches(background, view, []byte(tc.row), tc.tree)
			if err != nil || got != tc.want {
				f.Errorf("row %q matches %s: %t, %v, want %t", tc.row, treeText(tc.tree), got, err, tc.want)
			}
		}
		_, err := widecol.Matches(background, view, []byte("r"), chainOf(passTree))
		f.refused(err, widecol.Invalid, "invalid_filter", -1)
	}},
	{"a filter tree that is none is refused", func(f *fixture) {
		f.filterable()
		view := f.view("t")
		defer view.close()
		for code, tree := range map[string]*widecol.RowFilter{"invalid_filter": chainOf(passTree), "invalid_regex": regexOf(widecol.RowKeyRegex, "(")} {
			rows, err := view.Scan(background, through(tree))
			f.refused(err, widecol.Invalid, code, -1)
			if err == nil {
				rows.Close()
			}
		}
	}},
	{"a filter tree sees a large row whole", func(f *fixture) {
		f.create("t", "a", "b+")
		var all []version
		for i := range 12 { // more than a Store may want to hold
			value := strings.Repeat(fmt.Sprintf("%08d", i*7919), 30_000)
			all = append(all, version{"r", []string{"a", "b"}[i/6], fmt.Sprintf("%02d", i), 1, cell.String, value})
		}
		for i := range 3_000 {
			all = append(all, version{"s", "a", fmt.Sprintf("%05d", i/2), int64(9 - i%2), cell.String, "v"})
		}
		f.writeAll("t", all)
		last := regexOf(widecol.QualifierRegex, "11|01499")
		lastValue := chainOf(regexOf(widecol.QualifierRegex, "11"), regexOf(widecol.ValueRegex, `0008710\C*`))
		view := f.view("t")
		defer view.close()
		view.wantVersions(through(conditionOf(last, passTree, nil)), all)
		view.wantVersions(through(conditionOf(last, nil, passTree)), nil)
		view.wantVersions(through(conditionOf(lastValue, passTree, nil)), all[:12])
		view.wantVersions(through(chainOf(conditionOf(last, passTree, nil), conditionOf(lastValue, numberOf(widecol.RowOffset, 11), numberOf(widecol.RowLimit, 2)))),
			slicesOf(all, 11, 12, 13))
		view.wantVersions(through(chainOf(numberOf(widecol.RowOffset, 2_999), passTree)), all[len(all)-1:])
		view.wantVersions(through(interleaveOf(numberOf(widecol.RowLimit, 1), numberOf(widecol.RowOffset, 2_999), regexOf(widecol.QualifierRegex, "00"))),
			slicesOf(all, 0, 0, 12, len(all)-1))
	}},
}

// slicesOf returns some versions of a list.
func slicesOf(all []version, at ...int) (some []version) {
	for _, i := range at {
		some = append(some, all[i])
	}
	return some
}
