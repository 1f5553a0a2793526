package lsmstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// explainStore has a table t with the families a and b in the default partition, c in a group. All is in one file of
// each of the two partitions.
func explainStore(t *testing.T) *lsmstore.Store {
	t.Helper()
	s := openAt(t, vfs.NewMem())
	t.Cleanup(func() { s.Close() })
	ctx := t.Context()
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Groups: [][]string{{"c"}}}
	if err := s.CreateTable(ctx, "t", spec); err != nil {
		t.Fatal(err)
	}
	var rows []widecol.Mutation
	for i := range 3000 {
		for _, column := range []string{"a:x", "a:y", "b:x", "c:x"} {
			rows = append(rows, widecol.Mutation{
				Row: fmt.Appendf(nil, "row%05d", i), Family: []byte(column[:1]), Qualifier: []byte(column[2:]), Time: int64(i),
				Type: cell.String, Value: fmt.Appendf(nil, "value %d %s", i, strings.Repeat("v", 50)),
			})
		}
	}
	if _, err := s.Write(ctx, "t", rows, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Engine().Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Engine().Partitions() {
		if err := s.Engine().Compact(ctx, p.ID); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// explain reads what a query selects and returns what the store says of it.
func explain(t *testing.T, s *lsmstore.Store, q widecol.Query) (*widecol.Explain, widecol.Stats) {
	t.Helper()
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q.Explain = new(widecol.Explain)
	rows, err := view.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	before := *q.Explain
	if rows.More(); before.Ended != q.Explain.Ended || before.Dropped != q.Explain.Dropped {
		t.Errorf("More has changed the explanation from %+v to %+v", before, *q.Explain)
	}
	return q.Explain, rows.Stats()
}

// levelOf returns the only level with files of a partition.
func levelOf(t *testing.T, e *widecol.Explain, name string) widecol.ExplainedLevel {
	t.Helper()
	i := slices.IndexFunc(e.Partitions, func(p widecol.ExplainedPartition) bool { return strings.HasPrefix(p.Name, name) })
	if i < 0 || len(e.Partitions[i].Levels) != 1 {
		t.Fatalf("no partition %s with one level in %+v", name, e.Partitions)
	}
	return e.Partitions[i].Levels[0]
}

// TestExplainFiles: an explanation tells files and blocks that were read from those left out, and from the cache.
func TestExplainFiles(t *testing.T) {
	s := explainStore(t)
	q := widecol.NewQuery()
	e, _ := explain(t, s, q)
	all, group := levelOf(t, e, "_dat_t"), levelOf(t, e, "_lg_")
	if len(e.Partitions) != 2 || all.Level != 7 || all.Files != 1 || all.FilesRead != 1 || all.BlocksRead < 8 || all.BlocksCached > 0 ||
		all.BytesDecompressed < 3*3000*50 || group.Files != 1 || group.BlocksRead == 0 || group.BytesDecompressed >= all.BytesDecompressed {
		t.Errorf("all: %+v and %+v", all, group)
	}

	q.SetKey([]byte("row01000"))
	e, _ = explain(t, s, q)
	row := levelOf(t, e, "_dat_t")
	if row.BloomAsked != 1 || row.FilesExcluded != 0 || row.FilesRead != 1 || row.BlocksRead != 1 || row.BytesDecompressed == 0 {
		t.Errorf("a row: %+v", row)
	}
	e, _ = explain(t, s, q)
	if row = levelOf(t, e, "_dat_t"); row.BlocksCached != 1 || row.BlocksRead+row.ValuesRead+row.BytesDecompressed != 0 {
		t.Errorf("a row that is cached: %+v", row)
	}

	excluded := int64(0)
	q.Rows = nil
	for i := range 20 {
		q.Rows = append(q.Rows, widecol.KeyRange(fmt.Appendf(nil, "row%05d!", i)))
	}
	e, _ = explain(t, s, q)
	row = levelOf(t, e, "_dat_t")
	if excluded = row.FilesExcluded; row.BloomAsked != 20 || excluded < 15 || row.FilesRead != 20-excluded || row.Files != 1 {
		t.Errorf("rows that are not there: %+v", row)
	}

	q = widecol.NewQuery()
	q.Times = widecol.TimeRange{Start: 5000, End: 6000}
	e, _ = explain(t, s, q)
	if l := levelOf(t, e, "_dat_t"); l.FilesOtherTimes != 1 || l.FilesRead != 0 || l.Files != 1 {
		t.Errorf("other times: %+v", l)
	}
	q.Times.Start = 2990
	e, stats := explain(t, s, q)
	if l := levelOf(t, e, "_dat_t"); l.BlocksOtherTimes < 5 || l.BlocksRead > 2 || l.BlocksOtherTimes+l.BlocksRead+l.BlocksCached != all.BlocksRead ||
		e.Dropped.Times+stats.Cells != stats.CellsScanned || e.PushedDown != widecol.PartTimes || e.Checked != widecol.PartTimes {
		t.Errorf("some times: %+v, %+v", l, e)
	}

}

// TestExplainPushDown: an explanation says by which parts of a query the store leaves out what it need not read, and
// why it ended.
func TestExplainPushDown(t *testing.T) {
	s := explainStore(t)
	regex := func(op widecol.FilterOp, pattern string) *widecol.RowFilter {
		return &widecol.RowFilter{Op: op, Pattern: []byte(pattern)}
	}
	chain := func(fs ...*widecol.RowFilter) *widecol.RowFilter {
		return &widecol.RowFilter{Op: widecol.Chain, Filters: fs}
	}
	filter := func(keys ...string) widecol.Filter {
		f, err := widecol.ColumnsFilter(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	some := widecol.TimeRange{Start: 100, End: 200}
	limit := &widecol.RowFilter{Op: widecol.ColumnLimit, N: 1}
	for name, tc := range map[string]struct {
		change          func(q *widecol.Query)
		pushed, checked string
		end             widecol.EndReason
	}{
		"all":      {func(q *widecol.Query) {}, "", "", widecol.EndOfRows},
		"rows":     {func(q *widecol.Query) { q.SetPrefix([]byte("row00")) }, "rows", "", widecol.EndOfRows},
		"a family": {func(q *widecol.Query) { q.Filter = filter("a") }, "families", "", widecol.EndOfRows},
		"a column": {func(q *widecol.Query) { q.Filter = filter("a:x", "b", "c") }, "columns", "", widecol.EndOfRows},
		"both":     {func(q *widecol.Query) { q.Filter = filter("a:x") }, "families columns", "", widecol.EndOfRows},
		"versions": {func(q *widecol.Query) { q.ColumnCellLimit, q.KeysOnly = 1, true }, "versions without_values", "", widecol.EndOfRows},
		"times and value": {func(q *widecol.Query) {
			q.Times, q.Value = some, &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String}
		}, "times", "times values", widecol.EndOfRows},
		"a row limit":      {func(q *widecol.Query) { q.RowLimit = 5 }, "", "", widecol.EndRowLimit},
		"a tree of rows":   {func(q *widecol.Query) { q.RowFilter = regex(widecol.RowKeyRegex, `row0001\C*`) }, "filter_rows", "", widecol.EndOfFilterRows},
		"no row of a tree": {func(q *widecol.Query) { q.RowFilter = regex(widecol.RowKeyRegex, "no"); q.SetPrefix([]byte("row")) }, "rows filter_rows", "", widecol.EndOfFilterRows},
		"a tree of all": {func(q *widecol.Query) {
			q.RowFilter = chain(regex(widecol.RowKeyRegex, `row0001\C*`), regex(widecol.FamilyRegex, "a|b"), &widecol.RowFilter{Op: widecol.TimestampRange, Times: some}, limit)
		}, "filter_rows filter_columns filter_times filter_limits", "filter_times", widecol.EndOfFilterRows},
		"a tree of values":    {func(q *widecol.Query) { q.RowFilter = regex(widecol.ValueRegex, "value 7.*") }, "", "filter", widecol.EndOfRows},
		"a tree with a limit": {func(q *widecol.Query) { q.ColumnCellLimit = 1; q.RowFilter = regex(widecol.ValueRegex, "value 7.*") }, "", "filter", widecol.EndOfRows},
	} {
		q := widecol.NewQuery()
		tc.change(&q)
		e, _ := explain(t, s, q)
		pushed, checked := strings.Join(e.PushedDown.Names(), " "), strings.Join(e.Checked.Names(), " ")
		if pushed != tc.pushed || checked != tc.checked || e.Ended[tc.end] != 1 {
			t.Errorf("%s: pushed down %q, checked %q, ended %v, want %q, %q and %s", name, pushed, checked, e.Ended, tc.pushed, tc.checked, tc.end)
		}
	}
}

// TestExplainConditions: a row that is read once more, since its condition needs more than is held, is explained.
func TestExplainConditions(t *testing.T) {
	s := largeRow(t)
	q := widecol.NewQuery()
	last := &widecol.RowFilter{Op: widecol.QualifierRegex, Pattern: fmt.Append(nil, largeValues-1)}
	q.RowFilter = &widecol.RowFilter{Op: widecol.Condition, If: last, Then: &widecol.RowFilter{Op: widecol.PassAll}}
	e, stats := explain(t, s, q)
	cells := int64(0)
	for _, p := range e.Partitions {
		cells += p.CellsScanned
	}
	if cells != stats.CellsScanned || cells <= stats.Cells || e.Ended != [widecol.EndReasons]int64{widecol.EndOfRows: 1} {
		t.Errorf("%+v, %+v", stats, e)
	}
}
