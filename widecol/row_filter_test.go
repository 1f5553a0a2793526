package widecol

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"
)

func filters(fs ...*RowFilter) []*RowFilter { return fs }

func pattern(op FilterOp, text string) *RowFilter { return &RowFilter{Op: op, Pattern: []byte(text)} }

var pass = &RowFilter{Op: PassAll}

// nested returns a filter of some depth, of chains with leaf in the deepest.
func nested(depth int, leaf *RowFilter) *RowFilter {
	for ; depth > 1; depth-- {
		leaf = &RowFilter{Op: Chain, Filters: filters(pass, leaf)}
	}
	return leaf
}

// doubled returns a chain of n interleaves that each double a cell.
func doubled(n int) *RowFilter {
	f := &RowFilter{Op: Chain, Filters: filters(pass)}
	for range n {
		f.Filters = append(f.Filters, &RowFilter{Op: Interleave, Filters: filters(pass, pass)})
	}
	return f
}

func TestRowFilterCheck(t *testing.T) {
	label := &RowFilter{Op: ApplyLabel, Label: "a-1"}
	sink := &RowFilter{Op: Sink}
	bound := func(kind BoundKind, value string) Bound { return Bound{kind, []byte(value)} }
	for _, tc := range []struct {
		name string
		f    *RowFilter
		path string // of the error, "" for none
		code string
	}{
		{"nothing", &RowFilter{}, "filter", "invalid_filter"},
		{"no such op", &RowFilter{Op: filterOps}, "filter", "invalid_filter"},
		{"pass all", pass, "", ""},
		{"pass all, false", &RowFilter{Op: PassAll, False: true}, "filter.pass_all_filter", "invalid_filter"},
		{"block all, false", &RowFilter{Op: BlockAll, False: true}, "filter.block_all_filter", "invalid_filter"},
		{"strip, false", &RowFilter{Op: StripValue, False: true}, "filter.strip_value_transformer", "invalid_filter"},
		{"sink, false", &RowFilter{Op: Sink, False: true}, "filter.sink", "invalid_filter"},
		{"chain of two", &RowFilter{Op: Chain, Filters: filters(pass, pass)}, "", ""},
		{"chain of one", &RowFilter{Op: Chain, Filters: filters(pass)}, "filter.chain", "invalid_filter"},
		{"chain with a hole", &RowFilter{Op: Chain, Filters: filters(pass, nil)}, "filter.chain.filters[1]", "invalid_filter"},
		{"interleave of one", &RowFilter{Op: Interleave, Filters: filters(pass)}, "filter.interleave", "invalid_filter"},
		{"condition", &RowFilter{Op: Condition, If: pass, Then: pass, Else: pass}, "", ""},
		{"condition without branches", &RowFilter{Op: Condition, If: pass}, "", ""},
		{"condition without predicate", &RowFilter{Op: Condition, Then: pass}, "filter.condition.predicate_filter", "invalid_filter"},
		{"sink", sink, "", ""},
		{"sink in a predicate", &RowFilter{Op: Condition, If: sink}, "filter.condition.predicate_filter.sink", "invalid_filter"},
		{"sink deep in a branch", &RowFilter{Op: Condition, If: pass, Else: nested(3, sink)},
			"filter.condition.false_filter.chain.filters[1].chain.filters[1].sink", "invalid_filter"},
		{"row key", pattern(RowKeyRegex, "a.*"), "", ""},
		{"row key, empty", pattern(RowKeyRegex, ""), "filter.row_key_regex_filter", "invalid_filter"},
		{"value, empty", pattern(ValueRegex, ""), "", ""},
		{"family with a colon", pattern(FamilyRegex, "a:.*"), "filter.family_name_regex_filter", "invalid_filter"},
		{"qualifier with a colon", pattern(QualifierRegex, "a:.*"), "", ""},
		{"no regex", &RowFilter{Op: Chain, Filters: filters(pass, pattern(ValueRegex, "a("))}, "filter.chain.filters[1].value_regex_filter", "invalid_regex"},
		{"unbalanced regex", pattern(ValueRegex, "a)|(b"), "filter.value_regex_filter", "invalid_regex"},
		{"back reference", pattern(ValueRegex, `(a)\1`), "filter.value_regex_filter", "invalid_regex"},
		{"huge regex", pattern(ValueRegex, "(?:"+strings.Repeat("ab", 25)+"){1000}"), "filter.value_regex_filter", "invalid_regex"},
		{"large regex", pattern(ValueRegex, "(?:abcdefghijklmno){1000}"), "", ""},
		{"large regexes", nested(4, pattern(ValueRegex, "(?:abcdefghijklmno){1000}")), "", ""},
		{"too large regexes", &RowFilter{Op: Chain, Filters: filters(
			pattern(ValueRegex, "(?:abcdefghijklmno){1000}"), pattern(ValueRegex, "(?:abcdefghijklmno){1000}"), pattern(ValueRegex, "(?:abcdefghijklmno){1000}"))},
			"filter.chain.filters[2].value_regex_filter", "invalid_regex"},
		{"sample", &RowFilter{Op: RowSample, P: 0.5}, "", ""},
		{"sample of 0", &RowFilter{Op: RowSample}, "filter.row_sample_filter", "invalid_filter"},
		{"sample of 1", &RowFilter{Op: RowSample, P: 1}, "filter.row_sample_filter", "invalid_filter"},
		{"sample of no number", &RowFilter{Op: RowSample, P: math.NaN()}, "filter.row_sample_filter", "invalid_filter"},
		{"offset of 0", &RowFilter{Op: RowOffset}, "", ""},
		{"offset below 0", &RowFilter{Op: RowOffset, N: -1}, "filter.cells_per_row_offset_filter", "invalid_filter"},
		{"row limit of 0", &RowFilter{Op: RowLimit}, "filter.cells_per_row_limit_filter", "invalid_filter"},
		{"row limit", &RowFilter{Op: RowLimit, N: math.MaxInt32}, "", ""},
		{"row limit too large", &RowFilter{Op: RowLimit, N: math.MaxInt32 + 1}, "filter.cells_per_row_limit_filter", "invalid_filter"},
		{"column limit of 0", &RowFilter{Op: ColumnLimit}, "filter.cells_per_column_limit_filter", "invalid_filter"},
		{"column range", &RowFilter{Op: ColumnRange, Family: "f", Start: bound(Included, "a"), End: bound(Excluded, "a")}, "", ""},
		{"column range without family", &RowFilter{Op: ColumnRange}, "filter.column_range_filter", "invalid_filter"},
		{"inverted column range", &RowFilter{Op: ColumnRange, Family: "f", Start: bound(Included, "b"), End: bound(Included, "a")}, "filter.column_range_filter", "invalid_range"},
		{"value range, open", &RowFilter{Op: ValueRange, Start: bound(Excluded, "b")}, "", ""},
		{"inverted value range", &RowFilter{Op: ValueRange, Start: bound(Excluded, "b"), End: bound(Included, "a")}, "filter.value_range_filter", "invalid_range"},
		{"times", &RowFilter{Op: TimestampRange, Times: TimeRange{Start: 5, End: 5}}, "", ""},
		{"inverted times", &RowFilter{Op: TimestampRange, Times: TimeRange{Start: 6, End: 5}}, "filter.timestamp_range_filter", "invalid_range"},
		{"times below 0", &RowFilter{Op: TimestampRange, Times: TimeRange{Start: -1, End: 5}}, "filter.timestamp_range_filter", "invalid_filter"},
		{"label", &RowFilter{Op: ApplyLabel, Label: "abc-xyz-0189"}, "", ""},
		{"label of 16", &RowFilter{Op: ApplyLabel, Label: "aaaaaaaaaaaaaaaa"}, "filter.apply_label_transformer", "invalid_filter"},
		{"no label", &RowFilter{Op: ApplyLabel}, "filter.apply_label_transformer", "invalid_filter"},
		{"label in capitals", &RowFilter{Op: ApplyLabel, Label: "aXa"}, "filter.apply_label_transformer", "invalid_filter"},
		{"two labels in an interleave", &RowFilter{Op: Interleave, Filters: filters(label, label)}, "", ""},
		{"two labels in a chain", &RowFilter{Op: Chain, Filters: filters(label, pass, &RowFilter{Op: Condition, If: pass, Then: label})},
			"filter.chain.filters[2]", "invalid_filter"},
		{"20 deep", nested(20, pass), "", ""},
		{"21 deep", nested(21, pass), "filter" + strings.Repeat(".chain.filters[1]", 19) + ".chain.filters[0]", "invalid_filter"},
		// A message of 20,480 bytes: 3 are the field's number and length.
		{"20,480 bytes", pattern(RowKeyRegex, strings.Repeat("a", 20480-4)), "", ""},
		{"20,481 bytes", pattern(RowKeyRegex, strings.Repeat("a", 20480-3)), "filter", "invalid_filter"},
		{"8,192 copies", doubled(13), "", ""},
		{"16,384 copies", doubled(14), "filter", "invalid_filter"},
		{"copies without number", doubled(2000), "filter", "invalid_filter"},
	} {
		err := tc.f.Check()
		switch {
		case tc.code == "" && err != nil:
			t.Errorf("%s: got %v, want it accepted", tc.name, err)
		case tc.code != "" && err == nil:
			t.Errorf("%s: accepted, want %s", tc.name, tc.code)
		case err != nil && (err.Kind != Invalid || err.Code != tc.code || err.Path != tc.path || !strings.HasPrefix(err.Error(), tc.path+": ")):
			t.Errorf("%s: got %q, code %s, want code %s at %s", tc.name, err, err.Code, tc.code, tc.path)
		}
	}
}

func TestFilterNamesAreThoseOfBigtable(t *testing.T) {
	seen := make(map[int]bool)
	for o := Chain; o < filterOps; o++ {
		if FilterOpOf(o.String()) != o {
			t.Errorf("the name %q is not that of op %d", o, o)
		}
		seen[filterNames[o].number] = true
	}
	if len(seen) != 19 || FilterOpOf("filters") != 0 || FilterOp(0).String() != "none" {
		t.Errorf("%d fields, want 19", len(seen))
	}
}

// bytesMatch matches a text of bytes against a pattern.
func bytesMatch(re *regexp.Regexp, text string) bool {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return re.MatchString(string(runes))
}

// The answers were compared with those of rsc.io/binaryregexp, which Google's emulator uses, where it knows
// the syntax.
func TestCompilePattern(t *testing.T) {
	for _, tc := range []struct {
		pattern   string
		yes, no   string // texts, separated by spaces
		yes1, no1 string // one more of each
	}{
		{pattern: `abc`, yes: "abc", no: "ab abcd xabc", no1: "abc\n"},
		{pattern: `a|b`, yes: "a b", no: "ab xa bx"},
		{pattern: `a.*`, yes: "a ab a\xff a\xc3\xa9", no: "ba", no1: "a\nb"},
		{pattern: `a\C*`, yes: "a a\xff", yes1: "a\nb", no: "b"},
		{pattern: `\C`, yes: "a \xff \xc3", yes1: "\n", no: "\xc3\xa9 ab"},
		{pattern: `\C\C`, yes: "\xc3\xa9 ab", no: "\xff abc"},
		{pattern: `.`, yes: "a \xff", no: "\xc3\xa9", no1: "\n"},
		{pattern: "é", yes: "é", no: "\xe9 e"},
		{pattern: "é+", yes: "é \xc3\xa9\xa9", no: "éé"}, // the plus is for the last byte
		{pattern: "\xe9", yes: "\xe9", no: "é"},
		{pattern: `\xe9`, yes: "\xe9", no: "é"},
		{pattern: "[é]", yes: "\xc3 \xa9", no: "é"},
		{pattern: "[\x80-\xff]*", yes: "\xff\x80 é", no: "a"},
		{pattern: `[^a]*`, yes: "\xff b", yes1: "", no: "a ba"},
		{pattern: `\\C`, yes: `\C`, no: "a \\"},
		{pattern: `\Q.*\E.`, yes: ".*x", no: "abx .*"},
		{pattern: `\Qa.b\C`, yes: `a.b\C`, no: `axb\C a.bx`},
		{pattern: "\\Q\xff", yes: "\xff", no: "ÿ"},
		{pattern: `[\]a]\C`, yes: "]x ax", no: "x]"},
		{pattern: `[]C]\C`, yes: "]x Cx", no: "x]"},
		{pattern: `[^]C]\C`, yes: "xx", no: "]x"},
		{pattern: `[[:alpha:]]\C`, yes: "ax", no: ":x [x"},
		{pattern: `[[:alpha:]\d]\C`, yes: "ax 1x", no: "x"},
		{pattern: `(?i)ab`, yes: "AB aB", no: "ABC"},
		{pattern: `(?s).`, yes: "a", yes1: "\n", no: "ab"},
		{pattern: `(?m)^a$`, yes: "a", no: "ab", no1: "a\na"},
		{pattern: ``, yes1: "", no: "a", no1: "\n"},
		{pattern: `a*`, yes1: "", yes: "aaa", no: "ab"},
		{pattern: `\pL`, yes: "a \xe9", no: "1 \xc3\xa9"},
		{pattern: "a\x00b", yes: "a\x00b", no: "ab"},
	} {
		re, err := CompilePattern([]byte(tc.pattern))
		if err != nil {
			t.Errorf("%q: %v", tc.pattern, err)
			continue
		}
		check := func(text string, want bool) {
			if got := bytesMatch(re, text); got != want {
				t.Errorf("%q matches %q: %t, want %t", tc.pattern, text, got, want)
			}
		}
		for _, text := range strings.Fields(tc.yes) {
			check(text, true)
		}
		for _, text := range strings.Fields(tc.no) {
			check(text, false)
		}
		if tc.yes1 != "" || tc.yes == "" {
			check(tc.yes1, true)
		}
		if tc.no1 != "" {
			check(tc.no1, false)
		}
	}
	for _, pattern := range []string{`a(`, `a)`, `a)|(b`, `[a`, `a\`, `[\C]`, `\Qa\E)`, `a**`, `(?z)`, `\8`, `a{1001}`, `(?<!a)b`} {
		if _, err := CompilePattern([]byte(pattern)); err == nil || err.Code != "invalid_regex" {
			t.Errorf("%q: got %v, want invalid_regex", pattern, err)
		}
	}
}

func FuzzCompilePattern(f *testing.F) {
	f.Add([]byte(`\Qa\C[\C]`), []byte("a\xff"))
	f.Add([]byte(`[[:alpha:]\]]{2,}`), []byte("ab"))
	f.Fuzz(func(t *testing.T, pattern, text []byte) {
		if re, err := CompilePattern(pattern); err == nil {
			bytesMatch(re, string(text))
		} else if err.Code != "invalid_regex" {
			t.Errorf("%q: %v", pattern, err)
		}
		quoted, err := CompilePattern(append([]byte(`\Q`), bytes.ReplaceAll(text, []byte(`\E`), nil)...))
		if err != nil && len(text) < maxPatterns {
			t.Errorf("%q cannot be quoted: %v", text, err)
		} else if want := bytes.ReplaceAll(text, []byte(`\E`), nil); err == nil && !bytesMatch(quoted, string(want)) {
			t.Errorf("%q quoted does not match itself", want)
		}
	})
}

func TestSampledRow(t *testing.T) {
	for _, p := range []float64{0.001, 0.1, 0.5, 0.9} {
		n := 0
		key := []byte("row000000")
		for i := range 100_000 {
			for j, v := len(key)-1, i; j > 2; j, v = j-1, v/10 {
				key[j] = byte('0' + v%10)
			}
			if SampledRow(key, p) {
				n++
			}
		}
		if want := p * 100_000; math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
			t.Errorf("a sample of %v has %d of 100,000 rows", p, n)
		}
	}
}
