package memstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// Aggregate is the specification of widecol.RunAggregate: it collects the versions of each group, then computes.
func (v *view) Aggregate(ctx context.Context, a *widecol.Aggregate) (widecol.Aggregated, error) {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if err := v.store.usableLocked(ctx); err != nil {
		return widecol.Aggregated{}, err
	}
	if err := a.Check(); err != nil {
		return widecol.Aggregated{}, err
	}
	if err := v.table.known(a.Query.Filter); err != nil {
		return widecol.Aggregated{}, err
	}
	q := a.Query
	q.Yield = nil // the Store is locked
	answer, err := v.table.query(&q, v.now)
	if err != nil {
		return widecol.Aggregated{}, err
	}
	v.table.explainEnd(&q, &answer, answer.reason(&q))
	result := widecol.Aggregated{Stats: answer.stats}
	groups := make(map[string][]version)
	if a.GroupBy.By == widecol.OneGroup {
		groups[""] = nil
	}
	for _, row := range answer.rows {
		result.Stats.Rows++
		result.Stats.Cells += int64(len(row))
		for _, c := range row {
			key := groupOf(c, &a.GroupBy)
			groups[key] = append(groups[key], c)
		}
	}
	if len(groups) > widecol.MaxGroups || len(strings.Join(slices.Collect(maps.Keys(groups)), "")) > widecol.MaxGroupBytes {
		return widecol.Aggregated{}, widecol.TooManyGroups()
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := widecol.AggregateGroup{}
		if a.GroupBy.By != widecol.OneGroup {
			g.Key = []byte(key)
		}
		if err := compute(&g, groups[key], a.Of); err != nil {
			return widecol.Aggregated{}, err
		}
		result.Groups = append(result.Groups, g)
	}
	return result, nil
}

// groupOf returns the key of a version's group.
func groupOf(v version, by *widecol.GroupBy) string {
	switch by.By {
	case widecol.ByColumn:
		return string(v.column())
	case widecol.ByRowLength:
		return v.row[:min(by.Length, len(v.row))]
	case widecol.ByRowDelimiter:
		first, _, found := strings.Cut(v.row, string(by.Delimiter))
		if found {
			first += string(by.Delimiter)
		}
		return first
	}
	return ""
}

// compute applies functions to the versions of a group.
func compute(g *widecol.AggregateGroup, versions []version, of widecol.Functions) error {
	if of&widecol.Count != 0 {
		g.Count = int64(len(versions))
	}
	numbers := slices.DeleteFunc(slices.Clone(versions), func(v version) bool {
		return !slices.Contains(numberTypes, v.typ)
	})
	if len(numbers) == 0 {
		return nil
	}
	first := func(order int) func(a, b version) int {
		return func(a, b version) int {
			return cmp.Or(order*compareNumbers(a, b), cmp.Compare(slices.Index(numberTypes, a.typ), slices.Index(numberTypes, b.typ)))
		}
	}
	if of&widecol.Min != 0 {
		g.Min = result(slices.MinFunc(numbers, first(1)))
	}
	if of&widecol.Max != 0 {
		g.Max = result(slices.MinFunc(numbers, first(-1)))
	}
	sum, special := total(numbers)
	if of&widecol.Avg != 0 {
		average := special
		if sum != nil {
			average, _ = new(big.Rat).Quo(sum, big.NewRat(int64(len(numbers)), 1)).Float64()
		}
		g.Avg = double(average)
	}
	if of&widecol.Sum == 0 {
		return nil
	}
	if slices.ContainsFunc(numbers, version.isFloat) {
		if sum != nil {
			special, _ = sum.Float64()
			if math.IsInf(special, 0) {
				return widecol.SumOverflow(cell.F64)
			}
		}
		g.Sum = double(special)
		return nil
	}
	if !sum.Num().IsInt64() {
		return widecol.SumOverflow(cell.I64)
	}
	g.Sum = widecol.Number{Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, uint64(sum.Num().Int64()))}
	return nil
}

// numberTypes are the types of numbers. Of equal numbers the one with the earlier type is taken.
var numberTypes = []cell.Type{cell.I64, cell.I32, cell.Byte, cell.F64, cell.F32}

func (v version) isFloat() bool { return v.typ == cell.F64 || v.typ == cell.F32 }

// total returns the exact sum, or nil and the NaN or infinity that there is instead.
func total(numbers []version) (sum *big.Rat, special float64) {
	sum = new(big.Rat)
	for _, v := range numbers {
		if f := float([]byte(v.value)); v.isFloat() && (math.IsNaN(f) || math.IsInf(f, 0)) {
			special += f
			continue
		}
		x, _ := exact(v).Rat(nil)
		sum.Add(sum, x)
	}
	if special != 0 {
		return nil, special
	}
	return sum, 0
}

// exact returns the value of a number that is not NaN.
func exact(v version) *big.Float {
	switch {
	case v.isFloat():
		return big.NewFloat(float([]byte(v.value)))
	case v.typ == cell.Byte:
		return new(big.Float).SetInt64(int64(v.value[0]))
	}
	return new(big.Float).SetInt64(integer([]byte(v.value)))
}

// compareNumbers compares two numbers exactly: NaN is below all others, -0.0 below 0.
func compareNumbers(a, b version) int {
	if n, m := isNaN(a), isNaN(b); n || m {
		return cmp.Compare(digit(m), digit(n))
	}
	x, y := exact(a), exact(b)
	if order := x.Cmp(y); order != 0 {
		return order
	}
	return cmp.Compare(digit(y.Signbit()), digit(x.Signbit()))
}

func isNaN(v version) bool { return v.isFloat() && math.IsNaN(float([]byte(v.value))) }

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// result returns a number in its type. There is one NaN of each.
func result(v version) widecol.Number {
	n := widecol.Number{Type: v.typ, Value: []byte(v.value)}
	if isNaN(v) && v.typ == cell.F32 {
		n.Value = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	} else if isNaN(v) {
		return double(math.NaN())
	}
	return n
}

// double returns an f64. There is one NaN.
func double(f float64) widecol.Number {
	if math.IsNaN(f) {
		f = math.NaN()
	}
	return widecol.Number{Type: cell.F64, Value: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}
