package bigtable

import (
	"fmt"
	"strings"
	"testing"

	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/colonnade-db/colonnade/widecol"
)

// rowRange returns the range of a text such as "[a,b)" or "(a,": brackets are closed, parentheses open.
func rowRange(text string) *btpb.RowRange {
	r := new(btpb.RowRange)
	start, end, _ := strings.Cut(text, ",")
	if key, ok := strings.CutPrefix(start, "["); ok {
		r.StartKey = &btpb.RowRange_StartKeyClosed{StartKeyClosed: []byte(key)}
	}
	if key, ok := strings.CutPrefix(start, "("); ok {
		r.StartKey = &btpb.RowRange_StartKeyOpen{StartKeyOpen: []byte(key)}
	}
	if key, ok := strings.CutSuffix(end, "]"); ok {
		r.EndKey = &btpb.RowRange_EndKeyClosed{EndKeyClosed: []byte(key)}
	}
	if key, ok := strings.CutSuffix(end, ")"); ok {
		r.EndKey = &btpb.RowRange_EndKeyOpen{EndKeyOpen: []byte(key)}
	}
	return r
}

// rowSet returns the set of a text such as "a b [c,d)": keys and ranges.
func rowSet(text string) *btpb.RowSet {
	set := new(btpb.RowSet)
	for _, part := range strings.Fields(text) {
		if strings.Contains(part, ",") {
			set.RowRanges = append(set.RowRanges, rowRange(part))
		} else {
			set.RowKeys = append(set.RowKeys, []byte(part))
		}
	}
	return set
}

// keysOf returns the keys of rows, of which each has one cell.
func keysOf(text string) string {
	var keys []string
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(line, " ")
		keys = append(keys, key)
	}
	return strings.Join(keys, " ")
}

// TestRowSets: keys and ranges are merged, and each row comes once, in order.
func TestRowSets(t *testing.T) {
	h := withTable(t)
	for _, row := range strings.Fields("a aa b c d e") {
		h.ok(h.mutate(row, setCell("a", "q", 0, row)))
	}
	for text, want := range map[string]string{
		"":                        "a aa b c d e",
		",":                       "a aa b c d e",
		"[b,":                     "b c d e",
		"(b,":                     "c d e",
		",c]":                     "a aa b c",
		",c)":                     "a aa b",
		"[,)":                     "a aa b c d e",
		"(,]":                     "a aa b c d e",
		"[b,d]":                   "b c d",
		"[b,d)":                   "b c",
		"(b,d]":                   "c d",
		"(b,d)":                   "c",
		"[b,b]":                   "b",
		"(a,a\x00)":               "",
		"(a,aa)":                  "",
		"(a,aa]":                  "aa",
		"[f,":                     "",
		"d":                       "d",
		"x":                       "",
		"d b d":                   "b d",
		"c [b,d] (c, a":           "a b c d e",
		"[c,e) [a,b) a":           "a aa c d",
		"[a,aa] (aa,b] b e zz":    "a aa b e",
		"(e,e\x00) (a,aa) [bb,c)": "",
	} {
		if got := keysOf(h.rows(&btpb.ReadRowsRequest{Rows: rowSet(text)})); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		words := strings.Fields(want)
		for i := range len(words) / 2 {
			words[i], words[len(words)-1-i] = words[len(words)-1-i], words[i]
		}
		if got, want := keysOf(h.rows(&btpb.ReadRowsRequest{Rows: rowSet(text), Reversed: true})), strings.Join(words, " "); got != want {
			t.Errorf("%q reversed: got %s, want %s", text, got, want)
		}
		if got, want := keysOf(h.rows(&btpb.ReadRowsRequest{Rows: rowSet(text), Reversed: true, RowsLimit: 2})), strings.Join(words[:min(2, len(words))], " "); got != want {
			t.Errorf("%q, two, reversed: got %s, want %s", text, got, want)
		}
	}
}

// TestWrongRowSets: the error says which key or range is wrong.
func TestWrongRowSets(t *testing.T) {
	h := withTable(t)
	long := strings.Repeat("k", widecol.MaxRowKey+1)
	for text, want := range map[string]string{
		"a " + long:     "rows.row_keys[1]: row key has 4097 bytes",
		"[a,b) [b,a)":   "rows.row_ranges[1]: the range is empty: start_key_closed must be less than end_key_open",
		"[a,a)":         "rows.row_ranges[0]: the range is empty",
		"(a,a]":         "rows.row_ranges[0]: the range is empty: start_key_open must be less than end_key_closed",
		"(a,a)":         "rows.row_ranges[0]: the range is empty",
		"x [b,a]":       "rows.row_ranges[0]: the range is empty",
		"[a,b] x (b,a)": "rows.row_ranges[1]: the range is empty",
	} {
		_, err := h.readRows(&btpb.ReadRowsRequest{Rows: rowSet(text)})
		h.fails(fmt.Sprintf("%.40q", text), err, codes.InvalidArgument, want)
	}
	_, err := h.readRows(&btpb.ReadRowsRequest{Rows: &btpb.RowSet{RowKeys: [][]byte{{}}}})
	h.fails("empty key", err, codes.InvalidArgument, "rows.row_keys[0]: row key has 0 bytes")
}
