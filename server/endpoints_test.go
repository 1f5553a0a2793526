package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

func TestTables(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/b", `{"column_families":[{"name":"f"},{"name":"g","gc_settings":{"ttl_secs":60,"version_limit":3,"mode":"intersection"}},{"name":"h"}],
		"locality_groups":[["h","f"]]}`)
	c.must(201, "PUT", "/v1/table/a%23.$-9", "")
	c.same(c.must(200, "GET", "/v1/table", ""), `{"cache_stats":{"block_count":0,"memory_usage_in_bytes":0},"tables":{"count":2,"items":[
		{"name":"a#.$-9","column_families":[],"locality_groups":[],"disk_space_in_bytes":0,
			"partitions":[{"name":"_man_a#.$-9","path":"memory"},{"name":"_dat_a#.$-9","path":"memory"}]},
		{"name":"b","column_families":[{"name":"f","gc_settings":{"ttl_secs":null,"version_limit":null}},
			{"name":"g","gc_settings":{"ttl_secs":60,"version_limit":3,"mode":"intersection"}},{"name":"h","gc_settings":{"ttl_secs":null,"version_limit":null}}],
			"locality_groups":[{"id":"1","column_families":["h","f"]}],"disk_space_in_bytes":0,
			"partitions":[{"name":"_man_b","path":"memory"},{"name":"_dat_b","path":"memory"},{"name":"_lg_1","path":"memory"}]}]}}`)
	c.same(c.must(200, "GET", "/v1/table/a%23.$-9", ""), `{"name":"a#.$-9","column_families":[],"locality_groups":[],"disk_space_in_bytes":0,"partitions":[
		{"name":"_man_a#.$-9","path":"memory","levels":[],"cells":0,"disk_space_in_bytes":0,"memtable_bytes":0,"compaction":null,"error":null},
		{"name":"_dat_a#.$-9","path":"memory","levels":[],"cells":0,"disk_space_in_bytes":0,"memtable_bytes":0,"compaction":null,"error":null}]}`)
	c.refused(409, "table_exists", "path", "PUT", "/v1/table/b", "")
	c.must(202, "DELETE", "/v1/table/b", "")
	c.refused(404, "unknown_table", "path", "DELETE", "/v1/table/b", "")
	c.must(201, "PUT", "/v1/table/b", "")
	if got := string(c.must(200, "GET", "/v1/table/b", "")); strings.Contains(got, `"f"`) {
		t.Errorf("got %s for a table created again, want it empty", got)
	}
}

func TestFamilies(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.refused(409, "column_family_exists", "column_families[1].name", "POST", "/v1/table/t/column-family", `{"column_families":[{"name":"new"},{"name":"title"}]}`)
	c.must(200, "PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{"version_limit":1,"ttl_secs":null}}`)
	c.same(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.a"},"column":{"key":"title"}}]}`),
		`{"rows":[{"row_key":"org.a","columns":{"title":{"":[{"time":2,"type":"string","value":"A2"}]}}}],"missing":[],
		"row_count":1,"cell_count":1,"rows_scanned":1,"cells_scanned":2,"bytes_scanned":41,"affected_locality_groups":1}`)
	c.must(200, "PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{}}`)
	if got := string(c.must(200, "GET", "/v1/table/t", "")); !strings.Contains(got, `{"name":"title","gc_settings":{"ttl_secs":null,"version_limit":null}}`) {
		t.Errorf("got %s, want the settings of title gone", got)
	}
	c.must(202, "DELETE", "/v1/table/t/column-family/title", "")
	c.refused(404, "unknown_column_family", "path", "DELETE", "/v1/table/t/column-family/title", "")
	c.must(201, "POST", "/v1/table/t/column-family", `{"locality_group":false,"column_families":[{"name":"title"}]}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"column":{"key":"title"}}`),
		`{"row_count":0,"cell_count":0,"cells_scanned":3,"bytes_scanned":90}`)
}

// answerOf is a result with these rows, as far as the rows go.
func answerOf(rows ...string) string { return "[" + strings.Join(rows, ",") + "]" }

// rowsOf returns the rows of a result.
func (c *client) rowsOf(result []byte) []byte {
	c.t.Helper()
	text := string(result)
	end := strings.Index(text, `,"row_count"`)
	if !strings.HasPrefix(text, `{"rows":`) || end < 0 {
		c.t.Fatalf("got the result %s", result)
	}
	return []byte(text[len(`{"rows":`):end])
}

func TestRows(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, e := range []struct{ items, rows, missing string }{
		{`{"row":{"key":"org.a"}}`, answerOf(orgA), `[]`},
		{`{"row":{"key":"org.b"}},{"row":{"key":"org"}},{"row":{"key":"org.a"}},{"row":{"key":"org.b"}},{"row":{"key":"z"}}`, answerOf(orgB, orgA, orgB), `[1,4]`},
		{`{"row":{"key":"org.a"},"column":{"key":"contents:"}}`, answerOf(), `[0]`},
		{`{"row":{"key":"org.a","cell_limit":1}},{"column":{"key":"title","cell_limit":1},"row":{"key":"org.a"}}`, answerOf(
			`{"row_key":"org.a","columns":{"anchor":{"c":[{"time":1,"type":"i64","value":-7}]}}}`,
			`{"row_key":"org.a","columns":{"title":{"":[{"time":2,"type":"string","value":"A2"}]}}}`), `[]`},
		{`{"row":{"key":"org.a"},"column":{"key":"anchor:http://b/:80"}}`, answerOf(
			`{"row_key":"org.a","columns":{"anchor":{"http://b/:80":[{"time":1,"type":"string","value":"link"}]}}}`), `[]`},
		{`{"row":{"key":"org.a"},"column":{"multi_key":["anchor:c","contents","anchor:c"]}}`, answerOf(
			`{"row_key":"org.a","columns":{"anchor":{"c":[{"time":1,"type":"i64","value":-7}]}}}`), `[]`},
		{`{"row":{"key":"org.a"},"column":{"prefix":"anchor:http"}},{"row":{"key":"org.a"},"column":{"prefix":"nothing"}}`, answerOf(
			`{"row_key":"org.a","columns":{"anchor":{"http://b/:80":[{"time":1,"type":"string","value":"link"}]}}}`), `[1]`},
		{`{"row":{"key":"org.a"},"column":{}}`, answerOf(orgA), `[]`},
		{`{"row":{"key":"org.a"},"column":{"cell_limit":0}}`, answerOf(), `[0]`},
	} {
		result := c.must(200, "POST", "/v1/table/t/rows", `{"items":[`+e.items+`]}`)
		c.same(c.rowsOf(result), e.rows)
		if !strings.HasSuffix(string(result), `"missing":`+e.missing+`}`) {
			t.Errorf("%s: got %s, want %s missing", e.items, result, e.missing)
		}
	}
	c.same(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.b"}},{"row":{"key":"com.c"},"column":{"key":"title"}}]}`), `{"rows":[`+orgB+","+comC+`],
		"row_count":2,"cell_count":3,"rows_scanned":2,"cells_scanned":3,"bytes_scanned":65,"affected_locality_groups":2,"missing":[]}`)
	for _, e := range []struct{ code, at, body string }{
		{"unknown_column_family", "items[0].column.key", `{"items":[{"row":{"key":"a"},"column":{"key":"nope:"}}]}`},
		{"unknown_column_family", "items[1].column.multi_key[2]", `{"items":[{"row":{"key":"org.a"},"column":{"key":"title"}},{"row":{"key":"a"},"column":{"multi_key":["title:","anchor:a","nope:"]}}]}`},
	} {
		c.refused(404, e.code, e.at, "POST", "/v1/table/t/rows", e.body)
	}
}

func TestScan(t *testing.T) {
	c := newClient(t)
	c.webtable()
	first := func(cells string) string { return `{"row_key":"org.a","columns":{` + cells + `}}` }
	for _, e := range []struct{ body, rows string }{
		{`{}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"prefix":""}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"prefix":"org."}}`, answerOf(orgA, orgB)},
		{`{"row":{"prefix":"org.b"}}`, answerOf(orgB)},
		{`{"row":{"range":{}}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"range":{"start":"org.a"}}}`, answerOf(orgA, orgB)},
		{`{"row":{"range":{"end":"org.a"}}}`, answerOf(comC)},
		{`{"row":{"range":{"end":"org.a","inclusive":false}}}`, answerOf(comC)},
		{`{"row":{"range":{"inclusive":true,"end":"org.a","start":""}}}`, answerOf(comC, orgA)},
		{`{"row":{"range":{"start":"org.a","end":"org.a"}}}`, answerOf()},
		{`{"row":{"range":{"start":"org.a","end":"org.a","inclusive":true}}}`, answerOf(orgA)},
		{`{"row":{"range":{"start":"org.a","exclusive":true}}}`, answerOf(orgB)},
		{`{"row":{"range":{"start":"","exclusive":true}}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"range":{"exclusive":false,"inclusive":false}}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"range":{"start":"org.a","exclusive":false}}}`, answerOf(orgA, orgB)},
		{`{"row":{"range":{"start":"org.a","end":"org.a","exclusive":true,"inclusive":true}}}`, answerOf()},
		{`{"row":{"range":{"start":"org.a","end":"org.b","exclusive":true,"inclusive":true}}}`, answerOf(orgB)},
		{`{"row":{"key":"org.a"}}`, answerOf(orgA)},
		{`{"row":{"key":"org"}}`, answerOf()},
		{`{"row":{"keys":["org.b","nothing","com.c","org.b"]}}`, answerOf(comC, orgB)},
		{`{"row":{"keys":["org.b","com.c","org.a"],"limit":1,"offset":1}}`, answerOf(orgA)},
		{`{"row":{"ranges":[{"start":"org.b"},{"end":"d"},{"start":"com","end":"com"}]}}`, answerOf(comC, orgB)},
		{`{"row":{"ranges":[{"start":"a","end":"org.b"},{"start":"org.a"}]}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"limit":2}}`, answerOf(comC, orgA)},
		{`{"row":{"limit":0}}`, answerOf()},
		{`{"row":{"offset":1,"limit":1}}`, answerOf(orgA)},
		{`{"row":{"offset":9223372036854775807}}`, answerOf()},
		{`{"row":{"sample":0.5}}`, answerOf(comC, orgB)},
		{`{"row":{"sample":1}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"sample":1e-3}}`, answerOf(comC)},
		{`{"row":{"prefix":"org.a","cell_limit":3}}`, answerOf(first(`"anchor":{"c":[{"time":1,"type":"i64","value":-7}],"http://b/:80":[{"time":1,"type":"string","value":"link"}]},
			"title":{"":[{"time":2,"type":"string","value":"A2"}]}`))},
		{`{"cell":{"limit":2}}`, answerOf(comC, first(`"anchor":{"c":[{"time":1,"type":"i64","value":-7}]}`))},
		{`{"column":{"prefix":"anchor:h"}}`, answerOf(first(`"anchor":{"http://b/:80":[{"time":1,"type":"string","value":"link"}]}`))},
		{`{"column":{"prefix":""},"row":{"limit":1}}`, answerOf(comC)},
		{`{"column":{"key":"title:","cell_limit":1},"row":{"prefix":"org.a"}}`, answerOf(first(`"title":{"":[{"time":2,"type":"string","value":"A2"}]}`))},
		{`{"column":{"multi_key":["contents:"]}}`, answerOf(`{"row_key":"org.b","columns":{"contents":{"":[{"time":1,"type":"bytes","value":"AAH/"}]}}}`)},
		{`{"cell":{"time":{"start":2,"end":3}}}`, answerOf(first(`"title":{"":[{"time":2,"type":"string","value":"A2"}]}`))},
		{`{"cell":{"time":{"end":2}},"row":{"key":"org.a"},"column":{"key":"title","cell_limit":1}}`, answerOf(first(`"title":{"":[{"time":1,"type":"string","value":"A"}]}`))},
		{`{"cell":{"time":{"start":5}}}`, answerOf()},
		{`{"cell":{"value":{"op":">","type":"string","value":"A"}},"row":{"prefix":"org.a"}}`, answerOf(first(`"anchor":{"http://b/:80":[{"time":1,"type":"string","value":"link"}]},"title":{"":[{"time":2,"type":"string","value":"A2"}]}`))},
		{`{"cell":{"value":{"type":"i64","value":-7,"op":"="}}}`, answerOf(first(`"anchor":{"c":[{"time":1,"type":"i64","value":-7}]}`))},
		{`{"cell":{"value":{"type":"i32","value":-7,"op":"!="}}}`, answerOf()},
		{`{"cell":{"value":{"type":"bytes","value":"AAH/","op":"<="},"strip_value":true}}`, answerOf(`{"row_key":"org.b","columns":{"contents":{"":[{"time":1,"type":"bytes","value":null}]}}}`)},
		{`{"cell":{"strip_value":true,"limit":1},"row":{"prefix":"org.a"}}`, answerOf(first(`"anchor":{"c":[{"time":1,"type":"i64","value":null}]}`))},
		{`{"column":{"families":["contents"]}}`, answerOf(`{"row_key":"org.b","columns":{"contents":{"":[{"time":1,"type":"bytes","value":"AAH/"}]}}}`)},
		{`{"column":{"families":["title","contents","anchor","title"]}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"reverse":true}}`, answerOf(orgB, orgA, comC)},
		{`{"row":{"reverse":false}}`, answerOf(comC, orgA, orgB)},
		{`{"row":{"reverse":true,"prefix":"org.","limit":1}}`, answerOf(orgB)},
		{`{"row":{"range":{"end":"org.b"},"limit":1,"reverse":true}}`, answerOf(orgA)},
		{`{"row":{"range":{"start":"com.c","exclusive":true},"reverse":true,"offset":1}}`, answerOf(orgA)},
		{`{"row":{"keys":["org.b","com.c"],"reverse":true}}`, answerOf(orgB, comC)},
		{`{"row":{"sample":0.5,"reverse":true}}`, answerOf(orgB, comC)},
		{"\n{\"column\" : { } ,\t\"cell\":{},\"row\":{}}\r\n", answerOf(comC, orgA, orgB)},
	} {
		c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", e.body)), e.rows)
	}
	c.refused(404, "unknown_column_family", "column.key", "POST", "/v1/table/t/scan", `{"column":{"key":"nope:"}}`)
	c.refused(404, "unknown_column_family", "column.multi_key[1]", "POST", "/v1/table/t/scan", `{"column":{"multi_key":["title:","nope"]}}`)
	c.refused(404, "unknown_column_family", "column.families[2]", "POST", "/v1/table/t/scan", `{"column":{"families":["title","title","nope"]}}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"row":{"keys":["org.a","com.c","x"]}}`), `{"row_count":2,"cell_count":5,"cells_scanned":5,"bytes_scanned":126}`)
}

func TestGetRow(t *testing.T) {
	c := newClient(t)
	c.webtable()
	title := `{"row_key":"org.a","columns":{"title":{"":[{"time":2,"type":"string","value":"A2"},{"time":1,"type":"string","value":"A"}]}}}`
	for _, e := range []struct{ query, rows string }{
		{"key=org.a", answerOf(orgA)},
		{"key=org%2Ea&column=", ""},
		{"key=nothing", answerOf()},
		{"column=title:&key=org.a", answerOf(title)},
		{"key=org.a&column=title", answerOf(title)},
		{"key=org.a&column=anchor&column=title:&column=contents", answerOf(orgA)},
	} {
		if e.rows == "" {
			c.refused(400, "invalid_column_key", "query", "GET", "/v1/table/t/row?"+e.query, "")
			continue
		}
		c.same(c.rowsOf(c.must(200, "GET", "/v1/table/t/row?"+e.query, "")), e.rows)
	}
	for _, e := range []struct {
		status      int
		code, query string
	}{
		{400, "missing_parameter", ""},
		{400, "missing_parameter", "?column=title"},
		{400, "unknown_parameter", "?key=org.a&limit=1"},
		{400, "unknown_parameter", "?Key=org.a"},
		{400, "duplicate_parameter", "?key=org.a&key=org.a"},
		{400, "invalid_parameter", "?key=%zz"},
		{400, "invalid_parameter", "?key=a;column=b"},
		{400, "invalid_utf8", "?key=%ff"},
		{400, "invalid_row_key", "?key="},
		{400, "invalid_row_key", "?key=" + long(4097)},
		{400, "invalid_column_key", "?key=a&column=:x"},
		{400, "too_many_columns", "?key=a" + strings.Repeat("&column=a:b", 1025)},
		{404, "unknown_column_family", "?key=org.a&column=nope:"},
		{404, "unknown_column_family", "?key=nothing&column=nope:"},
	} {
		c.refused(e.status, e.code, "query", "GET", "/v1/table/t/row"+e.query, "")
	}
	for query, want := range map[string]string{
		"key=%zz":               `the query of the URL cannot be read: invalid URL escape "%zz"`,
		"key=a;column=b":        "the query of the URL cannot be read: invalid semicolon separator in query",
		"column=title":          "the parameter key is required: the key of the row",
		"key=a&column=:x":       `column key ":x" does not start with the name of a column family`,
		"key=a&column=nope%3Ax": `table "t" has no column family "nope"`,
	} {
		if got := c.call("GET", "/v1/table/t/row?"+query, "").Message; got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	c.refused(404, "unknown_table", "path", "GET", "/v1/table/nope/row?key=a", "")
	c.refused(400, "unknown_field", "key", "GET", "/v1/table/t/row?key=a", `{"key":"a"}`)
	c.refused(400, "unknown_parameter", "query", "DELETE", "/v1/table/t/row?key=a", `{"row_key":"a"}`)
}

// TestDamageHasNoPlace: damage that a scan meets at its beginning is not blamed on the request.
func TestDamageHasNoPlace(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	c.webtable()
	store.scanFails = widecol.Errorf(widecol.Corrupt, "corruption", "stored data is damaged")
	for _, e := range []envelope{
		c.call("GET", "/v1/table/t/row?key=a&column=title", ""),
		c.call("POST", "/v1/table/t/scan", `{"column":{"key":"title"}}`),
		c.call("POST", "/v1/table/t/count", `{"column":{"key":"title"}}`),
	} {
		if e.Status != 500 || e.Error.Code != "corruption" || e.Error.At != "" {
			t.Errorf("got %d %+v, want corruption without a place", e.Status, *e.Error)
		}
	}
}

// TestScanned: a family in a locality group of its own is read alone.
func TestScanned(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"column":{"key":"title"}}`), `{"row_count":3,"cell_count":4,"cells_scanned":4,"bytes_scanned":81}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"column":{"key":"contents"}}`), `{"row_count":1,"cell_count":1,"cells_scanned":3,"bytes_scanned":90}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"row":{"limit":1}}`), `{"row_count":1,"cell_count":1,"cells_scanned":1,"bytes_scanned":20}`)
	c.refused(400, "unknown_field", "cell.limit", "POST", "/v1/table/t/count", `{"cell":{"limit":1}}`)
	c.refused(400, "unknown_field", "row.reverse", "POST", "/v1/table/t/count", `{"row":{"reverse":true}}`)
	c.refused(400, "unknown_field", "cell.strip_value", "POST", "/v1/table/t/count", `{"cell":{"strip_value":true}}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"cell":{"time":{"start":2}}}`), `{"row_count":1,"cell_count":1,"cells_scanned":7,"bytes_scanned":171}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"cell":{"value":{"op":"<","type":"i64","value":"0"}}}`), `{"row_count":1,"cell_count":1,"cells_scanned":7,"bytes_scanned":171}`)
}

func TestDeleteRow(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.refused(404, "unknown_column_family", "column_filter.key", "DELETE", "/v1/table/t/row", `{"row_key":"org.a","column_filter":{"key":"nope"}}`)
	c.refused(404, "unknown_column_family", "column_filter.multi_key[0]", "DELETE", "/v1/table/t/row", `{"row_key":"org.a","column_filter":{"multi_key":["nope","title"]}}`)
	c.same(c.must(202, "DELETE", "/v1/table/t/row", `{"row_key":"org.a","column_filter":{"prefix":"anchor:h"}}`), `{"deleted_cells_count":1}`)
	c.same(c.must(202, "DELETE", "/v1/table/t/row", `{"row_key":"org.a","column_filter":{"multi_key":["title:"]}}`), `{"deleted_cells_count":2}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.a"}}]}`)),
		`[{"row_key":"org.a","columns":{"anchor":{"c":[{"time":1,"type":"i64","value":-7}]}}}]`)
	c.same(c.must(202, "DELETE", "/v1/table/t/row", `{"row_key":"org.a"}`), `{"deleted_cells_count":1}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{}`)), answerOf(comC, orgB))
}

func TestWrite(t *testing.T) {
	c := newClient(t)
	c.webtable()
	// Fields in any order, times, one cell twice in a request, and keys that
	// would upset anything that joins strings.
	result := c.must(200, "POST", "/v1/table/t/write", `{"items":[
		{"cells":[{"value":"x","time":5,"type":"string","column_key":"title"},{"value":"y","time":5,"type":"string","column_key":"title:"},
			{"column_key":"anchor:\u0000:/\ud83d\ude00\"\\\u2028","value":"\u0000\n","type":"string","time":0}],"row_key":"a:b/\u0000"},
		{"row_key":"a:b/\u0000","cells":[{"column_key":"title:","type":"string","value":"z"}]}]}`)
	c.same(result, `{"items":{"row_count":2,"cell_count":4}}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"\u0061:b/\u0000"}}]}`)), `[{"row_key":"a:b/\u0000","columns":{
		"anchor":{"\u0000:/😀\"\\\u2028":[{"time":0,"type":"string","value":"\u0000\n"}]},
		"title":{"":[{"time":5,"type":"string","value":"y"},{"time":3,"type":"string","value":"z"}]}}}]`)
}

// TestLargeWrite: how many cells a row may have in a request is a matter of the
// body's size alone (H10).
func TestLargeWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	c := newClient(t)
	c.webtable()
	body := []byte(`{"items":[{"row_key":"r","cells":[`)
	for i := range 250_000 {
		body = fmt.Appendf(body, `{"column_key":"title:%d","type":"i64","value":%d},`, i, i)
	}
	body = append(body[:len(body)-1], `]}]}`...)
	x := &requestContext{server: c.Server, scratch: newScratch()}
	x.decoder.Reset(body)
	x.decodeWrite(&x.decoder)
	x.decoder.End()
	if err := x.decoder.Err(); err != nil || len(x.mutations) != 250_000 {
		t.Fatalf("got %d mutations and the error %v", len(x.mutations), err)
	}
	if m := x.mutations[249_999]; string(m.Qualifier) != "249999" || string(m.Row) != "r" || m.Value[0] != 249_999&255 {
		t.Errorf("got %+v", m)
	}
}
