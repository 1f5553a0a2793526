package server

import (
	"fmt"
	"strings"
	"testing"
)

func TestMutate(t *testing.T) {
	c := newClient(t)
	c.webtable()
	got := c.must(200, "POST", "/v1/table/t/mutate", `{"items":[
		{"row_key":"org.a","mutations":[{"delete_family":"anchor"},{"delete_column":{"column_key":"title:","time":{"start":1,"end":2}}},
			{"set":{"column_key":"anchor:n","type":"i64","value":1,"time":9}},{"delete_column":{"column_key":"title:x"}}]},
		{"row_key":"org.b","mutations":[{"set":{"column_key":"title:","type":"string","value":"gone","time":7}},{"delete_row":true}]},
		{"row_key":"com.c","mutations":[{"delete_row":true},{"set":{"column_key":"title:","type":"string","value":"stays","time":7}}]}]}`)
	c.same(got, `{"items":{"row_count":3,"cell_count":3},"time":3}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{}`)), `[
		{"row_key":"com.c","columns":{"title":{"":[{"time":7,"type":"string","value":"stays"}]}}},
		{"row_key":"org.a","columns":{"anchor":{"n":[{"time":9,"type":"i64","value":1}]},"title":{"":[{"time":2,"type":"string","value":"A2"}]}}}]`)
}

func TestMutateByRow(t *testing.T) {
	c := newClient(t)
	c.webtable()
	got := c.must(200, "POST", "/v1/table/t/mutate", `{"atomic":"row","items":[
		{"row_key":"x","mutations":[{"set":{"column_key":"title:","type":"i64","value":1}},{"set":{"column_key":"nope:","type":"i64","value":1}}]},
		{"row_key":"y","mutations":[{"set":{"column_key":"title:","type":"i64","value":2}}]},
		{"row_key":"z","mutations":[{"set":{"column_key":":q","type":"i64","value":1}}]}]}`)
	c.same(got, `{"items":{"row_count":1,"cell_count":1},"time":3,"results":[
		{"code":"unknown_column_family","at":"items[0].mutations[1].set.column_key","message":"items[0].mutations[1].set.column_key: table \"t\" has no column family \"nope\""},
		null,
		{"code":"invalid_column_key","at":"items[2].mutations[0].set.column_key","message":"items[2].mutations[0].set.column_key: column key does not start with the name of a column family"}]}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"row":{"keys":["x","y","z"]}}`), `{"row_count":1,"cell_count":1,"cells_scanned":1,"bytes_scanned":23}`)
	got = c.must(200, "POST", "/v1/table/t/mutate", `{"atomic":"row","items":[{"row_key":"x","mutations":[{"delete_family":"nope"}]}]}`)
	c.same(got, `{"items":{"row_count":0,"cell_count":0},"time":null,"results":[
		{"code":"unknown_column_family","at":"items[0].mutations[0].delete_family","message":"items[0].mutations[0].delete_family: table \"t\" has no column family \"nope\""}]}`)
}

func TestCheckAndMutate(t *testing.T) {
	c := newClient(t)
	c.webtable()
	set := func(value string) string {
		return `[{"set":{"column_key":"title:","type":"string","time":5,"value":"` + value + `"}}]`
	}
	path := "/v1/table/t/check-and-mutate"
	for _, e := range []struct{ body, result, title string }{
		{`{"row_key":"n","if":{"exists":true},"then":` + set("then") + `}`, `{"matched":false,"time":null}`, ""},
		{`{"row_key":"n","if":{"exists":true},"then":` + set("then") + `,"else":` + set("else") + `}`, `{"matched":false,"time":3}`, "else"},
		{`{"row_key":"n","if":{"exists":false},"else":` + set("2") + `,"then":` + set("1") + `}`, `{"matched":false,"time":4}`, "2"},
		{`{"row_key":"n","if":{"value_regex_filter":"1"},"then":` + set("5") + `}`, `{"matched":false,"time":null}`, "2"},
		{`{"row_key":"n","if":{"chain":{"filters":[{"family_name_regex_filter":"t.*"},{"value_regex_filter":"2"}]}},"then":` + set("2") + `}`, `{"matched":true,"time":5}`, "2"},
		{`{"row_key":"n","else":` + set("4") + `,"then":` + set("3") + `,"if":{"exists":true}}`, `{"matched":true,"time":6}`, "3"},
	} {
		c.same(c.must(200, "POST", path, e.body), e.result)
		want := `[]`
		if e.title != "" {
			want = `[{"row_key":"n","columns":{"title":{"":[{"time":5,"type":"string","value":"` + e.title + `"}]}}}]`
		}
		c.same(c.rowsOf(c.must(200, "GET", "/v1/table/t/row?key=n", "")), want)
	}
}

func TestReadModifyWrite(t *testing.T) {
	c := newClient(t)
	c.webtable()
	path := "/v1/table/t/read-modify-write"
	c.same(c.must(200, "POST", path, `{"row_key":"org.a","rules":[{"column_key":"title:","append":"!"},{"column_key":"anchor:c","increment":-1},
		{"column_key":"anchor:new","append":{"base64":"/w=="}},{"column_key":"title:","append":{"base64":"w6k="}}]}`), `{"row":{"row_key":"org.a","columns":{
		"anchor":{"c":[{"time":2,"type":"i64","value":-8}],"new":[{"time":3,"type":"bytes","value":"/w=="}]},
		"title":{"":[{"time":3,"type":"string","value":"A2!é"}]}}}}`)
	for _, e := range []struct{ code, at, body string }{
		{"not_a_number", "rules[0]", `{"row_key":"org.a","rules":[{"column_key":"title:","increment":1}]}`},
		{"not_appendable", "rules[1]", `{"row_key":"org.a","rules":[{"column_key":"title:n","increment":1},{"column_key":"anchor:c","append":"x"}]}`},
		{"not_appendable", "rules[0]", `{"row_key":"org.a","rules":[{"column_key":"title:","append":{"base64":"/w=="}}]}`},
		{"overflow", "rules[1]", `{"row_key":"org.a","rules":[{"column_key":"title:n","increment":9223372036854775807},{"column_key":"title:n","increment":1}]}`},
		{"overflow", "rules[0]", `{"row_key":"org.a","rules":[{"column_key":"anchor:c","increment":-9223372036854775808}]}`},
	} {
		c.refused(409, e.code, e.at, "POST", path, e.body)
	}
	c.refused(413, "value_too_large", "rules[0].append", "POST", path, `{"row_key":"org.a","rules":[{"column_key":"title:","append":"`+long(1<<20)+`"}]}`)
}

func TestDeleteRows(t *testing.T) {
	c := newClient(t)
	c.webtable()
	path := "/v1/table/t/delete"
	before := c.everything()
	c.same(c.must(200, "POST", path, `{"row":{"prefix":"org."},"dry_run":true}`), `{"row_count":2,"cell_count":6}`)
	c.same(c.must(200, "POST", path, `{"dry_run":true,"all":true,"column":{"families":["title"]}}`), `{"row_count":3,"cell_count":4}`)
	if after := c.everything(); after != before {
		t.Errorf("a dry run has changed\n%s\nto\n%s", before, after)
	}
	c.same(c.must(200, "POST", path, `{"row":{"ranges":[{"start":"org."}]},"column":{"key":"title:"},"time":{"end":2}}`), `{"row_count":null,"cell_count":null}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{"row":{"prefix":"org."},"column":{"key":"title:"}}`)),
		`[{"row_key":"org.a","columns":{"title":{"":[{"time":2,"type":"string","value":"A2"}]}}}]`)
	c.must(200, "POST", path, `{"row":{"keys":["org.a","org.zzz"]}}`)
	c.same(c.must(200, "POST", "/v1/table/t/count", `{"row":{"keys":["org.a"]}}`), `{"row_count":0,"cell_count":0,"cells_scanned":0,"bytes_scanned":0}`)
	c.must(200, "POST", path, `{"row":{"prefix":""},"all":true}`)
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{}`)), `[]`)
}

// TestBytes: keys and qualifiers that are not UTF-8 are taken and returned in base64, also beside others and in
// rows of several chunks.
func TestBytes(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"},{"name":"b"}]}`)
	// a:\xff is YTr/, b:\xfe\x00 is Yjr+AA==, b: with text is b:t
	c.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":{"base64":"/w=="},"cells":[
		{"column_key":{"base64":"YTr/"},"type":"i64","value":1,"time":1},{"column_key":{"base64":"YTr/"},"type":"i64","value":2,"time":2},
		{"column_key":"a:t","type":"i64","value":3,"time":3},{"column_key":{"base64":"Yjr+AA=="},"type":"i64","value":4,"time":4},
		{"column_key":"b:t","type":"i64","value":5,"time":5},{"column_key":{"base64":"Yjp1"},"type":"i64","value":6,"time":6}]},
		{"row_key":{"base64":"dGV4dA=="},"cells":[{"column_key":"b:t","type":"i64","value":7,"time":7}]}]}`)
	row := `{"row_key":{"base64":"/w=="},"columns":{"a":{"t":[{"time":3,"type":"i64","value":3}]},"b":{"t":[{"time":5,"type":"i64","value":5}],"u":[{"time":6,"type":"i64","value":6}]}},
		"binary_columns":[{"family":"a","qualifier":{"base64":"/w=="},"cells":[{"time":2,"type":"i64","value":2},{"time":1,"type":"i64","value":1}]},
			{"family":"b","qualifier":{"base64":"/gA="},"cells":[{"time":4,"type":"i64","value":4}]}]}`
	text := `{"row_key":"text","columns":{"b":{"t":[{"time":7,"type":"i64","value":7}]}}}`
	c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{}`)), "["+text+","+row+"]")
	for _, selected := range []string{`"key":{"base64":"/w=="}`, `"prefix":{"base64":"/w=="}`, `"range":{"start":{"base64":"/w=="}}`,
		`"ranges":[{"start":"u","end":{"base64":"/w=="},"inclusive":true}]`, `"keys":[{"base64":"/w=="}]`} {
		c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/scan", `{"row":{`+selected+`}}`)), "["+row+"]")
	}
	only := `[{"row_key":{"base64":"/w=="},"columns":{},"binary_columns":[{"family":"b","qualifier":{"base64":"/gA="},"cells":[{"time":4,"type":"i64","value":4}]}]}]`
	for _, column := range []string{`"key":{"base64":"Yjr+AA=="}`, `"multi_key":[{"base64":"Yjr+AA=="}]`, `"prefix":{"base64":"Yjr+"}`} {
		c.same(c.rowsOf(c.must(200, "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":{"base64":"/w=="}},"column":{`+column+`}}]}`)), only)
	}
	c.same(c.must(202, "DELETE", "/v1/table/t/row", `{"row_key":{"base64":"/w=="},"column":{"key":{"base64":"YTr/"}}}`), `{"deleted_cells_count":2}`)
}

// TestBinaryColumnsAreCharged: the list of a row's binary columns is memory of the request.
func TestBinaryColumnsAreCharged(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"a"}]}`)
	value := strings.Repeat("v", 60_000)
	for i := range 10 {
		c.must(200, "POST", "/v1/table/t/write", fmt.Sprintf(`{"items":[{"row_key":"r","cells":[{"column_key":{"base64":"YTr/"},"type":"string","value":"%s","time":%d}]}]}`, value, i))
	}
	free := c.admission.Memory().Free()
	c.must(200, "POST", "/v1/table/t/scan", `{}`)
	if now := c.admission.Memory().Free(); now != free {
		t.Errorf("%d bytes of memory are free after the scan, %d before it", now, free)
	}
	c.admission.Memory().Take(free - 100_000)
	c.refused(503, "overloaded", "", "POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"r"}}]}`)
}
