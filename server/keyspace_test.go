package server

import (
	"context"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// loaded is a fake store with a load of its own.
type loaded struct {
	*fakeStore
	times widecol.TimeRange // that it was asked for
}

func (s *loaded) KeySpace(_ context.Context, _ string, times widecol.TimeRange) (widecol.KeySpace, error) {
	s.times = times
	return widecol.KeySpace{
		Bounds: [][]byte{[]byte("b"), {0xff, 0}},
		Windows: []widecol.LoadWindow{
			{Start: 60_000_000, End: 120_000_000, Loads: []widecol.RangeLoad{{Range: 0, RowsRead: 1, RowsWritten: 2, BytesRead: 3, BytesWritten: 5_000_000_000}, {Range: 2, RowsRead: 7}}},
			{Start: 180_000_000, End: 240_000_000, Loads: []widecol.RangeLoad{{Range: 1, BytesRead: 9}}},
		},
	}, nil
}

// TestKeySpace: an answer has all that a Store says, and its ranges are those that a scan takes.
func TestKeySpace(t *testing.T) {
	store := &loaded{fakeStore: newFakeStore()}
	c := clientOf(t, store, Options{})
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"}]}`)
	c.same(c.must(200, "GET", "/v1/table/t/keyspace", ""), `{"ranges":[{"end":"b"},{"start":"b","end":{"base64":"/wA="}},{"start":{"base64":"/wA="}}],"windows":[
		{"start":60000000,"end":120000000,"loads":[{"range":0,"rows_read":1,"rows_written":2,"bytes_read":3,"bytes_written":5000000000},
			{"range":2,"rows_read":7,"rows_written":0,"bytes_read":0,"bytes_written":0}]},
		{"start":180000000,"end":240000000,"loads":[{"range":1,"rows_read":0,"rows_written":0,"bytes_read":9,"bytes_written":0}]}]}`)
	if store.times != widecol.AllTimes {
		t.Errorf("asked for %v", store.times)
	}
	c.must(200, "GET", "/v1/table/t/keyspace?end=17&start=5", "")
	if want := (widecol.TimeRange{Start: 5, End: 17}); store.times != want {
		t.Errorf("asked for %v, want %v", store.times, want)
	}
	c.must(200, "POST", "/v1/table/t/scan", `{"row":{"range":{"start":"b","end":{"base64":"/wA="}}}}`)
	c.must(200, "POST", "/v1/table/t/scan", `{"row":{"range":{"end":"b"}}}`)
}

// TestKeySpaceOfOtherStores: a Store that does not sample has one range, and no load.
func TestKeySpaceOfOtherStores(t *testing.T) {
	c := clientOf(t, newFakeStore(), Options{})
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"}]}`)
	c.same(c.must(200, "GET", "/v1/table/t/keyspace", ""), `{"ranges":[{}],"windows":[]}`)
	if w := c.send("GET", "/v1/table/u/keyspace", ""); w.Code != 404 {
		t.Errorf("of no table: got %d", w.Code)
	}
}
