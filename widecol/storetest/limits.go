package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// limitRows are the versions of the limit cases.
var limitRows = []string{
	"q a:x@2=1", "q a:x@1=2", "q b:x@1=3",
	"r a:x@3=4", "r a:x@2=5", "r a:x@1=6", "r a:y@1=7", "r b:x@1=8",
	"s b:x@2=9",
	"t a:y@1=10", "t b:x@1=11",
}

// limited creates a table of limitRows, with one of its families in a group.
func (f *fixture) limited() {
	f.Helper()
	f.create("t", "a", "b+")
	f.write("t", limitRows...)
}

var limitCases = []testCase{
	{"column cell limit: so many versions of each column", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.ColumnCellLimit = 1 }),
			"q a:x@2=1", "q b:x@1=3", "r a:x@3=4", "r a:y@1=7", "r b:x@1=8", "s b:x@2=9", "t a:y@1=10", "t b:x@1=11")
		f.want("t", asking(func(q *widecol.Query) { q.ColumnCellLimit = 2; q.SetKey([]byte("r")) }),
			"r a:x@3=4", "r a:x@2=5", "r a:y@1=7", "r b:x@1=8")
		f.want("t", asking(func(q *widecol.Query) { q.ColumnCellLimit = 0 }))
	}},
	{"row cell limit: so many versions of each row", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.RowCellLimit = 1 }),
			"q a:x@2=1", "r a:x@3=4", "s b:x@2=9", "t a:y@1=10")
		f.want("t", asking(func(q *widecol.Query) { q.RowCellLimit = 4; q.SetPrefix([]byte("r")) }),
			"r a:x@3=4", "r a:x@2=5", "r a:x@1=6", "r a:y@1=7")
		f.want("t", asking(func(q *widecol.Query) { q.RowCellLimit = 0 }))
	}},
	{"row limit: so many rows", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.RowLimit = 1 }), limitRows[:3]...)
		f.want("t", asking(func(q *widecol.Query) { q.RowLimit = 3 }), limitRows[:9]...)
		f.want("t", asking(func(q *widecol.Query) { q.RowLimit = 4 }), limitRows...)
		f.want("t", asking(func(q *widecol.Query) { q.RowLimit = 0 }))
	}},
	{"offset: rows left out", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.Offset = 1 }), limitRows[3:]...)
		f.want("t", asking(func(q *widecol.Query) { q.Offset = 3 }), limitRows[9:]...)
		f.want("t", asking(func(q *widecol.Query) { q.Offset = 4 }))
		f.want("t", asking(func(q *widecol.Query) { q.Offset, q.RowLimit = 2, 1 }), limitRows[8:9]...)
	}},
	{"cell limit: so many versions in all", func(f *fixture) {
		f.limited()
		for n := range len(limitRows) + 2 {
			f.want("t", asking(func(q *widecol.Query) { q.CellLimit = int64(n) }), limitRows[:min(n, len(limitRows))]...)
		}
	}},
	{"column cell limit comes before row cell limit", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.ColumnCellLimit, q.RowCellLimit = 1, 2 }),
			"q a:x@2=1", "q b:x@1=3", "r a:x@3=4", "r a:y@1=7", "s b:x@2=9", "t a:y@1=10", "t b:x@1=11")
	}},
	{"the filter comes before all limits", func(f *fixture) {
		f.limited()
		q := where(f.columns("a:y", "b"))
		q.RowCellLimit, q.RowLimit, q.Offset = 1, 2, 1
		f.want("t", q, "r a:y@1=7", "s b:x@2=9")
		q = where(f.columns("a:y"))
		q.RowLimit = 2
		f.want("t", q, "r a:y@1=7", "t a:y@1=10")
		q.Offset = 1
		f.want("t", q, "t a:y@1=10")
	}},
	{"cell limit counts what the other limits leave", func(f *fixture) {
		f.limited()
		f.want("t", asking(func(q *widecol.Query) { q.CellLimit, q.Offset, q.RowCellLimit = 4, 1, 2 }),
			"r a:x@3=4", "r a:x@2=5", "s b:x@2=9", "t a:y@1=10")
		f.want("t", asking(func(q *widecol.Query) { q.CellLimit, q.ColumnCellLimit = 3, 1 }),
			"q a:x@2=1", "q b:x@1=3", "r a:x@3=4")
		f.want("t", asking(func(q *widecol.Query) { q.CellLimit, q.RowLimit, q.Offset = 4, 1, 1 }), limitRows[3:7]...)
	}},
	{"all limits together, against the model", func(f *fixture) {
		f.limited()
		v := f.model("t", limitRows)
		defer v.subject.Close()
		columns := []widecol.Filter{{}, f.columns("a:x", "b"), widecol.PrefixFilter("a:")}
		for _, filter := range columns {
			for _, columnCells := range []int64{widecol.NoLimit, 0, 1, 2} {
				for _, rowCells := range []int64{widecol.NoLimit, 0, 1, 3} {
					v.tryRows(f, *asking(func(q *widecol.Query) { q.Filter, q.ColumnCellLimit, q.RowCellLimit = filter, columnCells, rowCells }))
				}
			}
		}
	}},
	{"sample: every so many rows, beginning with the first", func(f *fixture) {
		f.create("t", "a")
		versions := f.numbered("t", 12)
		for _, tc := range []struct {
			sample float64
			rows   []int
		}{
			{1, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
			{0.75, []int{0, 2, 3, 4, 6, 7, 8, 10, 11}},
			{0.5, []int{0, 2, 4, 6, 8, 10}},
			{0.34, []int{0, 3, 6, 9}},
			{1.0 / 3, []int{0, 3, 6, 9}},
			{0.1, []int{0, 10}},
			{0.01, []int{0}},
		} {
			var want []version
			for _, i := range tc.rows {
				want = append(want, versions[i])
			}
			f.wantVersions("t", asking(func(q *widecol.Query) { q.Sample = tc.sample }), want)
		}
	}},
	{"sample: exact in number", func(f *fixture) {
		f.create("t", "a")
		f.numbered("t", 1000)
		for _, tc := range []struct {
			sample float64
			want   int64
		}{{0.5, 500}, {0.29, 290}, {0.1, 100}, {0.07, 70}, {0.999, 999}, {0.001, 1}} {
			a := f.ask("t", asking(func(q *widecol.Query) { q.Sample = tc.sample }))
			if a.stats.Rows != tc.want {
				f.Errorf("a sample of %v of 1000 rows has %d, want %d", tc.sample, a.stats.Rows, tc.want)
			}
		}
	}},
	{"sample: of the rows that would be returned, before offset and limit", func(f *fixture) {
		f.create("t", "a", "b+")
		versions := f.numbered("t", 20)
		for i := range 20 { // half of the rows have b
			if i%2 == 0 {
				f.writeAll("t", []version{{versions[i].row, "b", "x", 1, cell.String, "v"}})
			}
		}
		q := where(f.columns("b"))
		q.Sample = 0.5
		f.want("t", q, "row000 b:x@1=v", "row004 b:x@1=v", "row008 b:x@1=v", "row012 b:x@1=v", "row016 b:x@1=v")
		q.Offset, q.RowLimit = 1, 2
		f.want("t", q, "row004 b:x@1=v", "row008 b:x@1=v")
		q.SetRange([]byte("row003"), []byte("row014"))
		f.want("t", q, "row008 b:x@1=v", "row012 b:x@1=v")
		q.CellLimit = 1
		f.want("t", q, "row008 b:x@1=v")
	}},
	{"offset and limit page through all rows", func(f *fixture) {
		f.create("t", "a")
		versions := f.numbered("t", 50)
		view := f.view("t")
		defer view.close()
		for _, size := range []int{1, 7, 25, 49, 50, 51} {
			for at := 0; at < 60; at += size {
				q := asking(func(q *widecol.Query) { q.Offset, q.RowLimit = int64(at), int64(size) })
				view.wantVersions(q, versions[min(at, 50):min(at+size, 50)])
			}
		}
	}},
	{"a scan goes on behind the last row", func(f *fixture) {
		f.create("t", "a")
		want := f.writeOddRows("t")
		view := f.view("t")
		defer view.close()
		var got []version
		q := asking(func(q *widecol.Query) { q.RowLimit = 3 })
		for {
			a, err := ask(background, view, q, all)
			if err != nil {
				f.Fatal(err)
			}
			if len(a.versions) == 0 {
				break
			}
			got = append(got, a.versions...)
			q.SetRange([]byte(got[len(got)-1].row+"\x00"), nil)
		}
		if err := diff(got, want); err != nil {
			f.Error(err)
		}
	}},
}

// numbered writes n rows with one cell each.
func (f *fixture) numbered(table string, n int) []version {
	f.Helper()
	var versions []version
	for i := range n {
		versions = append(versions, version{fmt.Sprintf("row%03d", i), "a", "x", 1, cell.String, "v"})
	}
	f.writeAll(table, versions)
	return versions
}

// model opens a view of a table and one of a model with the same content, in the families a and b.
func (f *fixture) model(table string, texts []string) heldView {
	f.Helper()
	m := memstore.New(memstore.Options{Now: f.clock.Now})
	w := write{table: table, versions: f.parseAll(texts)}
	if err := m.CreateTable(background, table, spec("a", "b")); err != nil {
		f.Fatal(err)
	}
	if _, err := w.apply(m, nil, 0); err != nil {
		f.Fatal(err)
	}
	v, err := m.View(background, table)
	if err != nil {
		f.Fatal(err)
	}
	return heldView{subject: f.view(table).View, model: v}
}

// tryRows runs a query with all combinations of limits on rows.
func (v heldView) tryRows(f *fixture, q widecol.Query) {
	f.Helper()
	for _, q.Sample = range []float64{1, 0.5, 0.3} {
		for _, q.RowLimit = range []int64{widecol.NoLimit, 0, 1, 3} {
			for _, q.Offset = range []int64{0, 1, 3} {
				for _, q.CellLimit = range []int64{widecol.NoLimit, 0, 1, 4, 7} {
					for _, q.Reverse = range []bool{false, true} {
						if err := v.scan(&q, all); err != nil {
							f.Fatalf("%s: %v", &query{Query: q, chunks: all, text: "query"}, err)
						}
					}
				}
			}
		}
	}
}
