// Package rowfilter evaluates a widecol.RowFilter over the cells of a row while they stream by.
//
// A stored version is looked at once. What the tree makes of it is a list of marks, one for each copy: a
// label, and whether the value was stripped. So an interleave holds no cells, and a filter that neither
// copies nor decides about a row costs no memory at all.
//
// A condition must know whether its predicate lets any cell of the row through, before it can choose a
// branch. Eval holds the first cells of the row meanwhile, up to HeldBytes. If that is too little, the
// caller reads the row once more; see Eval.Undecided.
package rowfilter

import (
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
)

// Program is a filter tree with its compiled patterns. It is immutable.
type Program struct {
	root     *widecol.RowFilter
	patterns map[*widecol.RowFilter]*pattern
	labels   []string
}

// Compile compiles a tree that RowFilter.Check accepts. It keeps the tree.
func Compile(f *widecol.RowFilter) (*Program, error) {
	p := &Program{root: f, patterns: make(map[*widecol.RowFilter]*pattern)}
	if err := p.compile(f); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) compile(f *widecol.RowFilter) error {
	switch f.Op {
	case widecol.RowKeyRegex, widecol.FamilyRegex, widecol.QualifierRegex, widecol.ValueRegex:
		if p.patterns[f] != nil {
			return nil
		}
		compiled, err := newPattern(f.Pattern)
		if err != nil {
			return err
		}
		p.patterns[f] = compiled
	case widecol.ApplyLabel:
		if !slices.Contains(p.labels, f.Label) {
			p.labels = append(p.labels, f.Label)
		}
	}
	for _, sub := range below(f) {
		if err := p.compile(sub); err != nil {
			return err
		}
	}
	return nil
}

// Of reports whether the program is that of a tree.
func (p *Program) Of(f *widecol.RowFilter) bool { return p.root == f }

// below returns the filters right below f.
func below(f *widecol.RowFilter) []*widecol.RowFilter {
	if f.Op != widecol.Condition {
		return f.Filters
	}
	var subs []*widecol.RowFilter
	for _, sub := range []*widecol.RowFilter{f.If, f.Then, f.Else} {
		if sub != nil {
			subs = append(subs, sub)
		}
	}
	return subs
}

// ReadsValues reports whether a tree needs the values of the cells, for itself or, unless they are left
// out, for its result.
func ReadsValues(f *widecol.RowFilter, leftOut bool) bool {
	return readsValues(f, !leftOut, !leftOut)
}

// readsValues is ReadsValues for a part of a tree: what is behind it may need values, and so may sinks.
func readsValues(f *widecol.RowFilter, behind, sinks bool) bool {
	switch {
	case f == nil:
		return false
	case f.Op == widecol.Chain:
		for _, sub := range slices.Backward(f.Filters) {
			behind = readsValues(sub, behind, sinks)
		}
		return behind
	case f.Op == widecol.Interleave:
		return slices.ContainsFunc(f.Filters, func(sub *widecol.RowFilter) bool { return readsValues(sub, behind, sinks) })
	case f.Op == widecol.Condition:
		return readsValues(f.If, false, false) || readsValues(f.Then, behind, sinks) || readsValues(f.Else, behind, sinks)
	case f.Op == widecol.Sink:
		return sinks
	case f.Op == widecol.ValueRegex || f.Op == widecol.ValueRange:
		return true
	}
	return behind && f.Op != widecol.StripValue && f.Op != widecol.BlockAll
}

// byRow reports whether a filter looks only at the row key: it lets through all cells of a row, or none.
func byRow(f *widecol.RowFilter) bool {
	switch f.Op {
	case widecol.PassAll, widecol.BlockAll, widecol.RowKeyRegex, widecol.RowSample, widecol.StripValue, widecol.ApplyLabel:
		return true
	case widecol.Chain, widecol.Interleave, widecol.Condition:
		return !slices.ContainsFunc(below(f), func(sub *widecol.RowFilter) bool { return !byRow(sub) })
	}
	return false
}

// has reports whether the tree has a filter with one of the ops.
func has(f *widecol.RowFilter, ops ...widecol.FilterOp) bool {
	return slices.Contains(ops, f.Op) || slices.ContainsFunc(below(f), func(sub *widecol.RowFilter) bool { return has(sub, ops...) })
}

func count(f *widecol.RowFilter) (n int) {
	for _, sub := range below(f) {
		n += count(sub)
	}
	return min(n+1, math.MaxInt32)
}
