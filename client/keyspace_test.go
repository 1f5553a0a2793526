package client

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
)

// TestKeySpace: an answer is read as it is, and the ranges of one select rows.
func TestKeySpace(t *testing.T) {
	want := "/v1/table/t/keyspace"
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.String() != want {
			t.Errorf("%s %s, want %s", r.Method, r.URL, want)
		}
		io.WriteString(w, `{"result": {"ranges": [{"end": "b"}, {"start": "b", "end": {"base64": "/wA="}}, {"start": {"base64": "/wA="}}],
			"windows": [{"start": 60, "end": 120, "loads": [{"range": 2, "rows_read": 1, "rows_written": 2, "bytes_read": 3, "bytes_written": 4}]}]}}`)
	})
	table := open(t, server, Options{}).Table("t")
	k, err := table.KeySpace(t.Context(), Time{}, Time{})
	got := fmt.Sprint(k.Windows[0].Start.Micros(), k.Windows[0].End.Micros(), k.Windows[0].Loads)
	if err != nil || !slices.Equal(k.Ranges, []Range{{End: "b"}, {Start: "b", End: "\xff\x00"}, {Start: "\xff\x00"}}) || got != "60 120 [{2 1 2 3 4}]" {
		t.Errorf("got %+v, %s, %v", k.Ranges, got, err)
	}
	want = "/v1/table/t/keyspace?end=17&start=0"
	if _, err := table.KeySpace(t.Context(), At(0), At(17)); err != nil {
		t.Error(err)
	}
	table = webtable(t, open(t, newServer(t), Options{}))
	if k, err := table.KeySpace(t.Context(), Time{}, Time{}); err != nil || len(k.Ranges) == 0 {
		t.Errorf("of a new table: %+v, %v", k, err)
	}
}
