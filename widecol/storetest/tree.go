package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

// Filter trees of random queries. Most of their patterns and bounds match some of what the generator
// writes, and not all.
var (
	rowPatterns       = []string{`a\C*`, `a.*`, `.*`, `row[12]`, `a|b|row3`, `row1`, `\C*:\C*`, `(?i)ROW.*`, `[^a]\C*`, "é", `(aa|b)?`, `a$b|row\d$`}
	familyPatterns    = []string{`a`, `a.*`, `[bz]`, `.*`, `a|z`, `a-b`, `x`}
	qualifierPatterns = []string{``, `x`, `x.*`, `x\C*`, `\C*`, `.*y`, `[xy]`, `x:y|y`, `\x00`, `\C{4}`}
	valuePatterns     = []string{``, `\C*`, `\C{8}`, `[0-7].*`, `.*[a-f]`, `\x00\C*`, `[\x80-\xff]\C*`, `\C{1,4}`, `\x01`}
	valueBounds       = []string{"", "\x00", "\x01", "3", "8", "a", "\x80", "\xff"}
	treeLabels        = []string{"x", "y-1", "zzz"}
)

// RandomFilter returns a filter tree that a Store takes, as Random draws them for its queries.
func RandomFilter(rnd *rand.Rand) *widecol.RowFilter { return (&generator{Rand: rnd}).tree() }

// FilterText shows a filter tree.
func FilterText(f *widecol.RowFilter) string { return treeText(f) }

// tree returns a filter tree that a Store takes.
func (g *generator) tree() *widecol.RowFilter {
	for {
		f := g.treeNode(1+g.IntN(4), false)
		if f.Check() == nil { // it may have two labels in a chain
			return f
		}
	}
}

// treeNode returns a filter of at most the depth. Inside of conditions there are no sinks.
func (g *generator) treeNode(depth int, inCondition bool) *widecol.RowFilter {
	if depth == 1 || g.one(6) {
		return g.treeLeaf(inCondition)
	}
	f := &widecol.RowFilter{}
	switch die := g.IntN(10); {
	case die < 5:
		f.Op = widecol.Chain
	case die < 8:
		f.Op = widecol.Interleave
	default:
		f.Op, f.If = widecol.Condition, g.treeNode(depth-1, true)
		for _, branch := range []**widecol.RowFilter{&f.Then, &f.Else} {
			if !g.one(4) {
				*branch = g.treeNode(depth-1, true)
			}
		}
		return f
	}
	for range 2 + g.IntN(2) {
		f.Filters = append(f.Filters, g.treeNode(depth-1, inCondition))
	}
	return f
}

func (g *generator) treeLeaf(inCondition bool) *widecol.RowFilter {
	f := &widecol.RowFilter{Op: widecol.Sink + widecol.FilterOp(g.IntN(int(widecol.ApplyLabel-widecol.Sink)+1))}
	regex := func(patterns []string) { f.Pattern = []byte(pick(g, patterns)) }
	switch f.Op {
	case widecol.Sink, widecol.BlockAll:
		if inCondition && f.Op == widecol.Sink || g.one(2) {
			f.Op = widecol.PassAll
		}
	case widecol.RowKeyRegex:
		regex(rowPatterns)
	case widecol.FamilyRegex:
		regex(familyPatterns)
	case widecol.QualifierRegex:
		regex(qualifierPatterns)
	case widecol.ValueRegex:
		regex(valuePatterns)
	case widecol.RowSample:
		f.P = 0.2 + 0.2*float64(g.IntN(4))
	case widecol.ColumnRange:
		f.Family = g.family()
		f.Start, f.End = g.bounds(qualifiers)
	case widecol.ValueRange:
		f.Start, f.End = g.bounds(valueBounds)
	case widecol.TimestampRange:
		f.Times = widecol.TimeRange{Start: g.pastOrFuture(), End: g.pastOrFuture()}
		if f.Times.Start > f.Times.End {
			f.Times.Start, f.Times.End = f.Times.End, f.Times.Start
		}
	case widecol.RowOffset:
		f.N = g.Int64N(3)
	case widecol.RowLimit, widecol.ColumnLimit:
		f.N = 1 + g.Int64N(4)
	case widecol.ApplyLabel:
		f.Label = pick(g, treeLabels)
	}
	return f
}

// bounds returns the bounds of a range that is not inverted.
func (g *generator) bounds(values []string) (start, end widecol.Bound) {
	a, b := pick(g, values), pick(g, values)
	if a > b {
		a, b = b, a
	}
	bound := func(value string) (w widecol.Bound) {
		if w.Kind = widecol.BoundKind(g.IntN(3)); w.Kind != widecol.Unbounded {
			w.Value = []byte(value)
		}
		return w
	}
	return bound(a), bound(b)
}

// simplerTrees returns trees that each lack something of f: f replaced by a filter below it, or one of
// those by a simpler one.
func simplerTrees(f *widecol.RowFilter) (trees []*widecol.RowFilter) {
	if f == nil {
		return nil
	}
	for _, sub := range append([]*widecol.RowFilter{f.If, f.Then, f.Else}, f.Filters...) {
		if sub != nil {
			trees = append(trees, sub)
		}
	}
	for i := range f.Filters {
		if len(f.Filters) > 2 {
			c := *f
			c.Filters = slices.Delete(slices.Clone(f.Filters), i, i+1)
			trees = append(trees, &c)
		}
		for _, simpler := range simplerTrees(f.Filters[i]) {
			c := *f
			c.Filters = slices.Clone(f.Filters)
			c.Filters[i] = simpler
			trees = append(trees, &c)
		}
	}
	for i, of := range []func(f *widecol.RowFilter) **widecol.RowFilter{
		func(f *widecol.RowFilter) **widecol.RowFilter { return &f.If },
		func(f *widecol.RowFilter) **widecol.RowFilter { return &f.Then },
		func(f *widecol.RowFilter) **widecol.RowFilter { return &f.Else },
	} {
		simpler := simplerTrees(*of(f))
		if i > 0 && *of(f) != nil {
			simpler = append(simpler, nil)
		}
		for _, s := range simpler {
			c := *f
			*of(&c) = s
			trees = append(trees, &c)
		}
	}
	return trees
}

// treeText shows a tree.
func treeText(f *widecol.RowFilter) string {
	if f == nil {
		return "-"
	}
	bound := func(b widecol.Bound) string { return fmt.Sprintf("%s%q", []string{"", "=", "~"}[b.Kind], b.Value) }
	switch f.Op {
	case widecol.Chain, widecol.Interleave:
		var subs []string
		for _, sub := range f.Filters {
			subs = append(subs, treeText(sub))
		}
		return f.Op.String() + "(" + strings.Join(subs, ", ") + ")"
	case widecol.Condition:
		return "if " + treeText(f.If) + " then " + treeText(f.Then) + " else " + treeText(f.Else) + " end"
	case widecol.RowKeyRegex, widecol.FamilyRegex, widecol.QualifierRegex, widecol.ValueRegex:
		return fmt.Sprintf("%s %q", f.Op, f.Pattern)
	case widecol.RowSample:
		return fmt.Sprintf("%s %v", f.Op, f.P)
	case widecol.ColumnRange:
		return fmt.Sprintf("%s %s %s %s", f.Op, f.Family, bound(f.Start), bound(f.End))
	case widecol.ValueRange:
		return fmt.Sprintf("%s %s %s", f.Op, bound(f.Start), bound(f.End))
	case widecol.TimestampRange:
		return fmt.Sprintf("%s %s %s", f.Op, clockText(f.Times.Start), clockText(f.Times.End))
	case widecol.RowOffset, widecol.RowLimit, widecol.ColumnLimit:
		return fmt.Sprintf("%s %d", f.Op, f.N)
	case widecol.ApplyLabel:
		return fmt.Sprintf("%s %s", f.Op, f.Label)
	}
	return f.Op.String()
}
