package widecol

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Bounds of a filter tree. The first two are Bigtable's.
const (
	// MaxFilterBytes bounds the size of the message that encodes the tree for Bigtable.
	MaxFilterBytes = 20480
	// MaxFilterDepth bounds how deep filters may be nested, the root counted.
	MaxFilterDepth = 20
	// MaxFilterCopies bounds how many copies of one cell the interleaves of the tree can make. Without a
	// bound a tree of 20,480 bytes could make 2 to the power of 1,000.
	MaxFilterCopies = 10_000
	// maxLabel bounds a label, in bytes.
	maxLabel = 15
)

// Check returns an error if f is no filter tree that a Store takes. The error's Path is the place, such as
// "filter.chain.filters[1].value_regex_filter".
func (f *RowFilter) Check() *Error {
	_, err := f.CheckedSteps()
	return err
}

// CheckedSteps is Check, and returns how many steps the tree's patterns have, at most 40,000. 100,000 take a tenth of a
// second to compile.
func (f *RowFilter) CheckedSteps() (steps int, _ *Error) {
	c := filterCheck{}
	if err := c.check(f, "filter", 1, false); err != nil {
		return 0, err
	}
	if n := f.size(); n > MaxFilterBytes {
		return 0, filterError("filter", "the filter has %d bytes as a message, allowed are %d", n, MaxFilterBytes)
	}
	if through, sunk := f.copies(); through+sunk > MaxFilterCopies {
		return 0, filterError("filter", "the filter can make more than %d copies of a cell: nest fewer interleaves", MaxFilterCopies)
	}
	return c.steps, nil
}

// filterCheck checks a tree, node by node.
type filterCheck struct {
	steps int // of the patterns so far
}

func filterError(path, format string, args ...any) *Error {
	err := Errorf(Invalid, "invalid_filter", format, args...)
	err.Path = path
	return err
}

// check checks a filter and those below it. at is its place, depth that of the root is 1.
func (c *filterCheck) check(f *RowFilter, at string, depth int, inCondition bool) *Error {
	switch {
	case f == nil || f.Op == 0 || f.Op >= filterOps:
		return filterError(at, "the filter is empty: it must have one field that says what it does")
	case depth > MaxFilterDepth:
		return filterError(at, "filters are nested more than %d deep", MaxFilterDepth)
	}
	at += "." + f.Op.String()
	switch f.Op {
	case Chain, Interleave:
		return c.list(f, at, depth, inCondition)
	case Condition:
		return c.condition(f, at, depth)
	case RowKeyRegex, FamilyRegex, QualifierRegex, ValueRegex:
		return c.pattern(f, at)
	case Sink:
		if inCondition {
			return filterError(at, "a sink cannot be inside of a condition")
		}
	}
	if message := f.wrong(); message != "" {
		return filterError(at, "%s", message)
	}
	if f.inverted() {
		err := Errorf(Invalid, "invalid_range", "the range starts behind its end")
		err.Path = at
		return err
	}
	return nil
}

func (c *filterCheck) list(f *RowFilter, at string, depth int, inCondition bool) *Error {
	if len(f.Filters) < 2 {
		return filterError(at, "it has %d filters, at least 2 are needed", len(f.Filters))
	}
	labelled := false
	for i, sub := range f.Filters {
		place := at + ".filters[" + strconv.Itoa(i) + "]"
		if err := c.check(sub, place, depth+1, inCondition); err != nil {
			return err
		}
		if f.Op == Chain && sub.labels() {
			if labelled {
				return filterError(place, "a second filter of the chain applies a label: a cell can have only one")
			}
			labelled = true
		}
	}
	return nil
}

func (c *filterCheck) condition(f *RowFilter, at string, depth int) *Error {
	if f.If == nil {
		return filterError(at+".predicate_filter", "a condition needs a predicate_filter")
	}
	for _, sub := range []struct {
		f    *RowFilter
		name string
	}{{f.If, ".predicate_filter"}, {f.Then, ".true_filter"}, {f.Else, ".false_filter"}} {
		if sub.f == nil {
			continue
		}
		if err := c.check(sub.f, at+sub.name, depth+1, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *filterCheck) pattern(f *RowFilter, at string) *Error {
	switch {
	case len(f.Pattern) > MaxFilterBytes:
		return filterError(at, "the filter has more than %d bytes as a message", MaxFilterBytes)
	case f.Op == RowKeyRegex && len(f.Pattern) == 0:
		return filterError(at, "the regular expression is empty, and a row key never is")
	case f.Op == FamilyRegex && bytes.IndexByte(f.Pattern, ':') >= 0:
		return filterError(at, "the regular expression of a family's name must not contain a colon")
	}
	_, n, err := parsePattern(f.Pattern)
	if err == nil {
		if c.steps += n; c.steps > maxPatterns {
			err = Errorf(Invalid, "invalid_regex", "the regular expressions of the filter have more than %d steps in all, with repetitions counted as often as they can occur", maxPatterns)
		}
	}
	if err != nil {
		err.Path = at
	}
	return err
}

// wrong says what is wrong with the values of a filter without filters below it, "" for nothing.
func (f *RowFilter) wrong() string {
	switch f.Op {
	case Sink, PassAll, BlockAll, StripValue:
		if f.False {
			return "it must be true if it is there"
		}
	case RowSample:
		if !(f.P > 0 && f.P < 1) {
			return "the probability must be above 0 and below 1"
		}
	case RowOffset:
		if f.N < 0 || f.N > math.MaxInt32 {
			return "the number of cells must be from 0 to 2147483647"
		}
	case RowLimit, ColumnLimit:
		if f.N < 1 || f.N > math.MaxInt32 {
			return "the number of cells must be from 1 to 2147483647"
		}
	case ColumnRange:
		if err := CheckFamilyName(f.Family); err != nil {
			return "family_name: " + err.Error()
		}
	case TimestampRange:
		if f.Times.Start < 0 || f.Times.End < 0 {
			return "a time must not be below 0"
		}
	case ApplyLabel:
		if len(f.Label) == 0 || len(f.Label) > maxLabel || strings.Trim(f.Label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return "the label must have 1 to 15 characters of a-z, 0-9 and -"
		}
	}
	return ""
}

// inverted reports whether the range of a filter ends before it starts.
func (f *RowFilter) inverted() bool {
	switch f.Op {
	case ColumnRange, ValueRange:
		return f.Start.Kind != Unbounded && f.End.Kind != Unbounded && bytes.Compare(f.Start.Value, f.End.Value) > 0
	case TimestampRange:
		return f.Times.Start > f.Times.End
	}
	return false
}

// labels reports whether the filter or one below it applies a label.
func (f *RowFilter) labels() bool {
	if f == nil {
		return false
	}
	for _, sub := range f.Filters {
		if sub.labels() {
			return true
		}
	}
	return f.Op == ApplyLabel || f.If.labels() || f.Then.labels() || f.Else.labels()
}
