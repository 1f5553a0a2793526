package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// down returns a query for all rows in descending order, changed by more.
func down(more ...func(q *widecol.Query)) *widecol.Query {
	return asking(func(q *widecol.Query) {
		q.Reverse = true
		for _, change := range more {
			change(q)
		}
	})
}

// reversed returns versions with their rows in the other order. Those of a row stay in order.
func reversed(versions []version) []version {
	back := slices.Clone(versions)
	slices.SortStableFunc(back, func(v, w version) int { return strings.Compare(w.row, v.row) })
	return back
}

var reverseCases = []testCase{
	{"reverse: rows descend, the cells of each stay in order", func(f *fixture) {
		f.limited()
		f.want("t", down(), "t a:y@1=10", "t b:x@1=11", "s b:x@2=9",
			"r a:x@3=4", "r a:x@2=5", "r a:x@1=6", "r a:y@1=7", "r b:x@1=8", "q a:x@2=1", "q a:x@1=2", "q b:x@1=3")
		f.want("t", down(func(q *widecol.Query) { q.Filter = f.columns("b") }), "t b:x@1=11", "s b:x@2=9", "r b:x@1=8", "q b:x@1=3")
	}},
	{"reverse: limits, offset and sample count from the last row", func(f *fixture) {
		f.limited()
		f.want("t", down(func(q *widecol.Query) { q.RowLimit = 2 }), "t a:y@1=10", "t b:x@1=11", "s b:x@2=9")
		f.want("t", down(func(q *widecol.Query) { q.Offset = 2; q.RowCellLimit = 1 }), "r a:x@3=4", "q a:x@2=1")
		f.want("t", down(func(q *widecol.Query) { q.CellLimit = 4 }), "t a:y@1=10", "t b:x@1=11", "s b:x@2=9", "r a:x@3=4")
		f.want("t", down(func(q *widecol.Query) { q.Sample, q.RowCellLimit = 0.5, 1 }), "t a:y@1=10", "r a:x@3=4")
		f.want("t", down(func(q *widecol.Query) { q.Offset, q.RowLimit, q.ColumnCellLimit = 2, 1, 1 }), "r a:x@3=4", "r a:y@1=7", "r b:x@1=8")
		f.want("t", down(func(q *widecol.Query) { q.RowLimit = 0 }))
	}},
	{"reverse: keys, prefixes and ranges select the same rows", func(f *fixture) {
		f.create("t", "a")
		all := f.writeOddRows("t")
		view := f.view("t")
		defer view.close()
		view.wantVersions(down(), reversed(all))
		for i, from := range append([]string{"", "a:z"}, oddKeys...) {
			view.wantVersions(down(func(q *widecol.Query) { q.SetKey([]byte(from)) }), filtered(all, func(v version) bool { return v.row == from }))
			view.wantVersions(down(func(q *widecol.Query) { q.SetPrefix([]byte(from)) }),
				reversed(filtered(all, func(v version) bool { return strings.HasPrefix(v.row, from) })))
			view.wantVersions(down(func(q *widecol.Query) { q.SetRange([]byte(from), nil) }),
				reversed(filtered(all, func(v version) bool { return v.row >= from })))
			for j, to := range append([]string{"a:z", "zzz"}, oddKeys...) {
				if (i+j)%3 == 0 {
					view.wantVersions(down(func(q *widecol.Query) { q.SetRange([]byte(from), []byte(to)) }),
						reversed(filtered(all, func(v version) bool { return v.row >= from && v.row < to })))
				}
			}
		}
	}},
	{"reverse: of several ranges the last comes first", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "a a:x@1=v", "b a:x@2=v", "b b:x@1=v", "c b:x@1=v", "d a:x@1=v", "e a:x@1=v", "f b:x@1=v")
		with := func(change func(q *widecol.Query)) *widecol.Query {
			return down(func(q *widecol.Query) {
				q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte("a")), widecol.KeyRange([]byte("nothing")),
					widecol.RowRange{Start: []byte("b"), End: []byte("d")}, widecol.RowRange{Start: []byte("e")})
				change(q)
			})
		}
		f.want("t", with(func(*widecol.Query) {}), "f b:x@1=v", "e a:x@1=v", "c b:x@1=v", "b a:x@2=v", "b b:x@1=v", "a a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.RowLimit = 3 }), "f b:x@1=v", "e a:x@1=v", "c b:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.Offset = 3 }), "b a:x@2=v", "b b:x@1=v", "a a:x@1=v")
		f.want("t", with(func(q *widecol.Query) { q.Filter = f.columns("b") }), "f b:x@1=v", "c b:x@1=v", "b b:x@1=v")
	}},
	{"reverse: every row of a large table, narrow and wide", func(f *fixture) {
		f.create("t", "a", "b+")
		var versions []version
		for i := range 1500 {
			row := fmt.Sprintf("row%05d", i)
			versions = append(versions, version{row, "a", "x", 1, cell.String, strings.Repeat(row, 4)})
			if i%100 == 7 { // rows over several blocks
				for k := range 300 {
					versions = append(versions, version{row, "b", fmt.Sprintf("%05d", k), 1, cell.String, "value"})
				}
			}
		}
		f.writeAll("t", versions)
		view := f.view("t")
		defer view.close()
		back := reversed(versions)
		view.wantVersions(down(), back)
		b := func(v version) bool { return v.family == "b" }
		view.wantVersions(down(func(q *widecol.Query) { q.Filter = f.columns("b") }), filtered(back, b))
		for _, n := range []int{1, 2, 63, 64, 65, 700, 1499} { // from everywhere
			end := []byte(fmt.Sprintf("row%05d", n))
			below := filtered(back, func(v version) bool { return v.row < string(end) })
			view.wantVersions(down(func(q *widecol.Query) { q.SetRange(nil, end); q.CellLimit = 200 }), below[:min(200, len(below))])
		}
	}},
	{"reverse: deleted rows and garbage are not there", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 1})
		f.write("t", "p a:x@1=v", "q a:x@1=old", "q a:x@2=v", "r a:x@1=v", "s a:x@1=v")
		f.remove("t", "r", widecol.Filter{}, 1)
		f.remove("t", "s", widecol.Filter{}, 1)
		f.write("t", "s a:x@1=again")
		f.want("t", down(), "s a:x@1=again", "q a:x@2=v", "p a:x@1=v")
		f.want("t", down(func(q *widecol.Query) { q.RowLimit = 2 }), "s a:x@1=again", "q a:x@2=v")
	}},
	{"reverse: a scan goes on before the last row", func(f *fixture) {
		f.create("t", "a")
		want := reversed(f.writeOddRows("t"))
		view := f.view("t")
		defer view.close()
		var got []version
		q := down(func(q *widecol.Query) { q.RowLimit = 3 })
		for {
			a, err := ask(background, view, q, all)
			if err != nil {
				f.Fatal(err)
			}
			if len(a.versions) == 0 {
				break
			}
			got = append(got, a.versions...)
			q.SetRange(nil, []byte(got[len(got)-1].row))
		}
		if err := diff(got, want); err != nil {
			f.Error(err)
		}
	}},
	{"reverse: a whole table costs what it holds, a scan that ends early less", func(f *fixture) {
		f.costly()
		for _, table := range []string{"u", "g"} {
			if up, down := f.ask(table, everything()).stats, f.ask(table, down()).stats; up != down {
				f.Errorf("%s: a reverse scan costs %+v, a forward one %+v", table, down, up)
			}
		}
		s := f.ask("u", down(func(q *widecol.Query) { q.RowLimit = 1 })).stats
		if s.Rows != 1 || s.CellsScanned < 5 || s.CellsScanned >= 5*costRows {
			f.Errorf("a row limit: %+v", s)
		}
	}},
}
