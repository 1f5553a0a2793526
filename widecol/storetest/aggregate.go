package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// aggregator is what the model's views have: the specification of widecol.RunAggregate.
type aggregator interface {
	Aggregate(ctx context.Context, a *widecol.Aggregate) (widecol.Aggregated, error)
}

// aggregate compares the results of an aggregate in both views. It first finishes the result that is being read.
func (v *heldView) aggregate(a *widecol.Aggregate) error {
	if v.subject == nil {
		return nil
	}
	if err := v.read(all); err != nil {
		return err
	}
	got, err := widecol.RunAggregate(background, v.subject, a)
	want, wantErr := v.model.(aggregator).Aggregate(background, a)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return err
	}
	if err := sameGroups(a, got, want); err != nil {
		return err
	}
	got, err = inParts(v.subject, a)
	if err != nil {
		return fmt.Errorf("in parts: %w", err)
	}
	if err := sameGroups(a, got, want); err != nil {
		return fmt.Errorf("in parts: %w", err)
	}
	return nil
}

// partBounds divide the rows of an aggregate that is evaluated in parts.
var partBounds = []string{"a:", "b", "row2"}

// inParts evaluates an aggregate in ranges of rows, the last first, as a server with several workers may. An
// aggregate with a limit that counts over rows has one part.
func inParts(view widecol.View, a *widecol.Aggregate) (widecol.Aggregated, error) {
	parts := []widecol.Query{a.Scan()}
	if q := parts[0]; q.RowLimit == widecol.NoLimit && q.CellLimit == widecol.NoLimit && q.Offset == 0 && q.Sample == 1 {
		parts = nil
		start := []byte(nil)
		for _, bound := range append(slices.Clone(partBounds), "") {
			part := q
			part.Rows = nil
			for _, r := range q.Rows {
				part.Rows = append(part.Rows, within(r, start, []byte(bound)))
			}
			part.Rows = widecol.NewRowSet(part.Rows...)
			parts = append(parts, part)
			start = []byte(bound)
		}
	}
	slices.Reverse(parts)
	t := widecol.NewAggregator(a)
	var stats widecol.Stats
	for i := range parts {
		part := widecol.NewAggregator(a)
		cost, err := widecol.AggregatorOf(background, view, &parts[i], part)
		if err == nil {
			err = t.Merge(part)
		}
		if err != nil {
			return widecol.Aggregated{}, err
		}
		stats.Rows += cost.Rows
		stats.Cells += cost.Cells
		stats.RowsScanned += cost.RowsScanned
		stats.CellsScanned += cost.CellsScanned
		stats.BytesScanned += cost.BytesScanned
	}
	groups, err := t.Groups()
	return widecol.Aggregated{Groups: groups, Stats: stats}, err
}

// within returns the part of a range of rows from start to end; an empty end is that of the table.
func within(r widecol.RowRange, start, end []byte) widecol.RowRange {
	if string(r.Start) < string(start) {
		r.Start = start
	}
	if len(end) > 0 && (r.End == nil || string(end) < string(r.End)) {
		r.End = end
	}
	return r
}

// sameGroups compares the results of an aggregate.
func sameGroups(a *widecol.Aggregate, got, want widecol.Aggregated) error {
	for i := range max(len(got.Groups), len(want.Groups)) {
		switch {
		case i >= len(got.Groups):
			return fmt.Errorf("the aggregate ends after %d groups, next should be\n\t%s", i, groupText(want.Groups[i]))
		case i >= len(want.Groups):
			return fmt.Errorf("the aggregate should end after %d groups, next is\n\t%s", i, groupText(got.Groups[i]))
		}
		if g, w := groupText(got.Groups[i]), groupText(want.Groups[i]); g != w {
			return fmt.Errorf("group %d of the aggregate is\n\t%s\nshould be\n\t%s", i, g, w)
		}
	}
	g, w := got.Stats, want.Stats
	if g.Rows != w.Rows || g.Cells != w.Cells {
		return fmt.Errorf("statistics of the aggregate tell of %d rows and %d cells, should be %d and %d", g.Rows, g.Cells, w.Rows, w.Cells)
	}
	if copies := a.Query.RowFilter != nil; copies {
		return nil
	}
	if g.RowsScanned < g.Rows || g.CellsScanned < g.Cells || g.BytesScanned < 11*g.Cells {
		return errors.New("less was scanned than was selected by the aggregate")
	}
	return nil
}

// groupText describes a group: key, count, sum, min, max, avg.
func groupText(g widecol.AggregateGroup) string {
	return fmt.Sprintf("%q %d %s %s %s %s", g.Key, g.Count, numberText(g.Sum), numberText(g.Min), numberText(g.Max), numberText(g.Avg))
}

func numberText(n widecol.Number) string {
	switch bits := append(slices.Clone(n.Value), make([]byte, 8)...); {
	case n.Type == cell.None && n.Value == nil:
		return "-"
	case !n.Type.Fits(n.Value):
		return fmt.Sprintf("%s(%x)", n.Type, n.Value)
	case n.Type == cell.F64:
		return fmt.Sprintf("f64(%v)", math.Float64frombits(binary.LittleEndian.Uint64(bits)))
	case n.Type == cell.F32:
		return fmt.Sprintf("f32(%v)", math.Float32frombits(binary.LittleEndian.Uint32(bits)))
	case n.Type == cell.I32:
		return fmt.Sprintf("i32(%d)", int32(binary.LittleEndian.Uint32(bits)))
	default:
		return fmt.Sprintf("%s(%d)", n.Type, int64(binary.LittleEndian.Uint64(bits)))
	}
}

// aggregation is an aggregate with the description of its query.
type aggregation struct {
	table   string // or that of a view
	slot    int    // of the view, -1 for a new one
	query   query
	groupBy widecol.GroupBy
	of      widecol.Functions
}

func (o *aggregation) run(w *world) error {
	a := widecol.Aggregate{Query: o.query.Query, GroupBy: o.groupBy, Of: o.of}
	if o.slot >= 0 {
		w.work.ViewReads++
		return w.nextView(o.slot).aggregate(&a)
	}
	w.work.Aggregates++
	v, err := w.openView(o.table)
	if err != nil {
		return err
	}
	defer v.close()
	return v.aggregate(&a)
}

func (o *aggregation) String() string {
	of := fmt.Sprintf("table %q", o.table)
	if o.slot >= 0 {
		of = fmt.Sprintf("view %d", o.slot)
	}
	by := [...]string{"", " by column", fmt.Sprintf(" by %d bytes of the row", o.groupBy.Length), fmt.Sprintf(" by row up to %q", o.groupBy.Delimiter)}
	return fmt.Sprintf("aggregate %s%s of %s: %s", functionsText(o.of), by[o.groupBy.By], of, &o.query)
}

func functionsText(of widecol.Functions) string {
	var names []string
	for i, name := range []string{"count", "sum", "min", "max", "avg"} {
		if of&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func (o *aggregation) reduced() (ops []op) {
	for _, q := range o.query.reduced() {
		simpler := *o
		simpler.query = q
		ops = append(ops, &simpler)
	}
	if o.groupBy.By != widecol.OneGroup {
		simpler := *o
		simpler.groupBy = widecol.GroupBy{}
		ops = append(ops, &simpler)
	}
	for of := o.of; of != 0; of &= of - 1 {
		simpler := *o
		if simpler.of &^= of & -of; simpler.of != 0 {
			ops = append(ops, &simpler)
		}
	}
	return ops
}

// aggregate returns an aggregate of a table, or of an open view.
func (g *generator) aggregate() op {
	o := &aggregation{table: g.table(), slot: -1, of: widecol.Functions(1 + g.IntN(31))}
	if g.one(4) {
		o.slot = g.IntN(slots)
		o.table = g.viewed[o.slot]
	}
	o.query = g.query(o.table, g.one(6))
	o.query.chunks = all
	switch o.groupBy.By = widecol.Grouping(g.IntN(4)); o.groupBy.By {
	case widecol.ByRowLength:
		o.groupBy.Length = 1 + g.IntN(4)
	case widecol.ByRowDelimiter:
		o.groupBy.Delimiter = []byte(pick(g, delimiters))
	}
	return o
}

// delimiters are in some of rowKeys.
var delimiters = []string{":", "a", "\x00", "row", "\xff", "w1"}

// number returns an encoded number, now and then a small one, that other types have too.
func (g *generator) number(typ cell.Type) []byte {
	small := float64(g.IntN(9)-4) / 2
	if g.one(2) {
		small = float64(g.Uint64())
	}
	switch {
	case typ == cell.F64 && g.one(2):
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(small))
	case typ == cell.F64 && g.one(9):
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(pick(g, []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1 << 63, -1 << 63})))
	case typ == cell.F64:
		return binary.LittleEndian.AppendUint64(nil, g.Uint64())
	case typ == cell.F32 && g.one(2):
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(small)))
	case typ == cell.I64 && g.one(2):
		return binary.LittleEndian.AppendUint64(nil, uint64(g.Int64N(9)-4))
	case typ == cell.I64:
		return binary.LittleEndian.AppendUint64(nil, g.Uint64())
	case typ == cell.I32 && g.one(2):
		return binary.LittleEndian.AppendUint32(nil, uint32(g.IntN(9)-4))
	}
	return binary.LittleEndian.AppendUint32(nil, g.Uint32())
}
