package server

import (
	"fmt"
	"strings"
	"testing"
)

// TestRegexesMadeToHurt: a pattern that takes exponential time elsewhere takes linear time here, and one that is too large
// is refused.
func TestRegexesMadeToHurt(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/h", `{"column_families":[{"name":"title"}]}`)
	value := strings.Repeat("a", 1<<16) + "!"
	c.must(200, "POST", "/v1/table/h/write", fmt.Sprintf(`{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"string","value":%q}]}]}`, value))
	scan := func(pattern string) string { return fmt.Sprintf(`{"filter":{"value_regex_filter":%q}}`, pattern) }
	for _, pattern := range []string{"(a*)*b", "(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*(.*)*b", "(a?){500}a{500}", `(\p{L}{100}){10}b`, strings.Repeat("abcdefghi|", 1_900) + "b"} {
		if e := c.call("POST", "/v1/table/h/scan", scan(pattern)); e.Status != 200 || !strings.Contains(string(e.Result), `"row_count":0`) {
			t.Errorf("%s: got %d %s", pattern, e.Status, e.Message)
		}
	}
	for name, pattern := range map[string]string{
		"repetitions of repetitions": "(x{1000}){1000}",
		"a large repetition":         "x{1001}",
		"an alternation of words":    strings.Repeat("abcdefghi|", 3_000) + "z",
		"deep groups":                strings.Repeat("(", 2000) + strings.Repeat(")", 2000),
	} {
		for _, end := range []string{"scan", "count"} {
			e := c.call("POST", "/v1/table/h/"+end, scan(pattern))
			if e.Status != 400 || e.Error == nil || e.Error.Code != "invalid_regex" && e.Error.Code != "invalid_filter" || !strings.HasPrefix(e.Error.At, "filter") {
				t.Errorf("%s: %s: got %d %+v %s", end, name, e.Status, e.Error, e.Message)
			}
		}
	}
}

// TestTenThousandRanges: a scan, a count and a deletion take as many, and do what they do with one.
func TestTenThousandRanges(t *testing.T) {
	const n = 10_000
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/h", `{"column_families":[{"name":"title"}]}`)
	var items, ranges []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"row_key":"row%05d","cells":[{"column_key":"title:","type":"i64","value":1}]}`, i))
		ranges = append(ranges, fmt.Sprintf(`{"start":"row%05d","end":"row%05d/"}`, i, i))
	}
	items = append(items, `{"row_key":"other","cells":[{"column_key":"title:","type":"i64","value":1}]}`)
	c.must(200, "POST", "/v1/table/h/write", `{"items":[`+strings.Join(items, ",")+`]}`)
	row := `{"row":{"ranges":[` + strings.Join(ranges, ",") + `]}}`
	for _, end := range []string{"scan", "count"} {
		if got := string(c.must(200, "POST", "/v1/table/h/"+end, row)); !strings.Contains(got, fmt.Sprintf(`"row_count":%d`, n)) {
			t.Errorf("%s: got %.200s", end, got)
		}
	}
	c.must(200, "POST", "/v1/table/h/delete", row)
	if got := string(c.must(200, "POST", "/v1/table/h/count", `{}`)); !strings.Contains(got, `"row_count":1,`) {
		t.Errorf("after the deletion: %s", got)
	}
}
