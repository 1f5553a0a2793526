package lsmstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// numbered returns a store whose table t has rows of one number, compacted.
func numbered(t *testing.T, rows int) *lsmstore.Store {
	t.Helper()
	s := openLong(t, engine.Options{})
	var ms []widecol.Mutation
	for i := range rows {
		ms = append(ms, widecol.Mutation{
			Row: []byte(longRow(i)), Family: []byte("a"), Qualifier: []byte("n"),
			Time: int64(1 + i%7), Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, uint64(i%100)),
		})
	}
	if _, err := s.Write(t.Context(), "t", ms, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := compactAll(t.Context(), s.Engine()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAggregate: an aggregate goes in steps of many rows where its query allows that, and adds up what a scan returns in
// any case, for the same cost.
func TestAggregate(t *testing.T) {
	const rows = 10_000
	s := numbered(t, rows)
	defer s.Close()
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	filter, _ := widecol.ColumnsFilter("a:n")
	large := &widecol.ValueFilter{Op: widecol.GreaterOrEqual, Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, 50)}
	tree := func(op widecol.FilterOp) *widecol.RowFilter { return &widecol.RowFilter{Op: op, N: 1} }
	for name, e := range map[string]struct {
		change func(q *widecol.Query)
		steps  bool
	}{
		"a column":       {func(*widecol.Query) {}, true},
		"two partitions": {func(q *widecol.Query) { q.Filter = widecol.Filter{} }, false},
		"values":         {func(q *widecol.Query) { q.Value = large }, true},
		"times":          {func(q *widecol.Query) { q.Times.End = 5 }, true},
		"two ranges": {func(q *widecol.Query) {
			q.Rows = widecol.NewRowSet(widecol.RowRange{End: []byte(longRow(3000))}, widecol.RowRange{Start: []byte(longRow(3001)), End: []byte(longRow(9000))})
		}, true},
		"newest versions":    {func(q *widecol.Query) { q.ColumnCellLimit = 1 }, true},
		"a tree pushed down": {func(q *widecol.Query) { q.RowFilter = tree(widecol.ColumnLimit) }, true},
		"a tree":             {func(q *widecol.Query) { q.RowFilter = tree(widecol.RowOffset) }, false},
		"reverse":            {func(q *widecol.Query) { q.Reverse = true }, false},
		"first cells":        {func(q *widecol.Query) { q.RowCellLimit = 1 }, false},
		"first rows":         {func(q *widecol.Query) { q.RowLimit = 9000 }, false},
		"cells in all":       {func(q *widecol.Query) { q.CellLimit = 9000 }, false},
		"offset":             {func(q *widecol.Query) { q.Offset = 10 }, false},
		"sample":             {func(q *widecol.Query) { q.Sample = 0.9 }, false},
	} {
		for _, a := range []widecol.Aggregate{{Of: widecol.Count}, {Of: widecol.Sum | widecol.Max, GroupBy: widecol.GroupBy{By: widecol.ByRowLength, Length: 6}}} {
			a.Query = widecol.NewQuery()
			a.Query.Filter = filter // of one partition
			e.change(&a.Query)
			yields := 0
			q := a.Scan()
			q.Yield = func() error { yields++; return nil }
			got, stats := aggregated(t, &a, func(aggregator *widecol.Aggregator) (widecol.Stats, error) {
				return view.(widecol.AggregateView).Aggregate(t.Context(), &q, aggregator)
			})
			q.Yield = nil
			want, wantStats := aggregated(t, &a, func(aggregator *widecol.Aggregator) (widecol.Stats, error) {
				r, err := view.Scan(t.Context(), &q)
				if err != nil {
					return widecol.Stats{}, err
				}
				defer r.Close()
				return widecol.AggregateRows(r, aggregator)
			})
			if !reflect.DeepEqual(got, want) || stats != wantStats {
				t.Errorf("%s: got %+v for %+v, want %+v for %+v", name, got, stats, want, wantStats)
			}
			if steps := yields < rows/widecol.YieldEvery/4; steps != e.steps {
				t.Errorf("%s: %d calls of Yield for %d rows", name, yields, rows)
			}
		}
	}
}

// aggregated evaluates an aggregate.
func aggregated(t *testing.T, a *widecol.Aggregate, add func(*widecol.Aggregator) (widecol.Stats, error)) ([]widecol.AggregateGroup, widecol.Stats) {
	t.Helper()
	aggregator := widecol.NewAggregator(a)
	stats, err := add(aggregator)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := aggregator.Groups()
	if err != nil {
		t.Fatal(err)
	}
	return groups, stats
}

// TestAggregateEnds: an aggregate ends with the error of Yield, and when its context does.
func TestAggregateEnds(t *testing.T) {
	s := numbered(t, 80_000)
	defer s.Close()
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	filter, _ := widecol.ColumnsFilter("a:n")
	enough := errors.New("enough")
	for _, want := range []error{enough, context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		a := &widecol.Aggregate{Query: widecol.NewQuery(), Of: widecol.Count}
		a.Query.Filter = filter
		calls := 0
		a.Query.Yield = func() error {
			calls++
			if want == enough {
				return enough
			}
			cancel()
			return nil
		}
		stats, err := view.(widecol.AggregateView).Aggregate(ctx, &a.Query, widecol.NewAggregator(a))
		if !errors.Is(err, want) || calls != 1 || stats.RowsScanned > 20_000 {
			t.Errorf("got %v after %d rows and %d calls of Yield, want %v after 1", err, stats.RowsScanned, calls, want)
		}
		cancel()
	}
}

// TestAggregateOfDamage: a value that does not have its type is an error that names the rows that it may be in.
func TestAggregateOfDamage(t *testing.T) {
	s := openLong(t, engine.Options{})
	defer s.Close()
	data := partitionOf(t, s, "_dat_t")
	var b engine.Batch
	for i := range 1000 {
		value := strings.Repeat("\x01\x00", 2) + "\x00\x00\x00\x00"
		if i == 500 {
			value = "short"
		}
		c := cell.Cell{Column: cell.AppendColumn(nil, []byte("a"), []byte("q")), Value: []byte(value), Time: 1, Kind: cell.Set, Type: cell.I64}
		b.Add(data, []byte(longRow(i)), &c)
	}
	if _, err := s.Engine().Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	filter, _ := widecol.ColumnsFilter("a:q")
	check := func(state string, steps bool) {
		view, err := s.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		a := &widecol.Aggregate{Query: widecol.NewQuery(), Of: widecol.Count}
		a.Query.Filter = filter
		a.Query.Value = &widecol.ValueFilter{Op: widecol.NotEqual, Type: cell.I64, Value: make([]byte, 8)}
		_, err = widecol.RunAggregate(t.Context(), view, a)
		if widecol.KindOf(err) != widecol.Corrupt || strings.Contains(err.Error(), "one of the") != steps {
			t.Errorf("%s: a filter on values: got %v, want damage", state, err)
		}
		a.Query.Value, a.Of = nil, widecol.Sum
		if _, err = widecol.RunAggregate(t.Context(), view, a); widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("%s: a sum: got %v, want damage", state, err)
		}
		for end, damaged := range map[int]bool{500: false, 501: true} {
			a.Query.SetRange(nil, fmt.Append(nil, longRow(end)))
			if _, err = widecol.RunAggregate(t.Context(), view, a); (err != nil) != damaged {
				t.Errorf("%s: a sum up to row %d: got %v", state, end, err)
			}
		}
	}
	check("memtable", false)
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("file", true)
}
