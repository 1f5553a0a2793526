package lsmstore

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestCovering compares coverings, and unions of ranges, with lists that are looked through.
func TestCovering(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		time := func() int64 { return random.Int64N(20) }
		list := make([]widecol.Mutation, random.IntN(30))
		for i := range list {
			m := widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Op: widecol.Set, Time: time()}
			if random.IntN(2) == 0 {
				m.Op, m.End = widecol.DeleteColumn, m.Time+random.Int64N(8)
			}
			list[i] = m
		}
		column := coverings(list, widecol.Set, func(m *widecol.Mutation) int64 { return m.Time })[string(appendScope(nil, &widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q")}, widecol.DeleteColumn))]
		var ranges []widecol.TimeRange
		for i := range list {
			m := &list[i]
			if m.Op == widecol.DeleteColumn {
				column.cover(m.Times(), i)
				ranges = append(ranges, m.Times())
				continue
			}
			want := -1
			for j := range i {
				if d := &list[j]; d.Op == widecol.DeleteColumn && d.Times().Contains(m.Time) {
					want = j
				}
			}
			if got := column.lastOver(m.Time); got != want {
				t.Fatalf("seed %d: %v: mutation %d is covered by %d, want %d", seed, list, i, got, want)
			}
		}
		all := union(slices.Clone(ranges))
		for time := range int64(30) {
			has := func(r widecol.TimeRange) bool { return r.Contains(time) }
			if contains(all, time) != slices.ContainsFunc(ranges, has) {
				t.Fatalf("seed %d: the union of %v is %v", seed, ranges, all)
			}
		}
		for i := 1; i < len(all); i++ {
			if all[i].Start <= all[i-1].End {
				t.Fatalf("seed %d: %v touch", seed, all)
			}
		}
	}
}

// TestWorkOfOrder: a list of n deletions of times and n versions of one column is ordered in some n log n steps.
func TestWorkOfOrder(t *testing.T) {
	const n = 20_000
	const most = 2 * n * 2 * 17 // each looks at two nodes of a level at most
	list := make([]widecol.Mutation, 0, 2*n)
	row := widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, 1)}
	for i := range int64(n) {
		d := row
		d.Op, d.Time, d.End = widecol.DeleteColumn, i, 3*n-i
		list = append(list, d)
	}
	for _, op := range []widecol.Op{widecol.Set, widecol.Merge} {
		list = list[:n]
		for i := range int64(n) {
			m := row
			m.Op, m.Time = op, n+i
			list = append(list, m)
		}
		if op == widecol.Merge {
			g := newMerging(nil, &schema{families: map[string]*family{"f": {name: "f", merge: widecol.MergeSum}}}, list)
			if _, err := g.replace(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			checkSteps(t, g.timed, most)
			continue
		}
		forward := newOrder(list, nil)
		checkSteps(t, forward.timed, most)
		slices.Reverse(list)
		backward := newOrder(list, nil)
		checkSteps(t, backward.timed, most)
		slices.Reverse(list)
		if slices.Contains(forward.covered, true) || !backward.covered[0] || !slices.Contains(backward.covered, true) {
			t.Error("deletions cover what is behind them, or not what is before them")
		}
		scope := appendScope(nil, &row, widecol.DeleteColumn)
		if len(union(forward.ranges[string(scope)])) != 1 || len(forward.set[string(scope)]) != n {
			t.Errorf("%d ranges are read, %d times are spared", len(forward.ranges[string(scope)]), len(forward.set[string(scope)]))
		}
	}
}

func checkSteps(t *testing.T, all map[string]*covering, most int) {
	t.Helper()
	steps := 0
	for _, c := range all {
		steps += c.steps
	}
	if len(all) != 1 || steps == 0 || steps > most {
		t.Errorf("%d columns took %d steps, want one and at most %d", len(all), steps, most)
	}
}
