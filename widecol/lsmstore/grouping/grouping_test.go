package grouping

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// query returns one of a table of families a, b, c, … with sizes: it reads a part of all rows.
func query(asks string, part, opens float64, sizes ...float64) Query {
	q := Query{Asks: make([]bool, len(sizes)), Over: make([]float64, len(sizes)), Opens: opens}
	for f, size := range sizes {
		if q.Asks[f] = strings.Contains(asks, string(rune('a'+f))); q.Asks[f] {
			q.Need += part * size
		} else {
			q.Over[f] = part * size
		}
	}
	return q
}

func TestMoves(t *testing.T) {
	for _, c := range []struct {
		name    string
		place   []int
		sizes   []float64
		queries []Query
		want    string
	}{
		{"no queries", []int{0, 0}, []float64{10, 1000}, nil, ""},
		{"one family", []int{0}, []float64{10}, []Query{query("a", 1, 1, 10)}, ""},
		{"scans of a thin one beside a fat one", []int{0, 0}, []float64{1e4, 1e6}, []Query{query("a", 5, 5, 1e4, 1e6)},
			"a>new 5000000 0"},
		{"scans of a fat one beside a thin one", []int{0, 0}, []float64{1e4, 1e6}, []Query{query("b", 5, 5, 1e4, 1e6)}, ""},
		{"both are read together", []int{0, 0}, []float64{1e4, 1e6}, []Query{query("ab", 5, 5, 1e4, 1e6)}, ""},
		{"scans of one, rows of both", []int{0, 0}, []float64{1e4, 1e6}, []Query{query("a", 5, 5, 1e4, 1e6), query("ab", .1, 1e3, 1e4, 1e6)},
			"a>new 5000000 -1000"},
		{"scans of one, more rows of both", []int{0, 0}, []float64{1e4, 1e6}, []Query{query("a", 5, 5, 1e4, 1e6), query("ab", .1, 1e6, 1e4, 1e6)}, ""},
		{"rows of both in two groups", []int{1, 2}, []float64{1e4, 1e4}, []Query{query("ab", 1, 100, 1e4, 1e4)},
			"a>2 0 100"},
		{"rows of both, one in the default partition", []int{1, 0}, []float64{1e4, 2e4}, []Query{query("ab", 1, 100, 1e4, 2e4)},
			"a>0 0 100"},
		{"rows of both in two groups, and scans of one", []int{1, 2}, []float64{1e4, 1e6}, []Query{query("ab", 1, 100, 1e4, 1e6), query("a", 3, 3, 1e4, 1e6)}, ""},
		{"apart as they are read", []int{0, 1}, []float64{1e6, 1e6}, []Query{query("a", 3, 3, 1e6, 1e6), query("b", 3, 3, 1e6, 1e6)}, ""},
		{"nothing asks for the third", []int{0, 0, 0}, []float64{1e3, 1e3, 1e6}, []Query{query("ab", 4, 4, 1e3, 1e3, 1e6)},
			"c>new 4000000 0"},
		{"to the group that is read with it", []int{0, 0, 1}, []float64{1e4, 1e6, 1e4},
			[]Query{query("ac", 4, 400, 1e4, 1e6, 1e4), query("b", 1, 1, 1e4, 1e6, 1e4)}, "a>1 4010000 400"},
		{"two leave, one after the other", []int{0, 0, 0}, []float64{1e3, 1e6, 2e6},
			[]Query{query("a", 9, 9, 1e3, 1e6, 2e6), query("b", 2, 2, 1e3, 1e6, 2e6), query("c", 1, 1, 1e3, 1e6, 2e6)}, "a>new 27003000 0;b>new 5000000 0"},
		{"less than is worth while", []int{0, 0}, []float64{4e4, 1e6}, []Query{query("b", 1, 1, 4e4, 1e6)}, ""},
	} {
		table := &Table{Place: c.place, Bytes: c.sizes, Queries: c.queries, Partition: 4096}
		var got []string
		for _, m := range Moves(table) {
			to := fmt.Sprint(m.To)
			if m.To == New {
				to = "new"
			}
			got = append(got, fmt.Sprintf("%c>%s %.0f %.0f", 'a'+m.Family, to, m.Bytes, m.Opens))
		}
		if got := strings.Join(got, ";"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMovesSave: what a move is said to save is what the cost of all queries, computed anew, becomes less; no family
// moves twice; and no single move is left that saves more than is worth while.
func TestMovesSave(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		table := randomTable(r)
		first := plainCost(table)
		seen := make(map[int]bool)
		next := slices.Max(table.Place) + 1
		for _, m := range Moves(table) {
			before := plainCost(table)
			if seen[m.Family] {
				t.Fatalf("seed %d: family %d moves twice", seed, m.Family)
			}
			seen[m.Family] = true
			to := m.To
			switch {
			case to == New:
				to = next
				next++
			case to != Default && !slices.Contains(table.Place, to):
				t.Fatalf("seed %d: place %d, that family %d moves to, is gone", seed, to, m.Family)
			}
			table.Place[m.Family] = to
			saved := before - plainCost(table)
			if said := m.Bytes + m.Opens*table.Partition; saved < said-1 || saved > said+1 {
				t.Fatalf("seed %d: moving %d to %d saves %.0f, said were %.0f", seed, m.Family, m.To, saved, said)
			}
			if saved < Least*first-1 {
				t.Fatalf("seed %d: a move saves %.0f of %.0f", seed, saved, first)
			}
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("only %d moves in all", moved)
	}
}

func randomTable(r *rand.Rand) *Table {
	n := 1 + r.IntN(6)
	table := &Table{Partition: 4096}
	for range n {
		table.Place = append(table.Place, r.IntN(3))
		table.Bytes = append(table.Bytes, float64(r.IntN(1e6)))
	}
	for range r.IntN(6) {
		q := Query{Opens: float64(r.IntN(300))}
		for f := range n {
			q.Asks = append(q.Asks, r.IntN(2) == 0)
			q.Over = append(q.Over, 0)
			if q.Asks[f] {
				q.Need += table.Bytes[f]
			} else {
				q.Over[f] = table.Bytes[f]
			}
		}
		table.Queries = append(table.Queries, q)
	}
	return table
}

// plainCost is the cost of a grouping by its definition.
func plainCost(t *Table) (sum float64) {
	for _, q := range t.Queries {
		open := map[int]bool{}
		sum += q.Need
		for f, p := range t.Place {
			if q.Asks[f] {
				open[p] = true
			}
		}
		sum += float64(len(open)) * q.Opens * t.Partition
		for f, p := range t.Place {
			if !q.Asks[f] && open[p] {
				sum += q.Over[f]
			}
		}
	}
	return sum
}
