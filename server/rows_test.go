package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestItemsSelectLikeScans: an item of a rows request returns what a scan with the same selection does.
func TestItemsSelectLikeScans(t *testing.T) {
	c := newClient(t)
	c.paged("t")
	items := []string{
		`"row":{"prefix":"row1"}`,
		`"row":{"prefix":""}`,
		`"row":{"keys":["row07","none","row02","row07"]}`,
		`"row":{"range":{"start":"row03","end":"row05","inclusive":true}}`,
		`"row":{"ranges":[{"start":"row09","exclusive":true},{"end":"row02"}]}`,
		`"row":{"prefix":"row","limit":3,"offset":2}`,
		`"row":{"prefix":"row","sample":0.25,"cell_limit":2}`,
		`"row":{"prefix":"row"},"cell":{"limit":7}`,
		`"row":{"prefix":"row0"},"cell":{"time":{"start":2,"end":9}}`,
		`"row":{"prefix":"row0"},"cell":{"value":{"op":">","type":"i64","value":3}}`,
		`"row":{"key":"row05"},"cell":{"strip_value":true}`,
		`"row":{"key":"row05","limit":0}`,
		`"row":{"key":"row05","cell_limit":1},"cell":{"time":{"end":5}}`,
		`"row":{"prefix":"row","cell_limit":2},"column":{"families":["b"],"cell_limit":1},"filter":{"cells_per_row_offset_filter":1}`,
		`"row":{"key":"row05"}`,
	}
	var want, wantMissing []string
	for i, item := range items {
		p := pageOf{}
		if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/scan", "{"+item+"}"), &p); err != nil {
			t.Fatal(err)
		}
		if want = append(want, p.cells()...); len(p.Rows) == 0 {
			wantMissing = append(wantMissing, fmt.Sprint(i))
		}
	}
	var got struct {
		pageOf
		Missing []int `json:"missing"`
	}
	body := `{"items":[{` + strings.Join(items, "},{") + `}]}`
	if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/rows", body), &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.cells(), want) {
		t.Errorf("got  %q\nwant %q", got.cells(), want)
	}
	if missing := strings.Fields(strings.Trim(fmt.Sprint(got.Missing), "[]")); !slices.Equal(missing, wantMissing) || len(missing) != 1 {
		t.Errorf("missing are %s, want %s", missing, wantMissing)
	}
	if got.More != nil || got.Next != nil {
		t.Error("items have no pages")
	}
	rows, last := c.lines("/v1/table/t/rows", body)
	if cells := strings.Count(strings.Join(rows, ""), `"column_key"`); cells != len(want) || !strings.Contains(last, `"missing":[11]`) {
		t.Errorf("as lines there are %d cells, want %d, and at the end %s", cells, len(want), last)
	}
}

// TestItemLimits: what the selections of items take has a bound, and counts as memory of the request.
func TestItemLimits(t *testing.T) {
	c := newClient(t)
	c.webtable()
	item := `{"row":{"keys":["k"` + strings.Repeat(`,"k"`, maxRowRanges-1) + `]}}`
	items := maxRowRangesInAll / maxRowRanges
	body := `{"items":[` + item + strings.Repeat(","+item, items)
	c.refused(400, "too_many_rows", fmt.Sprintf("items[%d].row.keys[0]", items), "POST", "/v1/table/t/rows", body+"]}")
	c.refused(400, "too_many_rows", fmt.Sprintf("items[0].row.keys[%d]", maxRowRanges), "POST", "/v1/table/t/rows", `{"items":[`+strings.Replace(item, `"k"`, `"k","k"`, 1)+"]}")

	c.admission.Memory().Take(c.admission.Memory().Free() - 4<<20)
	wide := `{"row":{"prefix":"none"}}`
	for _, few := range []string{item, strings.Repeat(wide+",", 1000) + wide} {
		c.must(200, "POST", "/v1/table/t/rows", `{"items":[`+few+"]}")
	}
	c.refused(503, "overloaded", "", "POST", "/v1/table/t/rows", `{"items":[`+item+","+item+"]}")
	c.refused(503, "overloaded", "", "POST", "/v1/table/t/rows", `{"items":[`+wide+strings.Repeat(","+wide, 8192)+"]}")
}
