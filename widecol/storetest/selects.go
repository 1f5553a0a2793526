package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// oddKeys are row keys, in their order. A store puts some of them elsewhere if it joins keys with
// separators or does not compare them as bytes.
var oddKeys = []string{
	"\x00", "\x00\x00", "\x01", " ", "/", "/a", "A", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "a b", "a/", "a/b", "a:", "a:a",
	"a:b:c", "aa", "a\u00ff", "a\U0010ffff", "b", "~", "\u007f", "\u0080", "é", "ÿ", "߿", "ࠀ", "\ue000", "\uffff", "\U00010000",
	"\U0010ffff", "\U0010ffff\x00", "\U0010ffff\U0010ffff",
}

// oddQualifiers are the same for qualifiers.
var oddQualifiers = append([]string{""}, oddKeys...)

// valueOrders has values of each type in ascending order, by the number of the type less one.
var valueOrders = []struct {
	typ    cell.Type
	values []string
}{
	{cell.String, []string{"", "\x00", "a", "a\x00", "aa", "b", "é"}},
	{cell.I64, []string{"\x00\x00\x00\x00\x00\x00\x00\x80", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x01\x00\x00\x00\x00\x00\x00\x00", "\x00\x01\x00\x00\x00\x00\x00\x00"}},
	{cell.Bool, []string{"\x00", "\x01"}},
	{cell.Byte, []string{"\x00", "\x7f", "\x80", "\xff"}},
	{cell.I32, []string{"\x00\x00\x00\x80", "\xff\xff\xff\xff", "\x00\x00\x00\x00", "\xff\x00\x00\x00", "\x00\x01\x00\x00"}},
	{cell.F32, []string{"\x00\x00\xc0\x7f", "\x00\x00\x80\xff", "\x00\x00\x80\xbf", "\x00\x00\x00\x80", "\x00\x00\x80\x3f", "\x00\x00\x80\x7f"}},
	{cell.F64, []string{"\x00\x00\x00\x00\x00\x00\xf8\x7f", "\x00\x00\x00\x00\x00\x00\xf0\xbf", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\xe0\x3f", "\x00\x00\x00\x00\x00\x00\xf0\x3f"}},
	{cell.Bytes, []string{"", "\x00", "\x7f", "\x80", "\xff", "\xff\x00"}},
}

var selectCases = []testCase{
	{"rows are in the order of their bytes", func(f *fixture) {
		f.create("t", "a")
		f.wantVersions("t", everything(), f.writeOddRows("t"))
	}},
	{"columns are in the order of families, then qualifiers", func(f *fixture) {
		f.create("t", "a-b+", "b", "a", "aa+")
		var versions []version
		for _, family := range []string{"a", "a-b", "aa", "b"} {
			for _, qualifier := range oddQualifiers {
				versions = append(versions, version{"r", family, qualifier, 1, cell.String, qualifier})
			}
		}
		f.writeShuffled("t", versions)
		f.wantVersions("t", everything(), versions)
	}},
	{"versions are newest first, and only of their column", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@3=c", "r a:@5=a", "r a:x@9=b", "q a:x@1=q", "r a:xy@7=d")
		f.write("t", "r a:x@4=e", "r a:@6=f")
		f.want("t", everything(), "q a:x@1=q", "r a:@6=f", "r a:@5=a", "r a:x@9=b", "r a:x@4=e", "r a:x@3=c", "r a:xy@7=d")
	}},
	{"a key selects one row", func(f *fixture) {
		f.create("t", "a")
		all := f.writeOddRows("t")
		view := f.view("t")
		defer view.close()
		for _, key := range append([]string{"nothing", "a\x00c", ""}, oddKeys...) {
			q := asking(func(q *widecol.Query) { q.SetKey([]byte(key)) })
			view.wantVersions(q, filtered(all, func(v version) bool { return v.row == key }))
		}
	}},
	{"a prefix selects the rows that start with it", func(f *fixture) {
		f.create("t", "a")
		all := f.writeOddRows("t")
		view := f.view("t")
		defer view.close()
		prefixes := []string{"", "\xff", "\xff\xff", "\xf4", "z"}
		for _, key := range oddKeys {
			for i := range len(key) {
				prefixes = append(prefixes, key[:i+1])
			}
		}
		for _, prefix := range prefixes {
			q := asking(func(q *widecol.Query) { q.SetPrefix([]byte(prefix)) })
			view.wantVersions(q, filtered(all, func(v version) bool { return strings.HasPrefix(v.row, prefix) }))
		}
	}},
	{"a range selects the rows from its start up to its end", func(f *fixture) {
		f.create("t", "a")
		all := f.writeOddRows("t")
		view := f.view("t")
		defer view.close()
		for i, from := range append([]string{"", "a:z"}, oddKeys...) {
			q := asking(func(q *widecol.Query) { q.SetRange([]byte(from), nil) })
			view.wantVersions(q, filtered(all, func(v version) bool { return v.row >= from }))
			for j, to := range append([]string{"a:z", "zzz"}, oddKeys...) {
				if (i+j)%3 != 0 {
					continue
				}
				q.SetRange([]byte(from), []byte(to))
				view.wantVersions(q, filtered(all, func(v version) bool { return v.row >= from && v.row < to }))
			}
		}
	}},
	{"several ranges select their rows, each once and in order", func(f *fixture) {
		f.create("t", "a", "b+")
		all := f.writeOddRows("t")
		more := f.parseAll([]string{"a b:x@1=v", "aa b:x@1=v", "b b:x@1=v"})
		f.writeAll("t", more)
		all = merged(all, more)
		view := f.view("t")
		defer view.close()
		key := func(row string) widecol.RowRange { return widecol.KeyRange([]byte(row)) }
		for _, ranges := range [][]widecol.RowRange{
			{},
			{key("b"), key("a"), key("nothing"), key("a")},
			{{Start: []byte("a/"), End: []byte("a:")}, key("aa"), {Start: []byte("b")}},
			{{End: []byte("a")}, {Start: []byte("a"), End: []byte("a\x00")}, key("~")},
			{{Start: []byte("b"), End: []byte("a")}, {Start: []byte("a"), End: []byte("a")}},
			{widecol.PrefixRange([]byte("a")), widecol.PrefixRange([]byte("a:")), key("A"), key("zzz")},
			{{Start: []byte("zzz")}, {}, key("a")},
		} {
			set := widecol.NewRowSet(ranges...)
			q := asking(func(q *widecol.Query) { q.Rows = set })
			want := filtered(all, func(v version) bool {
				return slices.ContainsFunc(ranges, func(r widecol.RowRange) bool { return r.Contains([]byte(v.row)) })
			})
			view.wantVersions(q, want)
			q.Filter = f.columns("b")
			view.wantVersions(q, filtered(want, func(v version) bool { return v.family == "b" }))
		}
	}},
	{"limits count over all ranges", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "a a:x@1=v", "b a:x@2=v", "b a:x@1=v", "c a:x@1=v", "d a:x@1=v", "e a:x@1=v", "f a:x@1=v")
		with := func(limit func(q *widecol.Query)) *widecol.Query {
			return asking(func(q *widecol.Query) {
				q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte("a")), widecol.KeyRange([]byte("nothing")),
					widecol.RowRange{Start: []byte("b"), End: []byte("d")}, widecol.RowRange{Start: []byte("e")})
				limit(q)
			})
		}
		f.want("t", with(func(q *widecol.Query) { q.RowLimit = 3 }), "a a:x@1=v", "b a:x@2=v", "b a:x@1=v", "c a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.Offset = 2 }), "c a:x@1=v", "e a:x@1=v", "f a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.Sample = 0.5 }), "a a:x@1=v", "c a:x@1=v", "f a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.CellLimit = 5 }), "a a:x@1=v", "b a:x@2=v", "b a:x@1=v", "c a:x@1=v", "e a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.RowCellLimit = 1; q.Offset, q.RowLimit = 1, 2 }), "b a:x@2=v", "c a:x@1=v")
	}},
	{"times select versions, before limits do", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "q a:x@0=0", "r a:x@9=9", "r a:x@7=7", "r a:x@5=5", "r a:y@7=7", "r b:x@4=4", "s b:x@9223372036854775806=m")
		during := func(start, end int64, more func(q *widecol.Query)) *widecol.Query {
			return asking(func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: start, End: end}; more(q) })
		}
		none := func(*widecol.Query) {}
		f.want("t", during(5, 9, none), "r a:x@7=7", "r a:x@5=5", "r a:y@7=7")
		f.want("t", during(0, 5, none), "q a:x@0=0", "r b:x@4=4")
		f.want("t", during(8, math.MaxInt64, none), "r a:x@9=9", "s b:x@9223372036854775806=m")
		f.want("t", during(6, 6, none))
		f.want("t", during(7, 6, none))
		f.want("t", during(0, 9, func(q *widecol.Query) { q.ColumnCellLimit = 1 }), "q a:x@0=0", "r a:x@7=7", "r a:y@7=7", "r b:x@4=4")
		f.want("t", during(4, 8, func(q *widecol.Query) { q.ColumnCellLimit = 1 }), "r a:x@7=7", "r a:y@7=7", "r b:x@4=4")
		f.want("t", during(0, 8, func(q *widecol.Query) { q.RowCellLimit = 2 }), "q a:x@0=0", "r a:x@7=7", "r a:x@5=5")
		f.want("t", during(4, 8, func(q *widecol.Query) { q.RowLimit = 1 }), "r a:x@7=7", "r a:x@5=5", "r a:y@7=7", "r b:x@4=4")
	}},
	{"times do not bring back garbage", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 1})
		f.write("t", "r a:x@1=1", "r a:x@2=2", "r a:x@3=3")
		f.want("t", asking(func(q *widecol.Query) { q.Times.End = 3 }))
		f.want("t", asking(func(q *widecol.Query) { q.Times.Start = 3 }), "r a:x@3=3")
	}},
	{"a value selects versions of its type", func(f *fixture) {
		f.create("t", "a", "b+")
		for _, of := range valueOrders {
			var all []version
			for i, value := range of.values {
				all = append(all, version{"r", "a", fmt.Sprintf("%s%02d", of.typ, i), 1, of.typ, value})
			}
			f.writeAll("t", all)
			other := version{"r", "b", "other", 1, cell.Type(1 + int(of.typ)%8), ""}
			other.value = valueOrders[other.typ-1].values[0]
			f.writeAll("t", []version{other})
			for i, value := range of.values {
				for op, keep := range map[widecol.Comparison]func(j int) bool{
					widecol.Equal: func(j int) bool { return j == i }, widecol.NotEqual: func(j int) bool { return j != i },
					widecol.Less: func(j int) bool { return j < i }, widecol.LessOrEqual: func(j int) bool { return j <= i },
					widecol.Greater: func(j int) bool { return j > i }, widecol.GreaterOrEqual: func(j int) bool { return j >= i },
				} {
					var want []version
					for j := range all {
						if keep(j) {
							want = append(want, all[j])
						}
					}
					f.wantVersions("t", asking(func(q *widecol.Query) {
						q.Value = &widecol.ValueFilter{Op: op, Type: of.typ, Value: []byte(value)}
					}), want)
				}
			}
			f.remove("t", "r", widecol.Filter{}, int64(len(all)+1))
		}
	}},
	{"a value can be asked for without values", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "q a:x@2=no", "q a:x@1=yes", "r b:x@1=yes", "s a:x@1=no")
		a := f.ask("t", asking(func(q *widecol.Query) {
			q.KeysOnly, q.ColumnCellLimit = true, 1
			q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("yes")}
		}))
		for i := range a.versions {
			a.versions[i].value = "" // it may be there
		}
		if err := diff(a.versions, f.parseAll([]string{"q a:x@1=", "r b:x@1="})); err != nil {
			f.Error(err)
		}
	}},
	{"a column key selects one column", func(f *fixture) {
		f.create("t", "a", "b+")
		all := f.writeOddColumns("t")
		view := f.view("t")
		defer view.close()
		for _, qualifier := range oddQualifiers[1:] {
			view.wantVersions(where(f.columns("a:"+qualifier)),
				filtered(all, func(v version) bool { return v.family == "a" && v.qualifier == qualifier }))
		}
		view.want(where(f.columns("a:nothing")))
	}},
	{"the column with the empty qualifier can be selected alone", func(f *fixture) {
		f.create("t", "a", "b+")
		all := f.writeOddColumns("t")
		for _, family := range []string{"a", "b"} {
			columns := cell.NewColumns(cell.ColumnRange([]byte(family), nil))
			f.wantVersions("t", where(widecol.Filter{Columns: columns}),
				filtered(all, func(v version) bool { return v.family == family && v.qualifier == "" }))
		}
	}},
	{"a family selects its columns, and not those of one that starts alike", func(f *fixture) {
		f.create("t", "a", "a-b", "aa+", "b")
		f.write("t", "r a:@1=1", "r a:x@1=2", "r a-b:x@1=3", "r aa:x@1=4", "r b:x@1=5", "s aa:x@1=6")
		for _, key := range []string{"a", "a:"} {
			f.want("t", where(f.columns(key)), "r a:@1=1", "r a:x@1=2")
		}
		f.want("t", where(f.columns("aa")), "r aa:x@1=4", "s aa:x@1=6")
		f.want("t", where(f.columns("a-b:")), "r a-b:x@1=3")
	}},
	{"several column keys select all of them, once", func(f *fixture) {
		f.create("t", "a", "b+", "c")
		f.write("t", "r a:x@1=1", "r a:y@1=2", "r b:x@1=3", "r b:y@1=4", "r c:x@1=5")
		f.want("t", where(f.columns("c:x", "a:y", "b:x", "a:y")), "r a:y@1=2", "r b:x@1=3", "r c:x@1=5")
		f.want("t", where(f.columns("b:x", "b", "b:nothing")), "r b:x@1=3", "r b:y@1=4")
		f.want("t", where(f.columns("a:nothing", "c:x")), "r c:x@1=5")
	}},
	{"no column key selects nothing", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=1")
		f.want("t", where(f.columns()))
	}},
	{"a filter may not name an unknown family", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=1")
		view := f.view("t")
		defer view.close()
		for i, keys := range [][]string{{"c:x"}, {"a", "c"}, {"a:x", "b:x", "aa:x", "c:x"}} {
			rows, err := view.Scan(background, where(f.columns(keys...)))
			f.refused(err, widecol.NotFound, "unknown_column_family", i)
			if err == nil {
				rows.Close()
			}
		}
		view.want(everything(), "r a:x@1=1")
	}},
	{"a prefix selects the columns whose text starts with it", func(f *fixture) {
		f.create("t", "a", "b+", "aa+", "a-b")
		all := f.writeOddColumns("t")
		more := f.parseAll([]string{"r aa:x@1=v", "r a-b:@1=v", "r a-b:a@1=v"})
		f.writeAll("t", more)
		all = merged(all, more)
		view := f.view("t")
		defer view.close()
		prefixes := []string{"", ":", "c", "c:", "a\x00", "aa:x", "a-", "b\x00:", "a:\xff"}
		for _, qualifier := range oddQualifiers {
			key := "a:" + qualifier
			for i := range len(key) {
				prefixes = append(prefixes, key[:i+1])
			}
		}
		for _, prefix := range prefixes {
			view.wantVersions(where(widecol.PrefixFilter(prefix)),
				filtered(all, func(v version) bool { return strings.HasPrefix(v.family+":"+v.qualifier, prefix) }))
		}
	}},
	{"rows without a selected cell are not there", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "q a:x@1=v", "r b:x@1=v", "s a:y@1=v", "t a:x@1=v")
		f.want("t", where(f.columns("a:x")), "q a:x@1=v", "t a:x@1=v")
		f.want("t", where(f.columns("b")), "r b:x@1=v")
	}},
	{"values can be left out", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "q a:x@1=v", "q b:x@1=v", "r a:x@3=v", "r a:x@2=v")
		a := f.ask("t", asking(func(q *widecol.Query) { q.KeysOnly = true }))
		if err := diff(a.versions, f.parseAll([]string{"q a:x@1=", "q b:x@1=", "r a:x@3=", "r a:x@2="})); err != nil {
			f.Error(err)
		}
	}},
	{"a row of many cells comes whole", func(f *fixture) {
		f.create("t", "a", "b+")
		var versions []version
		for _, row := range []string{"q", "r"} {
			for _, family := range []string{"a", "b"} {
				for i := range 1500 {
					versions = append(versions, version{row, family, fmt.Sprintf("%05d", i/3), int64(9 - i%3), cell.String, "v"})
				}
			}
		}
		f.writeAll("t", versions)
		f.wantVersions("t", everything(), versions)
		f.wantVersions("t", where(f.columns("b")), filtered(versions, func(v version) bool { return v.family == "b" }))
	}},
	{"a row of large values comes whole", func(f *fixture) {
		f.create("t", "a", "b+")
		var versions []version
		for i := range 16 {
			value := strings.Repeat(fmt.Sprintf("%08d", i*7919), 25_000)
			versions = append(versions, version{"r", []string{"a", "b"}[i/8], fmt.Sprintf("%02d", i), 1, cell.String, value})
		}
		f.writeAll("t", versions)
		f.wantVersions("t", everything(), versions)
		f.wantVersions("t", where(f.columns("b:11")), versions[11:12])
	}},
}

// writeOddRows writes a version to each of the odd row keys and returns them.
func (f *fixture) writeOddRows(table string) []version {
	f.Helper()
	var versions []version
	for i, key := range oddKeys {
		versions = append(versions, version{key, "a", "x", 1, cell.String, fmt.Sprint(i)})
	}
	f.writeShuffled(table, versions)
	return versions
}

// writeOddColumns writes a version to each of the odd qualifiers, in families a
// and b.
func (f *fixture) writeOddColumns(table string) []version {
	f.Helper()
	var versions []version
	for _, family := range []string{"a", "b"} {
		for i, qualifier := range oddQualifiers {
			versions = append(versions, version{"r", family, qualifier, 1, cell.String, fmt.Sprint(i)})
		}
	}
	f.writeShuffled(table, versions)
	return versions
}

// writeShuffled writes versions out of order, in two requests.
func (f *fixture) writeShuffled(table string, versions []version) {
	f.Helper()
	var parts [2][]version
	for i := len(versions) - 1; i >= 0; i-- {
		parts[i%2] = append(parts[i%2], versions[i])
	}
	for _, part := range parts {
		f.writeAll(table, part)
	}
}

func filtered(versions []version, keep func(version) bool) []version {
	var kept []version
	for _, v := range versions {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// merged returns the versions of both lists, in order.
func merged(a, b []version) []version {
	return slices.SortedFunc(slices.Values(slices.Concat(a, b)), version.compare)
}
