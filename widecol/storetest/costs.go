package storetest

import (
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// costRows is the number of rows in the tables whose costs are compared.
const costRows = 100

// costly creates two tables of the same content: u without groups, g with a group for each family.
// Each of costRows rows has one cell in a, three in b, one in c.
func (f *fixture) costly() {
	f.Helper()
	f.create("u", "a", "b", "c")
	f.create("g", "a+", "b+", "c+")
	var versions []version
	for i := range costRows {
		row := fmt.Sprintf("row%03d", i)
		versions = append(versions, version{row, "a", "x", 1, cell.String, "some value"})
		for _, qualifier := range []string{"x", "y", "z"} {
			versions = append(versions, version{row, "b", qualifier, 1, cell.String, "some other value"})
		}
		versions = append(versions, version{row, "c", "x", 1, cell.String, "v"})
	}
	f.writeAll("u", versions)
	f.writeAll("g", versions)
}

// size returns the size of versions, as BytesScanned counts them.
func size(versions []version) int64 {
	n := int64(0)
	for _, v := range versions {
		n += int64(len(v.row) + len(v.family) + 1 + len(v.qualifier) + 8 + len(v.value))
	}
	return n
}

var statsCases = []testCase{
	{"a whole table costs what it holds", func(f *fixture) {
		f.costly()
		for table, partitions := range map[string]int64{"u": 1, "g": 3} {
			a := f.ask(table, everything())
			want := widecol.Stats{
				Rows: costRows, Cells: 5 * costRows, RowsScanned: costRows, CellsScanned: 5 * costRows,
				BytesScanned: size(a.versions), Partitions: partitions,
			}
			if a.stats != want {
				f.Errorf("%s: %+v, want %+v", table, a.stats, want)
			}
		}
	}},
	{"locality groups make a filter read less", func(f *fixture) {
		f.costly()
		u, g := f.ask("u", where(f.columns("a"))), f.ask("g", where(f.columns("a")))
		if u.stats.CellsScanned <= g.stats.CellsScanned || u.stats.BytesScanned <= g.stats.BytesScanned {
			f.Errorf("a filter on one family costs %+v without groups, %+v with", u.stats, g.stats)
		}
		want := widecol.Stats{
			Rows: costRows, Cells: costRows, RowsScanned: costRows, CellsScanned: costRows,
			BytesScanned: size(g.versions), Partitions: 1,
		}
		if g.stats != want {
			f.Errorf("a filter on a family with its own group costs %+v, want %+v", g.stats, want)
		}
	}},
	{"only the partitions are read that can hold a column", func(f *fixture) {
		f.create("t", "a", "b", "c+", "d+e", "cc+")
		f.write("t", "r a:x@1=v", "r b:x@1=v", "r c:x@1=v", "r d:x@1=v", "r e:x@1=v", "r cc:x@1=v")
		for _, tc := range []struct {
			filter widecol.Filter
			want   int64
		}{
			{widecol.Filter{}, 4},
			{f.columns("a"), 1},
			{f.columns("a:x", "b:y"), 1},
			{f.columns("a", "c"), 2},
			{f.columns("d", "e"), 1},
			{f.columns("a", "c", "e"), 3},
			{widecol.PrefixFilter("c"), 2},
			{widecol.PrefixFilter("c:"), 1},
			{widecol.PrefixFilter("d:nothing"), 1},
			{widecol.PrefixFilter("x"), 0},
		} {
			if got := f.ask("t", where(tc.filter)).stats.Partitions; got != tc.want {
				f.Errorf("filter %q reads %d partitions, want %d", tc.filter.Columns.Ranges(), got, tc.want)
			}
		}
	}},
	{"what is not read costs nothing", func(f *fixture) {
		f.costly()
		a := f.ask("g", where(widecol.PrefixFilter("x")))
		if a.stats != (widecol.Stats{}) {
			f.Errorf("a filter that no family passes costs %+v", a.stats)
		}
		for name, q := range map[string]*widecol.Query{
			"no row":              asking(func(q *widecol.Query) { q.Rows = nil }),
			"an empty range":      asking(func(q *widecol.Query) { q.SetRange([]byte("a"), []byte("a")) }),
			"a row limit":         asking(func(q *widecol.Query) { q.RowLimit = 0 }),
			"a cell limit":        asking(func(q *widecol.Query) { q.CellLimit = 0 }),
			"a limit for rows":    asking(func(q *widecol.Query) { q.RowCellLimit = 0 }),
			"a limit for columns": asking(func(q *widecol.Query) { q.ColumnCellLimit = 0 }),
		} {
			if s := f.ask("g", q).stats; s != (widecol.Stats{}) {
				f.Errorf("a query that can return nothing, by %s, costs %+v", name, s)
			}
		}
	}},
	{"what is looked at and not returned costs too", func(f *fixture) {
		f.costly()
		for name, q := range map[string]*widecol.Query{
			"a filter on columns": where(f.columns("b:y")),
			"an offset":           asking(func(q *widecol.Query) { q.Offset = costRows / 2 }),
			"a sample":            asking(func(q *widecol.Query) { q.Sample = 0.5 }),
		} {
			s := f.ask("u", q).stats
			if s.CellsScanned <= s.Cells || s.RowsScanned < s.Rows || s.BytesScanned <= 0 {
				f.Errorf("%s: %+v", name, s)
			}
		}
	}},
	{"values that are left out cost what they are", func(f *fixture) {
		f.costly()
		with := f.ask("u", everything()).stats
		without := f.ask("u", asking(func(q *widecol.Query) { q.KeysOnly = true })).stats
		if with != without {
			f.Errorf("a scan costs %+v with values and %+v without", with, without)
		}
	}},
	{"a scan that ends early costs less", func(f *fixture) {
		f.create("t", "a")
		f.writeAll("t", manyRows(5000))
		for name, q := range map[string]*widecol.Query{
			"a row limit":  asking(func(q *widecol.Query) { q.RowLimit = 1 }),
			"a cell limit": asking(func(q *widecol.Query) { q.CellLimit = 1 }),
			"a key":        asking(func(q *widecol.Query) { q.SetKey([]byte("row02500")) }),
			"a range":      asking(func(q *widecol.Query) { q.SetRange([]byte("row02500"), []byte("row02501")) }),
		} {
			s := f.ask("t", q).stats
			if s.Rows != 1 || s.Cells != 1 || s.RowsScanned < 1 || s.CellsScanned < 1 || s.CellsScanned >= 5000 {
				f.Errorf("%s: %+v", name, s)
			}
		}
	}},
	{"statistics of the cache are numbers", func(f *fixture) {
		f.limited()
		f.want("t", everything(), limitRows...)
		if s := f.store().CacheStats(); s.BlockCount < 0 || s.Bytes < 0 {
			f.Errorf("CacheStats = %+v", s)
		}
	}},
}
