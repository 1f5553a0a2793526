package widecol

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// columnKeys are the column keys, as texts, that the filter tests check.
var columnKeys = []string{
	"a:", "a:x", "a:x\x00", "a:xy", "a:x:y", "a:y", "a:\x00", "a:\U0010ffff",
	"a-b:x", "aa:", "aa:x", "b:", "b:x", "b:a:x",
}

func selected(f Filter) []string {
	var keys []string
	for _, key := range columnKeys {
		family, qualifier, _ := strings.Cut(key, ":")
		if f.Columns == nil || f.Columns.Contains(cell.AppendColumn(nil, []byte(family), []byte(qualifier))) {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestPrefixFilterIsAPrefixOfTheText(t *testing.T) {
	prefixes := []string{"", ":", ":x", "a", "a:", "a\x00", "a\x00x", "a\x00:x", "a-", "c", "c:", "\x00", "a:\xf4", "é"}
	for _, key := range columnKeys {
		for i := range len(key) {
			prefixes = append(prefixes, key[:i+1], key[:i]+"~")
		}
	}
	for _, prefix := range prefixes {
		var want []string
		for _, key := range columnKeys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		f := PrefixFilter(prefix)
		if got := selected(f); !slices.Equal(got, want) {
			t.Errorf("PrefixFilter(%q) selects %q, want %q", prefix, got, want)
		}
		if f.Families != nil {
			t.Errorf("PrefixFilter(%q) names the families %q outright", prefix, f.Families)
		}
	}
}

func TestColumnsFilter(t *testing.T) {
	for _, tc := range []struct{ keys, want, families []string }{
		{nil, nil, nil},
		{[]string{"a:x"}, []string{"a:x"}, []string{"a"}},
		{[]string{"a:x:y"}, []string{"a:x:y"}, []string{"a"}},
		{[]string{"a"}, columnKeys[:8], []string{"a"}},
		{[]string{"a:"}, columnKeys[:8], []string{"a"}},
		{[]string{"b:", "a:y", "b:x"}, []string{"a:y", "b:", "b:x", "b:a:x"}, []string{"b", "a", "b"}},
		{[]string{"zz:x"}, nil, []string{"zz"}},
	} {
		f, err := ColumnsFilter(tc.keys...)
		if err != nil {
			t.Errorf("ColumnsFilter(%q): %v", tc.keys, err)
			continue
		}
		if got := selected(f); !slices.Equal(got, tc.want) || !slices.Equal(f.Families, tc.families) {
			t.Errorf("ColumnsFilter(%q) selects %q of %q, want %q of %q", tc.keys, got, f.Families, tc.want, tc.families)
		}
	}
}

func TestColumnsFilterErrors(t *testing.T) {
	long := "a:" + strings.Repeat("x", MaxQualifier)
	if _, err := ColumnsFilter(long); err != nil {
		t.Errorf("the longest qualifier: %v", err)
	}
	for _, bad := range []string{"", ":x", "a/b:x", "a\x00:x", strings.Repeat("f", MaxName+1) + ":x", long + "x"} {
		_, err := ColumnsFilter("a:x", bad)
		if err == nil || err.Kind != Invalid || err.Code != "invalid_column_key" || err.Index != 1 {
			t.Errorf("ColumnsFilter with %.30q: %v, want invalid_column_key at 1", bad, err)
		}
	}
}

func TestRowSelection(t *testing.T) {
	rows := []string{"", "a", "a\x00", "a\x00\x00", "a:", "a:b", "aa", "b", "\u00ff", "\U0010ffff", "\U0010ffffa", "\xff", "\xff\xff"}
	in := func(q *Query, row string) bool { return q.Rows.Contains([]byte(row)) }
	for _, row := range rows {
		q := NewQuery()
		q.SetKey([]byte(row))
		p := NewQuery()
		p.SetPrefix([]byte(row))
		for _, r := range rows {
			if got, want := in(&q, r), r == row; got != want {
				t.Errorf("SetKey(%q) selects %q: %t, want %t", row, r, got, want)
			}
			if got, want := in(&p, r), strings.HasPrefix(r, row); got != want {
				t.Errorf("SetPrefix(%q) selects %q: %t, want %t", row, r, got, want)
			}
		}
	}
}

func TestRowSelectionReplacesTheLast(t *testing.T) {
	q := NewQuery()
	q.SetKey([]byte("a"))
	q.SetPrefix(nil)
	if len(q.Rows) != 1 || len(q.Rows[0].Start) != 0 || q.Rows[0].End != nil {
		t.Errorf("SetPrefix(nil) after SetKey: %q, want all", q.Rows)
	}
}

func TestNewQuerySelectsEverything(t *testing.T) {
	want := Query{Rows: AllRows(), Times: AllTimes, ColumnCellLimit: -1, RowCellLimit: -1, RowLimit: -1, CellLimit: -1, Sample: 1}
	if got := fmt.Sprintf("%+v", NewQuery()); got != fmt.Sprintf("%+v", want) {
		t.Errorf("NewQuery = %s", got)
	}
}

// TestSampledIsExact compares Sampled, which computes in floating point, with exact fractions.
func TestSampledIsExact(t *testing.T) {
	const rows = 20_000
	for _, text := range []string{"1", "0.999", "0.99", "0.9", "0.75", "0.7", "0.5", "0.34", "0.3", "0.29", "0.1", "0.07", "0.05", "0.01", "0.003", "0.001", "0.000123"} {
		exact, _ := new(big.Rat).SetString(text)
		q := NewQuery()
		q.Sample, _ = exact.Float64()
		taken, want := int64(0), int64(0) // want is the smallest floor not reached yet
		for i := range int64(rows) {
			product := new(big.Rat).Mul(exact, new(big.Rat).SetInt64(i))
			floor := new(big.Int).Quo(product.Num(), product.Denom()).Int64()
			got := q.Sampled(i, taken)
			if got != (floor >= want) {
				t.Fatalf("sample %s: row %d stays: %t, want %t", text, i, got, floor >= want)
			}
			if got {
				taken++
				want = floor + 1
			}
		}
	}
}

func TestSampledCounts(t *testing.T) {
	for _, tc := range []struct {
		sample     float64
		rows, want int64
	}{
		{1, 10, 10}, {0.5, 10, 5}, {0.1, 100, 10}, {0.1, 101, 11}, {0.1, 1, 1}, {0.29, 100, 29}, {0.01, 1000, 10}, {1.0 / 3, 9, 3}, {1e-9, 1000, 1},
	} {
		q := Query{Sample: tc.sample}
		taken := int64(0)
		for i := range tc.rows {
			if q.Sampled(i, taken) {
				taken++
			}
		}
		if taken != tc.want {
			t.Errorf("sample %v of %d rows keeps %d, want %d", tc.sample, tc.rows, taken, tc.want)
		}
	}
}

func TestColumnsFilterErrorIsAnError(t *testing.T) {
	_, err := ColumnsFilter("")
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%v is no Error", err)
	}
}
