// Package grouping finds out which families of a table should lie in another partition, from what queries asked for.
// It knows no store: it computes with numbers of bytes.
//
// A query reads the families that it asks for wherever they are. In each partition with one of them it steps over the
// families that it does not ask for. So the cost of a grouping is what all queries step over in it, and what they pay
// for the partitions that they open: together, a family is stepped over; apart, it is one more partition to open.
package grouping

import "slices"

// Default is the place of the families without a group. Others count from 1.
const Default = 0

// New, as the place that a family moves to, is one of its own.
const New = -1

// Table is what is known of a table. Families are numbered from 0.
type Table struct {
	Place []int     // of each family
	Bytes []float64 // of each family, to be moved with it

	Queries []Query
	// Partition is what it costs to open a partition, in bytes read.
	Partition float64
}

// Query is all queries that ask for the same families.
type Query struct {
	Asks  []bool    // by family
	Need  float64   // bytes read of what is asked for
	Over  []float64 // by family not asked for: bytes read of it if it lies with one that is
	Opens float64   // how often they open each partition
}

// Move is a family that moves to a place, or to New.
type Move struct {
	Family, To int
	Bytes      float64 // read less by the queries; negative if it is more
	Opens      float64 // partitions opened less
}

// Limits of advice.
const (
	// Least is the part of the cost of all queries that a move must save.
	Least = 0.05
	// maxMoves bounds the moves. The queries after some moves say more than a guess about the next.
	maxMoves = 16
	// alike is the part of the best move's savings with which another is as good. Of these the one with the
	// fewest bytes to move is chosen.
	alike = 0.95
)

// Moves returns moves that make the queries cheaper, each in the grouping that those before it leave. It takes the
// best one as long as there is one that is worth while. No family moves twice, and a place that a move makes is none
// for the moves after it.
func Moves(t *Table) []Move {
	g := newGrouping(t)
	least := Least * g.cost()
	var moves []Move
	for len(moves) < maxMoves {
		m, ok := g.best(least)
		if !ok {
			break
		}
		moves = append(moves, m)
		g.apply(m)
	}
	return moves
}

// grouping is a table with its families in some places.
type grouping struct {
	*Table
	place  []int
	moved  []bool
	lives  []int // families, by place
	places int   // those that may be moved to; the ones after them are new
	// By query and place: how many families it asks for, and what it steps over if that is any.
	asked [][]int
	over  [][]float64
}

func newGrouping(t *Table) *grouping {
	g := &grouping{Table: t, place: slices.Clone(t.Place), moved: make([]bool, len(t.Place)), places: 1}
	for _, p := range t.Place {
		g.places = max(g.places, p+1)
	}
	all := g.places + maxMoves
	g.lives = make([]int, all)
	for range t.Queries {
		g.asked = append(g.asked, make([]int, all))
		g.over = append(g.over, make([]float64, all))
	}
	for f, p := range g.place {
		g.put(f, p, 1)
	}
	return g
}

// put adds a family to a place, or, with sign -1, takes it away.
func (g *grouping) put(f, p, sign int) {
	g.lives[p] += sign
	for i := range g.Queries {
		if q := &g.Queries[i]; q.Asks[f] {
			g.asked[i][p] += sign
		} else {
			g.over[i][p] += float64(sign) * q.Over[f]
		}
	}
}

// cost returns what the queries read and what they pay for opening partitions.
func (g *grouping) cost() (sum float64) {
	for i := range g.Queries {
		q := &g.Queries[i]
		sum += q.Need
		for p, n := range g.asked[i] {
			if n > 0 {
				sum += g.over[i][p] + q.Opens*g.Partition
			}
		}
	}
	return sum
}

// best returns the move that is to be made next, if one saves at least this much.
func (g *grouping) best(least float64) (best Move, ok bool) {
	var good []Move
	most := least
	for f, from := range g.place {
		if g.moved[f] {
			continue
		}
		for to := range g.places {
			if to != from && (to == Default || g.lives[to] > 0) {
				good = append(good, g.move(f, to))
			}
		}
		if g.lives[from] > 1 {
			good = append(good, g.move(f, New))
		}
	}
	for _, m := range good {
		most = max(most, g.saves(m))
	}
	for _, m := range good {
		if saves := g.saves(m); saves > 0 && saves >= least && saves >= alike*most && (!ok || g.before(m, best)) {
			best, ok = m, true
		}
	}
	return best, ok
}

func (g *grouping) saves(m Move) float64 { return m.Bytes + m.Opens*g.Partition }

// before reports whether of two moves that save about the same m comes first: it moves less, or saves more.
func (g *grouping) before(m, than Move) bool {
	if a, b := g.Bytes[m.Family], g.Bytes[than.Family]; a != b {
		return a < b
	}
	return g.saves(m) > g.saves(than)
}

// move returns what a move saves.
func (g *grouping) move(f, to int) Move {
	from, m := g.place[f], Move{Family: f, To: to}
	for i := range g.Queries {
		q := &g.Queries[i]
		asked, over := 0, 0.0 // where it moves to
		if to != New {
			asked, over = g.asked[i][to], g.over[i][to]
		}
		switch here := g.asked[i][from]; {
		case !q.Asks[f]:
			if here > 0 {
				m.Bytes += q.Over[f]
			}
			if asked > 0 {
				m.Bytes -= q.Over[f]
			}
		default:
			if here == 1 { // nothing else is asked for there
				m.Bytes += g.over[i][from]
				m.Opens += q.Opens
			}
			if asked == 0 {
				m.Bytes -= over
				m.Opens -= q.Opens
			}
		}
	}
	return m
}

// apply makes a move.
func (g *grouping) apply(m Move) {
	to := m.To
	if to == New {
		to = g.places
		for g.lives[to] > 0 {
			to++
		}
	}
	g.put(m.Family, g.place[m.Family], -1)
	g.put(m.Family, to, 1)
	g.place[m.Family], g.moved[m.Family] = to, true
}
