package rowfilter

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// node is a filter of the tree. A filter takes the copies of the cell at hand that reach it and returns
// those that it lets through. It may change the slice that it was given. What it returns is valid until it
// is applied again.
type node interface {
	apply(in []mark) []mark
	// exhausted reports whether nothing comes out of the filter any more in this row.
	exhausted() bool
	// findOpen marks the conditions of the filter that can be decided, and reports whether any is
	// undecided: then what comes out of the filter is not known.
	findOpen() (undecided bool)
	sinks() bool
}

// state is a node that counts cells of the row.
type state interface{ reset() }

// leaf is the part that filters without conditions and sinks have in common.
type leaf struct{}

func (leaf) exhausted() bool { return false }
func (leaf) findOpen() bool  { return false }
func (leaf) sinks() bool     { return false }

// build makes the nodes of a tree.
func (e *Eval) build(p *Program, f *widecol.RowFilter) node {
	switch f.Op {
	case widecol.Chain:
		return &chain{e.buildAll(p, f.Filters)}
	case widecol.Interleave:
		return &interleave{filters: e.buildAll(p, f.Filters)}
	case widecol.Condition:
		return e.buildCondition(p, f)
	case widecol.Sink:
		return sink{e: e}
	case widecol.RowKeyRegex:
		return &rowRegex{e: e, pattern: p.patterns[f]}
	case widecol.RowSample:
		return &rowSample{e: e, p: f.P}
	case widecol.FamilyRegex:
		return &columnRegex{e: e, pattern: p.patterns[f], text: &e.family, number: &e.families}
	case widecol.QualifierRegex:
		return &columnRegex{e: e, pattern: p.patterns[f], text: &e.qualifier, number: &e.columns}
	case widecol.ColumnRange:
		return &columnRange{e: e, family: []byte(f.Family), start: f.Start, end: f.End}
	case widecol.TimestampRange:
		return &times{e: e, times: f.Times}
	case widecol.ValueRegex:
		return &valueRegex{e: e, pattern: p.patterns[f]}
	case widecol.ValueRange:
		return &valueRange{e: e, start: f.Start, end: f.End}
	case widecol.RowOffset:
		n := &rowOffset{n: f.N}
		e.states = append(e.states, n)
		return n
	case widecol.RowLimit:
		n := &rowLimit{n: f.N}
		e.states = append(e.states, n)
		return n
	case widecol.ColumnLimit:
		return &columnLimit{e: e, n: f.N}
	case widecol.StripValue:
		return strip{}
	case widecol.ApplyLabel:
		return label{mark: p.label(f.Label)}
	case widecol.BlockAll:
		return block{}
	}
	return pass{}
}

func (e *Eval) buildAll(p *Program, fs []*widecol.RowFilter) []node {
	nodes := make([]node, len(fs))
	for i, f := range fs {
		nodes[i] = e.build(p, f)
	}
	return nodes
}

func (p *Program) label(text string) mark {
	for i, l := range p.labels {
		if l == text {
			return mark(i + 1)
		}
	}
	return 0
}

// all returns in if keep is true, else nothing.
func all(in []mark, keep bool) []mark {
	if keep {
		return in
	}
	return in[:0]
}

type pass struct{ leaf }

func (pass) apply(in []mark) []mark { return in }

type block struct{ leaf }

func (block) apply(in []mark) []mark { return in[:0] }
func (block) exhausted() bool        { return true }

type chain struct{ filters []node }

func (n *chain) apply(in []mark) []mark {
	for _, f := range n.filters {
		if in = f.apply(in); len(in) == 0 {
			break
		}
	}
	return in
}

func (n *chain) exhausted() bool {
	for _, f := range n.filters {
		if f.exhausted() {
			return true
		}
		if f.sinks() {
			return false
		}
	}
	return false
}

func (n *chain) findOpen() bool {
	for _, f := range n.filters {
		if f.exhausted() {
			return false // no cell gets further
		}
		if f.findOpen() {
			return true
		}
	}
	return false
}

func (n *chain) sinks() bool { return anySinks(n.filters) }

func anySinks(nodes []node) bool {
	for _, f := range nodes {
		if f.sinks() {
			return true
		}
	}
	return false
}

// interleave applies each filter to a copy of what reaches it. All copies are of one cell, so what comes
// out is in order however many there are.
type interleave struct {
	filters   []node
	copy, out []mark
}

func (n *interleave) apply(in []mark) []mark {
	n.out = n.out[:0]
	for _, f := range n.filters {
		n.copy = append(n.copy[:0], in...)
		n.out = append(n.out, f.apply(n.copy)...)
	}
	return n.out
}

func (n *interleave) exhausted() bool {
	for _, f := range n.filters {
		if !f.exhausted() {
			return false
		}
	}
	return true
}

func (n *interleave) findOpen() (undecided bool) {
	for _, f := range n.filters {
		if f.findOpen() {
			undecided = true
		}
	}
	return undecided
}

func (n *interleave) sinks() bool { return anySinks(n.filters) }

type sink struct {
	leaf
	e *Eval
}

func (n sink) apply(in []mark) []mark {
	if !n.e.dry {
		n.e.sunk = append(n.e.sunk, in...)
	}
	return in[:0]
}

func (n sink) sinks() bool { return true }

// rowRegex matches the key of each row once.
type rowRegex struct {
	leaf
	e       *Eval
	pattern *pattern
	row     uint64 // the row that matches is about
	matches bool
}

func (n *rowRegex) apply(in []mark) []mark { return all(in, !n.exhausted()) }

func (n *rowRegex) exhausted() bool {
	if n.row != n.e.rows {
		n.row, n.matches = n.e.rows, n.e.match(n.pattern, n.e.row)
	}
	return !n.matches
}

type rowSample struct {
	leaf
	e     *Eval
	p     float64
	row   uint64 // the row that taken is about
	taken bool
}

func (n *rowSample) apply(in []mark) []mark { return all(in, !n.exhausted()) }

func (n *rowSample) exhausted() bool {
	if n.row != n.e.rows {
		n.row, n.taken = n.e.rows, widecol.SampledRow(n.e.row, n.p)
	}
	return !n.taken
}

// columnRegex matches each family, or each qualifier, of a row once, and those that come in row after row
// once in all.
type columnRegex struct {
	leaf
	e       *Eval
	pattern *pattern
	text    *[]byte // the family or qualifier of the cell at hand
	number  *uint64 // and its number
	last    uint64  // the number that matches is about
	matches bool
	known   map[string]bool // what the first knownTexts texts were answered
}

const (
	knownTexts = 256
	knownBytes = 256 // of a text
)

func (n *columnRegex) apply(in []mark) []mark {
	if n.last != *n.number {
		n.last, n.matches = *n.number, n.match(*n.text)
	}
	return all(in, n.matches)
}

func (n *columnRegex) match(text []byte) bool {
	if n.pattern.exact || n.pattern.rest {
		return n.e.match(n.pattern, text) // as fast as a look-up
	}
	matches, known := n.known[string(text)]
	if known {
		return matches
	}
	matches = n.e.match(n.pattern, text)
	if len(n.known) < knownTexts && len(text) <= knownBytes && n.e.err == nil {
		if n.known == nil {
			n.known = make(map[string]bool)
		}
		n.known[string(text)] = matches
	}
	return matches
}

type columnRange struct {
	leaf
	e          *Eval
	family     []byte
	start, end widecol.Bound
	last       uint64 // the column that within is about
	within     bool
}

func (n *columnRange) apply(in []mark) []mark {
	if n.last != n.e.columns {
		n.last = n.e.columns
		n.within = bytes.Equal(n.family, n.e.family) && within(n.e.qualifier, n.start, n.end)
	}
	return all(in, n.within)
}

func within(b []byte, start, end widecol.Bound) bool {
	switch c := bytes.Compare(b, start.Value); {
	case start.Kind == widecol.Included && c < 0, start.Kind == widecol.Excluded && c <= 0:
		return false
	}
	switch c := bytes.Compare(b, end.Value); {
	case end.Kind == widecol.Included && c > 0, end.Kind == widecol.Excluded && c >= 0:
		return false
	}
	return true
}

type times struct {
	leaf
	e     *Eval
	times widecol.TimeRange
}

func (n *times) apply(in []mark) []mark { return all(in, n.times.Contains(n.e.cell.Time)) }

type valueRegex struct {
	leaf
	e       *Eval
	pattern *pattern
}

func (n *valueRegex) apply(in []mark) []mark {
	return n.e.byValue(in, func(value []byte) bool { return n.e.match(n.pattern, value) })
}

type valueRange struct {
	leaf
	e          *Eval
	start, end widecol.Bound
}

func (n *valueRange) apply(in []mark) []mark {
	return n.e.byValue(in, func(value []byte) bool { return within(value, n.start, n.end) })
}

// byValue keeps the copies whose value matches. It asks at most once for the value and once for the empty
// one of stripped copies.
func (e *Eval) byValue(in []mark, matches func([]byte) bool) []mark {
	var asked, answer [2]bool
	out := in[:0]
	for _, m := range in {
		i := m >> 31
		if !asked[i] {
			var value []byte
			if m&stripped == 0 {
				value = e.value()
			}
			asked[i], answer[i] = true, matches(value)
		}
		if answer[i] {
			out = append(out, m)
		}
	}
	return out
}

// value returns the value of the cell at hand as a filter sees it.
func (e *Eval) value() []byte {
	if e.cell.Type == cell.Bytes || e.cell.Type == cell.String {
		return e.cell.Value
	}
	return widecol.ValueBytes(e.number[:0], e.cell)
}

type rowOffset struct {
	leaf
	n, dropped int64
}

func (n *rowOffset) reset() { n.dropped = 0 }

func (n *rowOffset) apply(in []mark) []mark {
	drop := min(int64(len(in)), n.n-n.dropped)
	n.dropped += drop
	return in[drop:]
}

type rowLimit struct {
	leaf
	n, passed int64
}

func (n *rowLimit) reset() { n.passed = 0 }

func (n *rowLimit) apply(in []mark) []mark {
	keep := min(int64(len(in)), n.n-n.passed)
	n.passed += keep
	return in[:keep]
}

func (n *rowLimit) exhausted() bool { return n.passed >= n.n }

type columnLimit struct {
	leaf
	e         *Eval
	n, passed int64
	column    uint64 // the column that passed is about
}

func (n *columnLimit) apply(in []mark) []mark {
	if n.column != n.e.columns {
		n.column, n.passed = n.e.columns, 0
	}
	keep := min(int64(len(in)), n.n-n.passed)
	n.passed += keep
	return in[:keep]
}

type strip struct{ leaf }

func (strip) apply(in []mark) []mark {
	for i := range in {
		in[i] |= stripped
	}
	return in
}

type label struct {
	leaf
	mark mark
}

func (n label) apply(in []mark) []mark {
	for i := range in {
		in[i] = in[i]&stripped | n.mark
	}
	return in
}

// condition applies one of its branches, or nothing while it is undecided; see decide.go.
type condition struct {
	e               *Eval
	predicate       node
	then, otherwise node // block where there is none
	byRow           bool // the row key decides
	state           choice
	open            bool // the pass can decide about it
	inner           bool // the pass can decide about conditions in its predicate
}

type choice uint8

const (
	undecided choice = iota
	chosenThen
	chosenElse
)

func (e *Eval) buildCondition(p *Program, f *widecol.RowFilter) node {
	branch := func(f *widecol.RowFilter) node {
		if f == nil {
			return block{}
		}
		return e.build(p, f)
	}
	c := &condition{e: e, predicate: e.build(p, f.If), byRow: byRow(f.If), then: branch(f.Then), otherwise: branch(f.Else)}
	e.conditions = append(e.conditions, c)
	return c
}

func (n *condition) chosen() node {
	if n.state == chosenThen {
		return n.then
	}
	return n.otherwise
}

func (n *condition) apply(in []mark) []mark {
	if n.state != undecided {
		return n.chosen().apply(in)
	}
	if n.open && len(n.predicate.apply(in)) > 0 {
		n.state, n.open = chosenThen, false
		n.e.open--
	} else if n.inner {
		n.predicate.apply(in)
	}
	return in[:0]
}

func (n *condition) exhausted() bool { return n.state != undecided && n.chosen().exhausted() }

func (n *condition) findOpen() bool {
	if n.state != undecided {
		return n.chosen().findOpen()
	}
	if n.inner = n.predicate.findOpen(); !n.inner {
		n.open = true
		n.e.open++
	}
	return true
}

func (n *condition) sinks() bool { return false }
