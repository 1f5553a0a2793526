package storetest

import (
	"errors"
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var pageCases = []testCase{
	{"pages: more is said where a limit has cut the answer, and nowhere else", func(f *fixture) {
		f.limited()
		for n := range int64(len(limitRows) + 2) {
			f.wantMore("t", asking(func(q *widecol.Query) { q.CellLimit = n }), n < int64(len(limitRows)))
			f.wantMore("t", asking(func(q *widecol.Query) { q.RowLimit = n }), n < 4)
			f.wantMore("t", asking(func(q *widecol.Query) { q.RowLimit = n; q.Offset = 2 }), n < 2)
			f.wantMore("t", asking(func(q *widecol.Query) { q.RowLimit = n; q.Sample = 0.5 }), n < 2)
			f.wantMore("t", asking(func(q *widecol.Query) { q.RowLimit = n; q.Filter = f.columns("a:y") }), n < 2)
			f.wantMore("t", asking(func(q *widecol.Query) { q.CellLimit = n; q.RowCellLimit = 1 }), n < 4)
		}
		f.wantMore("t", everything(), false)
		for _, change := range []func(q *widecol.Query){
			func(q *widecol.Query) { q.RowCellLimit, q.RowLimit = 0, 1 },
			func(q *widecol.Query) { q.ColumnCellLimit, q.CellLimit = 0, 0 },
			func(q *widecol.Query) { q.Rows, q.RowLimit = nil, 0 },
		} {
			f.wantMore("t", asking(change), false)
		}
	}},
	{"pages: together they are the answer without limits", func(f *fixture) {
		f.limited()
		view := f.view("t")
		defer view.close()
		copies := &widecol.RowFilter{Op: widecol.Interleave, Filters: []*widecol.RowFilter{
			{Op: widecol.PassAll}, {Op: widecol.ApplyLabel, Label: "again"}, {Op: widecol.ColumnLimit, N: 1},
		}}
		changes := map[string]func(q *widecol.Query){
			"all":              func(*widecol.Query) {},
			"a sample":         func(q *widecol.Query) { q.Sample = 0.5 },
			"a sample, offset": func(q *widecol.Query) { q.Sample, q.Offset = 0.75, 1 },
			"an offset":        func(q *widecol.Query) { q.Offset = 2 },
			"columns":          func(q *widecol.Query) { q.Filter = f.columns("a:x", "b") },
			"a column":         func(q *widecol.Query) { q.Filter = f.columns("b") },
			"times":            func(q *widecol.Query) { q.Times.Start = 2 },
			"cells of columns": func(q *widecol.Query) { q.ColumnCellLimit = 2 },
			"cells of rows":    func(q *widecol.Query) { q.RowCellLimit = 4 },
			"several ranges": func(q *widecol.Query) {
				q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte("q")), widecol.RowRange{Start: []byte("r1")})
			},
			"copies":                func(q *widecol.Query) { q.RowFilter = copies },
			"copies, cells of rows": func(q *widecol.Query) { q.RowFilter, q.RowCellLimit = copies, 8 },
			"keys only":             func(q *widecol.Query) { q.KeysOnly = true },
		}
		for name, change := range changes {
			for _, reverse := range []bool{false, true} {
				q := asking(change)
				q.Reverse = reverse
				whole, err := ask(background, view, q, all)
				if err != nil {
					f.Fatal(err)
				}
				for _, sizes := range [][]pageSize{{{1, -1}}, {{2, -1}}, {{3, -1}}, {{-1, 1}}, {{-1, 2}}, {{-1, 3}}, {{-1, 5}}, {{1, 2}}, {{2, 3}, {-1, 1}}, {{1, -1}, {-1, 4}}, {{5, 30}}} {
					if err := samePages(view, *q, sizes, whole.versions); err != nil {
						f.Errorf("%s, reverse %t, pages of %v: %v", name, reverse, sizes, err)
					}
				}
			}
		}
	}},
	{"pages: of a wide row, over blocks and partitions", func(f *fixture) {
		f.create("t", "a", "b+", "c")
		var versions []version
		for _, row := range []string{"r1", "r2"} {
			for _, family := range []string{"a", "b", "c"} {
				for i := range 700 {
					versions = append(versions, version{row, family, fmt.Sprintf("%05d", i), 1, 1, fmt.Sprint(row, family, i)})
				}
			}
		}
		f.writeAll("t", versions)
		view := f.view("t")
		defer view.close()
		for _, sizes := range [][]pageSize{{{-1, 699}}, {{-1, 701}, {-1, 1}}, {{1, 1000}}, {{-1, 2100}}} {
			for _, reverse := range []bool{false, true} {
				want := versions
				if reverse {
					want = reversed(want)
				}
				if err := samePages(view, *asking(func(q *widecol.Query) { q.Reverse = reverse }), sizes, want); err != nil {
					f.Errorf("reverse %t, pages of %v: %v", reverse, sizes, err)
				}
			}
		}
	}},
	{"pages: a limit of 0 returns nothing, and the same place", func(f *fixture) {
		f.limited()
		none := func(q *widecol.Query) { q.RowLimit = 0 }
		a := f.ask("t", asking(none))
		if !a.more || a.at.Row != nil {
			f.Errorf("behind nothing comes %s", a.ending)
		}
		first := f.ask("t", asking(func(q *widecol.Query) { q.CellLimit = 2; q.Offset = 1 }))
		again := f.ask("t", asking(func(q *widecol.Query) { none(q); q.Offset = 1; q.After = &first.at }))
		if err := first.differs(again.ending); err != nil {
			f.Error(err)
		}
	}},
	{"pages: changes in between move nothing", func(f *fixture) {
		f.limited()
		q := asking(func(q *widecol.Query) { q.CellLimit = 5 })
		at := f.ask("t", q).at // behind r a:x@2
		rest := asking(func(q *widecol.Query) { q.After = &at })
		f.want("t", rest, limitRows[5:]...)
		f.write("t", "r a:x@4=new", "r a:w@1=new", "a a:x@1=new")
		f.want("t", rest, limitRows[5:]...)
		f.write("t", "r a:z@1=new", "ra a:x@1=new")
		f.want("t", rest, "r a:x@1=6", "r a:y@1=7", "r a:z@1=new", "r b:x@1=8", "ra a:x@1=new", "s b:x@2=9", "t a:y@1=10", "t b:x@1=11")
		f.remove("t", "ra", widecol.Filter{}, 1)
		f.remove("t", "r", f.columns("a:x"), 4)
		f.want("t", rest, "r a:y@1=7", "r a:z@1=new", "r b:x@1=8", "s b:x@2=9", "t a:y@1=10", "t b:x@1=11")
		f.remove("t", "r", widecol.Filter{}, 4)
		f.want("t", rest, limitRows[8:]...)
		f.remove("t", "s", widecol.Filter{}, 1)
		f.want("t", rest, limitRows[9:]...)
		up := asking(func(q *widecol.Query) { q.After, q.Reverse = &at, true })
		f.want("t", up, "q a:x@2=1", "q a:x@1=2", "q b:x@1=3", "a a:x@1=new")
	}},
	{"pages: a row that has been returned as a whole does not come again", func(f *fixture) {
		f.limited()
		at := f.ask("t", asking(func(q *widecol.Query) { q.RowLimit = 2 })).at
		f.write("t", "r b:y@1=new")
		f.want("t", asking(func(q *widecol.Query) { q.After = &at }), limitRows[8:]...)
	}},
	{"pages: a sample goes on with the rows that it has counted", func(f *fixture) {
		f.create("t", "a")
		versions := f.numbered("t", 12)
		at := f.ask("t", asking(func(q *widecol.Query) { q.RowLimit = 2; q.Sample = 0.34 })).at // 0 and 3
		f.remove("t", versions[4].row, widecol.Filter{}, 1)
		// The rows that are left are 4, 5, … to the sample: it keeps the places 6 and 9.
		f.wantVersions("t", asking(func(q *widecol.Query) { q.Sample = 0.34; q.After = &at }), []version{versions[7], versions[10]})
	}},
	{"pages: a look for more can be interrupted", func(f *fixture) {
		f.create("t", "a", "b")
		f.writeAll("t", append(manyRows(3000), version{"a", "b", "x", 1, cell.String, "v"})) // together, so that no file is without b
		stop := errors.New("stop")
		looking := false
		q := where(f.columns("b"))
		q.RowLimit = 1
		q.Yield = func() error {
			if looking {
				return stop
			}
			return nil
		}
		view := f.view("t")
		defer view.close()
		rows, err := view.Scan(background, q)
		if err != nil {
			f.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
		}
		looking = true
		if _, more := rows.More(); more || !errors.Is(rows.Err(), stop) {
			f.Errorf("More is %t, with the error %v", more, rows.Err())
		}
	}},
}

// wantMore checks whether something comes behind the answer of a query.
func (f *fixture) wantMore(table string, q *widecol.Query, want bool) {
	f.Helper()
	if a := f.ask(table, q); a.more != want {
		f.Errorf("%s: behind %d versions comes %s", &query{Query: *q, chunks: all, text: "query"}, len(a.versions), a.ending)
	}
}
