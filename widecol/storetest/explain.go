package storetest

import (
	"fmt"
	"hash/fnv"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// explained returns a query that is asked for: one in three has an Explain. The text of a query decides, so that it is
// the same whenever it is asked.
func explained(q *widecol.Query) *widecol.Query {
	hash := fnv.New32a()
	fmt.Fprint(hash, (&query{Query: *q}).String(), q.Rows)
	if q.Explain != nil || hash.Sum32()%3 > 0 {
		return q
	}
	c := *q
	c.Explain = new(widecol.Explain)
	return &c
}

// checkExplain compares what a Store says of a query that was asked for alone with its answer.
func (r *reader) checkExplain(s widecol.Stats, whole bool) error {
	q, e := r.query, r.query.Explain
	ended := int64(0)
	for reason, n := range e.Ended {
		ended += n
		if n < 0 || n > 0 && whole && !r.mayEnd(widecol.EndReason(reason), s) {
			return fmt.Errorf("the query has ended for the reason %s", widecol.EndReason(reason))
		}
	}
	if ended != 1 {
		return fmt.Errorf("the query has ended %d times", ended)
	}
	if int64(len(e.Partitions)) != s.Partitions {
		return fmt.Errorf("%d partitions were read, %d in the statistics", len(e.Partitions), s.Partitions)
	}
	cells, bytes := int64(0), int64(0)
	names := make(map[string]bool)
	for _, p := range e.Partitions {
		if cells, bytes = cells+p.CellsScanned, bytes+p.BytesScanned; p.Name == "" || names[p.Name] {
			return fmt.Errorf("a partition is called %q", p.Name)
		}
		names[p.Name] = true
	}
	if whole && (cells != s.CellsScanned || bytes != s.BytesScanned) {
		return fmt.Errorf("%d cells and %d bytes were scanned in partitions, %+v in the statistics", cells, bytes, s)
	}
	if q.RowFilter != nil || !whole {
		return nil
	}
	known := s.Cells + e.Tombstones + e.Dropped.Sum()
	if known > cells || r.complete() && known != cells {
		return fmt.Errorf("%d cells are accounted for, %d were scanned: %d returned, %d tombstones, dropped %+v", known, cells, s.Cells, e.Tombstones, e.Dropped)
	}
	return nil
}

// complete reports whether nothing but the cells themselves decides what of them is returned.
func (r *reader) complete() bool {
	q := r.query
	return q.ColumnCellLimit == widecol.NoLimit && q.RowCellLimit == widecol.NoLimit && q.RowLimit == widecol.NoLimit && q.CellLimit == widecol.NoLimit &&
		q.Offset == 0 && q.Sample == 1 && q.After == nil && q.RowFilter == nil
}

// mayEnd reports whether a query that was read to its end may have ended for a reason.
func (r *reader) mayEnd(reason widecol.EndReason, s widecol.Stats) bool {
	q := r.query
	zero := len(q.Rows) == 0 || q.ColumnCellLimit == 0 || q.RowCellLimit == 0 || q.RowLimit == 0 || q.CellLimit == 0
	cells, rows := int64(len(r.versions)) == q.CellLimit, r.rows == q.RowLimit
	switch reason {
	case widecol.EndNothing:
		return s.Partitions == 0
	case widecol.EndCellLimit:
		return !zero && cells
	case widecol.EndRowLimit:
		return !zero && !cells && rows
	case widecol.EndInOffset:
		return !zero && q.Offset > 0 && r.rows == 0
	case widecol.EndOfFilterRows:
		return !zero && !cells && !rows && q.RowFilter != nil
	case widecol.EndOfRows:
		return !zero && !cells && !rows
	}
	return false // it has not failed, and was not stopped
}

// explainsAs compares what two Stores say that they dropped, where the answer decides that.
func (a *answer) explainsAs(got answer, q *widecol.Query) error {
	if a.explain == nil || got.explain == nil || !(&reader{query: q}).complete() {
		return nil
	}
	if got, want := got.explain.Dropped.Values, a.explain.Dropped.Values; got != want {
		return fmt.Errorf("%d versions were dropped by their value, should be %d", got, want)
	}
	return nil
}

// explain asks for a query and returns what the Store says of it.
func (f *fixture) explain(table string, q *widecol.Query) *widecol.Explain {
	f.Helper()
	c := *q
	c.Explain = new(widecol.Explain)
	f.ask(table, &c)
	return c.Explain
}

// explainRows are the versions of some cases: in two families, with numbers from 0 to 9 as values.
func (f *fixture) explainRows() {
	f.Helper()
	f.create("t", "a", "b+")
	var versions []version
	for i := range 10 {
		for _, family := range []string{"a", "b"} {
			for _, qualifier := range []string{"x", "y"} {
				versions = append(versions, version{fmt.Sprintf("row%d", i), family, qualifier, 1, cell.String, fmt.Sprint(i)})
			}
		}
	}
	f.writeAll("t", versions)
}

var explainCases = []testCase{
	{"explain: what a query drops by its value is counted", func(f *fixture) {
		f.explainRows()
		for _, tc := range []struct {
			q    *widecol.Query
			want int64
		}{
			{everything(), 0},
			{asking(func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Less, Type: cell.String, Value: []byte("3")}
			}), 28},
			{asking(func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.I64, Value: make([]byte, 8)}
				q.Filter = f.columns("a", "b:x")
			}), 30},
			{asking(func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("3")}
				q.Times = widecol.TimeRange{Start: 2, End: 3}
			}), 0},
			{asking(func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("3")}
				q.SetRange([]byte("row3"), []byte("row5"))
				q.Reverse = true
			}), 4},
		} {
			if e := f.explain("t", tc.q); e.Dropped.Values != tc.want {
				f.Errorf("%s: %d versions dropped by their value, want %d", &query{Query: *tc.q, chunks: all}, e.Dropped.Values, tc.want)
			}
		}
	}},
	{"explain: what a filter tree drops is counted", func(f *fixture) {
		f.explainRows()
		three := regexOf(widecol.ValueRegex, "3")
		for _, tc := range []struct {
			tree *widecol.RowFilter
			want int64
		}{
			{passTree, 0},
			{three, 36},
			{chainOf(three, stripTree, labelOf("l")), 36},
			{interleaveOf(three, three, labelOf("l")), 0},
			{interleaveOf(three, regexOf(widecol.ValueRegex, "4")), 32},
		} {
			if e := f.explain("t", through(tc.tree)); e.Dropped.RowFilter != tc.want {
				f.Errorf("%s: %d versions dropped, want %d", treeText(tc.tree), e.Dropped.RowFilter, tc.want)
			}
		}
	}},
	{"explain: each cell is accounted for", func(f *fixture) {
		f.explainRows()
		f.ok(f.store().AlterFamily(background, "t", "b", widecol.ChangeGC(widecol.GC{VersionLimit: 1})))
		f.write("t", "row1 b:x@2=new", "row2 a:x@1=again", "row3 b:x@5=new", "row3 b:y@5=3")
		f.remove("t", "row4", widecol.Filter{}, 4)
		f.remove("t", "row5", f.columns("a:x"), 1)
		for name, q := range map[string]*widecol.Query{
			"everything": everything(),
			"a family":   where(f.columns("b")),
			"columns":    where(f.columns("a:x", "b:y")),
			"times":      asking(func(q *widecol.Query) { q.Times.Start = 2 }),
			"a row":      asking(func(q *widecol.Query) { q.SetKey([]byte("row3")) }),
			"all of it": asking(func(q *widecol.Query) {
				q.Times.End, q.Reverse, q.Filter = 5, true, f.columns("b:x", "a")
				q.Value = &widecol.ValueFilter{Op: widecol.Less, Type: cell.String, Value: []byte("3")}
			}),
		} {
			q.Explain = new(widecol.Explain)
			stats := f.ask("t", q).stats // which checks it
			if stats.CellsScanned == 0 || q.Explain.Dropped.Sum() > stats.CellsScanned {
				f.Errorf("%s: %+v, dropped %+v", name, stats, q.Explain.Dropped)
			}
		}
	}},
	{"explain: why a query ended", func(f *fixture) {
		f.explainRows()
		for name, tc := range map[string]struct {
			change func(q *widecol.Query)
			want   widecol.EndReason
		}{
			"all":               {func(q *widecol.Query) {}, widecol.EndOfRows},
			"a range":           {func(q *widecol.Query) { q.SetRange([]byte("row3"), []byte("row5")) }, widecol.EndOfRows},
			"no such row":       {func(q *widecol.Query) { q.SetKey([]byte("row33")) }, widecol.EndOfRows},
			"an offset":         {func(q *widecol.Query) { q.Offset = 9 }, widecol.EndOfRows},
			"all in the offset": {func(q *widecol.Query) { q.Offset = 10 }, widecol.EndInOffset},
			"a large offset":    {func(q *widecol.Query) { q.Offset = 100 }, widecol.EndInOffset},
			"row limit":         {func(q *widecol.Query) { q.RowLimit = 4 }, widecol.EndRowLimit},
			"all rows":          {func(q *widecol.Query) { q.RowLimit = 10 }, widecol.EndRowLimit},
			"a large row limit": {func(q *widecol.Query) { q.RowLimit = 11 }, widecol.EndOfRows},
			"cell limit":        {func(q *widecol.Query) { q.CellLimit = 3 }, widecol.EndCellLimit},
			"both limits":       {func(q *widecol.Query) { q.CellLimit, q.RowLimit = 4, 1 }, widecol.EndCellLimit},
			"a sample":          {func(q *widecol.Query) { q.Sample = 0.1 }, widecol.EndOfRows},
			"limits of a row":   {func(q *widecol.Query) { q.RowCellLimit, q.ColumnCellLimit = 1, 1 }, widecol.EndOfRows},
			"limits of 0":       {func(q *widecol.Query) { q.RowCellLimit = 0 }, widecol.EndNothing},
			"no row":            {func(q *widecol.Query) { q.Rows = nil }, widecol.EndNothing},
			"no column":         {func(q *widecol.Query) { q.Filter = widecol.PrefixFilter("c") }, widecol.EndNothing},
			"reverse":           {func(q *widecol.Query) { q.Reverse, q.RowLimit = true, 3 }, widecol.EndRowLimit},
		} {
			if e := f.explain("t", asking(tc.change)); e.Ended[tc.want] != 1 {
				f.Errorf("%s: ended %v, want %s", name, e.Ended, tc.want)
			}
		}
		view := f.view("t")
		defer view.close()
		q := everything()
		q.Explain = new(widecol.Explain)
		rows, err := view.Scan(background, q)
		if err != nil || !rows.Next() {
			f.Fatalf("no row: %v", err)
		}
		rows.Close()
		if q.Explain.Ended[widecol.EndStopped] != 1 {
			f.Errorf("a query that was closed ended %v", q.Explain.Ended)
		}
	}},
	{"explain: queries add up in one explanation", func(f *fixture) {
		f.explainRows()
		q := asking(func(q *widecol.Query) {
			q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("3")}
		})
		once := f.explain("t", q)
		var twice widecol.Explain
		view := f.view("t")
		defer view.close()
		for range 2 {
			c := *q
			c.Explain = &twice
			rows, err := view.Scan(background, &c)
			if err != nil {
				f.Fatal(err)
			}
			for rows.Next() {
			}
			rows.Close()
		}
		if twice.Dropped.Values != 2*once.Dropped.Values || twice.Ended[widecol.EndOfRows] != 2 || len(twice.Partitions) != len(once.Partitions) ||
			twice.Partitions[0].CellsScanned != 2*once.Partitions[0].CellsScanned {
			f.Errorf("twice\n\t%+v\nonce\n\t%+v", twice, once)
		}
	}},
	{"explain: an aggregate", func(f *fixture) {
		f.explainRows()
		view := f.view("t")
		defer view.close()
		for _, columns := range [][]string{{"a", "b"}, {"b"}, {"b:x"}} {
			var e widecol.Explain
			a := widecol.Aggregate{Query: *where(f.columns(columns...)), Of: widecol.Count}
			a.Query.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("3")}
			a.Query.Explain = &e
			got, err := widecol.RunAggregate(background, view, &a)
			if err != nil {
				f.Fatal(err)
			}
			s := got.Stats
			if e.Ended[widecol.EndOfRows] != 1 || s.CellsScanned != s.Cells+e.Dropped.Sum()+e.Tombstones || e.Dropped.Values != 9*s.Cells || s.Cells == 0 {
				f.Errorf("%v: %+v, explained %+v", columns, s, e)
			}
		}
	}},
	{"explain: the parts of a query say what it does", func(f *fixture) {
		view, ok := f.divided()
		defer view.close()
		if !ok {
			return
		}
		d := view.View.(widecol.Divider)
		for name, q := range map[string]*widecol.Query{
			"a value": asking(func(q *widecol.Query) { q.Value = valueOfRow(1321) }),
			"a tree":  through(chainOf(regexOf(widecol.RowKeyRegex, "row0[01].*"), regexOf(widecol.FamilyRegex, "a"), regexOf(widecol.ValueRegex, "a.*"))),
		} {
			q.Explain = new(widecol.Explain)
			parts := d.Divide(q, 10_000)
			var sum widecol.Explain
			for i := range parts {
				e := parts[i].Explain
				if e == nil || len(parts) > 1 && e == q.Explain {
					f.Fatalf("%s: part %d of %d has no Explain of its own", name, i, len(parts))
				}
				rows, err := d.Scan(background, &parts[i])
				if err != nil {
					f.Fatal(err)
				}
				for rows.Next() {
				}
				rows.Close()
				if len(parts) > 1 {
					sum.Add(e)
				}
			}
			if len(parts) == 1 {
				continue
			}
			whole := f.explain("t", q)
			if sum.Dropped != whole.Dropped || sum.Tombstones != whole.Tombstones || sum.PushedDown != whole.PushedDown|widecol.PartRows || sum.Checked != whole.Checked {
				f.Errorf("%s: %d parts\n\t%+v\nthe whole\n\t%+v", name, len(parts), sum, whole)
			}
		}
	}},
}
