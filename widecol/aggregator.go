package widecol

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
)

// Aggregator collects the groups of an Aggregate. Aggregators of parts of a query can be merged, in any order. An Aggregator is for
// one goroutine.
//
// Its memory is bounded: MaxGroups groups, each with a key and some 100 bytes, or 700 where a sum has floats.
type Aggregator struct {
	by      GroupBy
	of      Functions
	groups  map[string]*group
	bytes   int    // of the keys
	current *group // of the version added last, nil for none
}

// group is a group. Versions come in order, so after a version of this group often comes one of the same group as
// last time. next remembers that, and saves the map.
type group struct {
	key     []byte
	next    *group
	count   int64
	numbers int64
	integer int128    // sum of the integers
	floats  *exactSum // nil if there is no float

	least, most number // if numbers > 0
}

// NewAggregator returns an empty Aggregator. a.Check must accept a.
func NewAggregator(a *Aggregate) *Aggregator {
	t := &Aggregator{by: a.GroupBy, of: a.Of, groups: make(map[string]*group)}
	if t.by.By == OneGroup {
		t.current = &group{}
		t.groups[""] = t.current
	}
	return t
}

// BeginRow says that the next versions are of a row. It keeps no part of the key. It fails with TooManyGroups.
func (t *Aggregator) BeginRow(row []byte) error {
	if t.by.By < ByRowLength {
		return nil
	}
	return t.enter(t.by.OfRow(row))
}

// Add adds versions of a row. It fails with TooManyGroups, or if a number does not have its type.
func (t *Aggregator) Add(cells []cell.Cell) error {
	if t.by.By != ByColumn {
		return t.current.add(cells, t.of)
	}
	for len(cells) > 0 {
		n := 1
		for n < len(cells) && bytes.Equal(cells[n].Column, cells[0].Column) {
			n++
		}
		if err := t.enter(cells[0].Column); err != nil {
			return err
		}
		if err := t.current.add(cells[:n], t.of); err != nil {
			return err
		}
		cells = cells[n:]
	}
	return nil
}

// GroupEnd returns a row up to which all rows, from this one on, are of its group; nil is the end of the table. It may
// append to dst.
func (t *Aggregator) GroupEnd(dst, row []byte) []byte {
	if t.by.By < ByRowLength {
		return nil
	}
	if key := t.by.OfRow(row); t.by.prefix(key) {
		return cell.Successor(key)
	}
	return append(append(dst, row...), 0)
}

// enter moves to the group with a key.
func (t *Aggregator) enter(key []byte) error {
	last := t.current
	if last != nil {
		if bytes.Equal(last.key, key) {
			return nil
		}
		if last.next != nil && bytes.Equal(last.next.key, key) {
			t.current = last.next
			return nil
		}
	}
	g := t.groups[string(key)]
	if g == nil {
		t.bytes += len(key)
		if len(t.groups) == MaxGroups || t.bytes > MaxGroupBytes {
			return TooManyGroups()
		}
		g = &group{key: bytes.Clone(key)}
		t.groups[string(key)] = g
	}
	if last != nil {
		last.next = g
	}
	t.current = g
	return nil
}

// Merge adds the versions of o, an Aggregator of the same Aggregate, which is of no use afterwards. It fails with
// TooManyGroups.
func (t *Aggregator) Merge(o *Aggregator) error {
	for key, g := range o.groups {
		mine := t.groups[key]
		if mine == nil {
			t.bytes += len(key)
			if len(t.groups) == MaxGroups || t.bytes > MaxGroupBytes {
				return TooManyGroups()
			}
			t.groups[key] = g
			continue
		}
		mine.merge(g)
	}
	return nil
}

// Groups returns the groups. It fails with SumOverflow.
func (t *Aggregator) Groups() ([]AggregateGroup, error) {
	list := make([]AggregateGroup, 0, len(t.groups))
	for _, g := range t.groups {
		group, err := g.result(t.of)
		if err != nil {
			return nil, err
		}
		list = append(list, group)
	}
	sort.Slice(list, func(i, j int) bool { return bytes.Compare(list[i].Key, list[j].Key) < 0 })
	return slices.Clip(list), nil
}

// add adds versions of the group.
func (g *group) add(cells []cell.Cell, of Functions) error {
	g.count += int64(len(cells))
	if of&ofNumbers == 0 {
		return nil
	}
	for i := range cells {
		c := &cells[i]
		if !c.Type.Fits(c.Value) {
			return Errorf(Corrupt, "corruption", "a stored value of %d bytes does not have its type, %s", len(c.Value), c.Type)
		}
		n, ok := numberOf(c.Type, c.Value)
		if !ok {
			continue
		}
		if of&(Min|Max) != 0 {
			if g.numbers == 0 || compareNumbers(n, g.least) < 0 {
				g.least = n
			}
			if g.numbers == 0 || n.above(g.most) {
				g.most = n
			}
		}
		g.numbers++
		if of&(Sum|Avg) == 0 {
			continue
		}
		if n.integer() {
			g.integer.add(int64(n.bits))
			continue
		}
		if g.floats == nil {
			g.floats = new(exactSum)
		}
		g.floats.add(n.float())
	}
	return nil
}

func (g *group) merge(o *group) {
	if o.numbers > 0 {
		if g.numbers == 0 || compareNumbers(o.least, g.least) < 0 {
			g.least = o.least
		}
		if g.numbers == 0 || o.most.above(g.most) {
			g.most = o.most
		}
	}
	g.count += o.count
	g.numbers += o.numbers
	g.integer.merge(o.integer)
	switch {
	case g.floats == nil:
		g.floats = o.floats
	case o.floats != nil:
		g.floats.merge(o.floats)
	}
}

// result returns what was asked for.
func (g *group) result(of Functions) (AggregateGroup, error) {
	r := AggregateGroup{Key: g.key}
	if of&Count != 0 {
		r.Count = g.count
	}
	if g.numbers == 0 {
		return r, nil
	}
	if of&Min != 0 {
		r.Min = g.least.encode()
	}
	if of&Max != 0 {
		r.Max = g.most.encode()
	}
	if of&Avg != 0 {
		r.Avg = floatNumber(g.average())
	}
	if of&Sum == 0 {
		return r, nil
	}
	if g.floats == nil {
		if !g.integer.fits() {
			return r, SumOverflow(cell.I64)
		}
		r.Sum = number{cell.I64, g.integer.low}.encode()
		return r, nil
	}
	sum, special := g.floats.special()
	if !special {
		sum, _ = new(big.Float).SetMantExp(new(big.Float).SetInt(g.units()), -unitsOf1).Float64()
		if math.IsInf(sum, 0) {
			return r, SumOverflow(cell.F64)
		}
	}
	r.Sum = floatNumber(sum)
	return r, nil
}

// average returns the exact sum divided by the number of numbers, rounded once.
func (g *group) average() float64 {
	if g.floats == nil {
		f, _ := new(big.Rat).SetFrac(g.integer.big(), big.NewInt(g.numbers)).Float64()
		return f
	}
	if f, special := g.floats.special(); special {
		return f
	}
	below := new(big.Int).Lsh(big.NewInt(g.numbers), unitsOf1)
	f, _ := new(big.Rat).SetFrac(g.units(), below).Float64()
	return f
}

// units returns the sum of integers and floats, in units of the smallest float.
func (g *group) units() *big.Int {
	n := g.integer.big()
	return n.Add(n.Lsh(n, unitsOf1), g.floats.big())
}

// int128 is an integer of 128 bits. Fewer than 2^63 integers of 64 bits cannot overflow it.
type int128 struct {
	low  uint64
	high int64
}

func (n *int128) add(v int64) { n.merge(int128{uint64(v), v >> 63}) }

func (n *int128) merge(o int128) {
	low, carry := bits.Add64(n.low, o.low, 0)
	n.low, n.high = low, n.high+o.high+int64(carry)
}

// fits reports whether n is an int64.
func (n *int128) fits() bool { return n.high == int64(n.low)>>63 }

func (n *int128) big() *big.Int {
	b := big.NewInt(n.high)
	return b.Add(b.Lsh(b, 64), new(big.Int).SetUint64(n.low))
}
