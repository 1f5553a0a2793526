package server

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// numbers makes a table with a number of each type.
func (c *client) numbers() {
	c.must(201, "PUT", "/v1/table/n", `{"column_families":[{"name":"v"},{"name":"w"}],"locality_groups":[["w"]]}`)
	c.must(200, "POST", "/v1/table/n/write", `{"items":[
		{"row_key":"a:1","cells":[{"column_key":"v:x","type":"i64","value":5,"time":2},{"column_key":"v:x","type":"i64","value":3,"time":1},{"column_key":"v:y","type":"string","value":"text","time":1}]},
		{"row_key":"a:2","cells":[{"column_key":"v:x","type":"i32","value":-7,"time":1},{"column_key":"w:x","type":"byte","value":255,"time":1}]},
		{"row_key":"b","cells":[{"column_key":"w:x","type":"f64","value":0.1,"time":1},{"column_key":"w:y","type":"f32","value":0.5,"time":1}]},
		{"row_key":"b:1","cells":[{"column_key":"v:y","type":"boolean","value":true,"time":1}]},
		{"row_key":{"base64":"/zo="},"cells":[{"column_key":{"base64":"djr/"},"type":"i64","value":"9223372036854775807","time":1}]}]}`)
}

func TestAggregate(t *testing.T) {
	c := newClient(t)
	c.numbers()
	for _, e := range []struct{ body, groups string }{
		{`{"of":["count"]}`, `[{"key":null,"count":9}]`},
		{`{"of":["count","sum","min","max","avg"],"row":{"prefix":"a:"}}`,
			`[{"key":null,"count":5,"sum":{"type":"i64","value":256},"min":{"type":"i32","value":-7},"max":{"type":"byte","value":255},"avg":{"type":"f64","value":64.0}}]`},
		{`{"of":["avg","sum"],"row":{"key":"b"}}`, `[{"key":null,"sum":{"type":"f64","value":0.6},"avg":{"type":"f64","value":0.3}}]`},
		{`{"of":["min","max"],"row":{"key":"b"}}`, `[{"key":null,"min":{"type":"f64","value":0.1},"max":{"type":"f32","value":0.5}}]`},
		{`{"of":["avg","max"],"row":{"range":{"start":"c"}}}`, `[{"key":null,"max":{"type":"i64","value":9223372036854775807},"avg":{"type":"f64","value":9223372036854776000.0}}]`},
		{`{"of":["count","sum","min","max","avg"],"row":{"key":"none"}}`, `[{"key":null,"count":0,"sum":null,"min":null,"max":null,"avg":null}]`},
		{`{"of":["count","sum"],"row":{"key":"b:1"}}`, `[{"key":null,"count":1,"sum":null}]`},
		{`{"of":["count"],"row":{"key":"none"},"group_by":"column"}`, `[]`},
		{`{"of":["count"],"group_by":"column"}`,
			`[{"key":"v:x","count":3},{"key":"v:y","count":2},{"key":{"base64":"djr/"},"count":1},{"key":"w:x","count":2},{"key":"w:y","count":1}]`},
		{`{"of":["count"],"group_by":{"row_prefix":":"}}`, `[{"key":"a:","count":5},{"key":"b","count":2},{"key":"b:","count":1},{"key":{"base64":"/zo="},"count":1}]`},
		{`{"of":["count"],"group_by":{"row_prefix":{"base64":"/w=="}}}`,
			`[{"key":"a:1","count":3},{"key":"a:2","count":2},{"key":"b","count":2},{"key":"b:1","count":1},{"key":{"base64":"/w=="},"count":1}]`},
		{`{"of":["count"],"group_by":{"row_prefix":1}}`, `[{"key":"a","count":5},{"key":"b","count":3},{"key":{"base64":"/w=="},"count":1}]`},
		{`{"of":["count"],"group_by":{"row_prefix":4096},"row":{"limit":1}}`, `[{"key":"a:1","count":3}]`},
		{`{"of":["count"],"row":{"offset":1,"limit":2}}`, `[{"key":null,"count":4}]`},
		{`{"of":["count"],"row":{"cell_limit":1}}`, `[{"key":null,"count":5}]`},
		{`{"of":["count"],"row":{"sample":0.5}}`, `[{"key":null,"count":6}]`},
		{`{"of":["sum"],"column":{"key":"v:x","cell_limit":1},"row":{"prefix":"a"}}`, `[{"key":null,"sum":{"type":"i64","value":-2}}]`},
		{`{"of":["sum"],"column":{"key":"v:x"},"cell":{"time":{"end":2}}}`, `[{"key":null,"sum":{"type":"i64","value":-4}}]`},
		{`{"of":["sum","count"],"cell":{"value":{"op":">","type":"i64","value":3}},"row":{"prefix":"a"}}`, `[{"key":null,"count":1,"sum":{"type":"i64","value":5}}]`},
	} {
		result := string(c.must(200, "POST", "/v1/table/n/aggregate", e.body))
		groups, _, _ := strings.Cut(strings.TrimPrefix(result, `{"groups":`), `,"row_count"`)
		c.same([]byte(groups), e.groups)
	}
	c.same(c.must(200, "POST", "/v1/table/n/aggregate", `{"of":["count"],"column":{"key":"w:x"}}`),
		`{"groups":[{"key":null,"count":2}],"row_count":2,"cell_count":2,"rows_scanned":2,"cells_scanned":3,"bytes_scanned":51,"affected_locality_groups":1}`)
}

func TestAggregateOverflow(t *testing.T) {
	c := newClient(t)
	c.numbers()
	write := func(typ, a, b string) {
		c.must(200, "POST", "/v1/table/n/write", `{"items":[{"row_key":"o","cells":[{"column_key":"v:a","type":"`+typ+`","value":`+a+`},{"column_key":"v:b","type":"`+typ+`","value":`+b+`}]}]}`)
	}
	path, body := "/v1/table/n/aggregate", `{"of":["sum","avg"],"column":{"cell_limit":1},"row":{"key":"o"}}`
	write("i64", "9223372036854775807", "1")
	c.refused(409, "overflow", "", "POST", path, body)
	c.refused(409, "overflow", "", "POST", path, strings.Replace(body, `"row"`, `"group_by":{"row_prefix":1},"row"`, 1))
	c.must(200, "POST", path, strings.Replace(body, `"row"`, `"group_by":"column","row"`, 1))
	c.must(200, "POST", path, strings.Replace(body, `"sum",`, "", 1))
	write("f64", "1.7e308", "1.7e308")
	c.refused(409, "overflow", "", "POST", path, body)
	write("f64", "1.7e308", "-1.7e308")
	c.must(200, "POST", path, body)
}

// TestAggregateGroups asks for as many groups as there may be, and for one more. Nothing of them is answered.
func TestAggregateGroups(t *testing.T) {
	c := newClient(t)
	c.webtable()
	var body strings.Builder
	for i := range widecol.MaxGroups {
		fmt.Fprintf(&body, `,{"row_key":"g%05d","cells":[{"column_key":"title:","type":"i64","value":%d}]}`, i, i)
	}
	c.must(200, "POST", "/v1/table/t/write", `{"items":[`+body.String()[1:]+`]}`)
	path, by := "/v1/table/t/aggregate", `{"of":["sum"],"row":{"prefix":"%s"},"group_by":{"row_prefix":%s}}`
	result := string(c.must(200, "POST", path, fmt.Sprintf(by, "g", "6")))
	if n := strings.Count(result, `"key":`); n != widecol.MaxGroups || !strings.Contains(result, `{"key":"g09999","sum":{"type":"i64","value":9999}}]`) {
		t.Errorf("got %d groups in %d bytes", n, len(result))
	}
	for _, prefix := range []string{"4096", `"!"`} {
		c.refused(400, "too_many_groups", "group_by", "POST", path, fmt.Sprintf(by, "", prefix))
	}
	c.must(200, "POST", path, fmt.Sprintf(by, "", "5"))
}

// TestAggregateOfAMillionGroups: each worker stops at the limit, and keeps no more than that.
func TestAggregateOfAMillionGroups(t *testing.T) {
	const cores, slack = 4, 1000
	haveCores(t, cores)
	for _, parts := range []int{1, 8} {
		var made atomic.Int64
		c, store, _ := streaming(t, fakeRows{rows: 1_000_000, made: &made})
		store.parts = parts
		for _, body := range []string{`{"of":["count"],"group_by":{"row_prefix":4096}}`, `{"of":["count","sum","min","max","avg"],"group_by":{"row_prefix":"!"}}`} {
			made.Store(0)
			if e := c.call("POST", "/v1/table/t/aggregate", body); e.Status != 400 || e.Error.Code != "too_many_groups" || e.Error.At != "group_by" {
				t.Errorf("in %d parts, %s: got %d %+v", parts, body, e.Status, e.Error)
			}
			if n := made.Load() / 2; n < widecol.MaxGroups || n > cores*(widecol.MaxGroups+slack) {
				t.Errorf("in %d parts, %s has looked at %d rows", parts, body, n)
			}
		}
	}
}

// TestAggregateInParts: whoever works on them, and in whatever order they end, the parts of an aggregate add up.
func TestAggregateInParts(t *testing.T) {
	for _, turns := range []int{1, 2, 8} {
		c, _ := dividing(t, turns, 10)
		result := string(c.must(200, "POST", "/v1/table/t/aggregate", `{"of":["count"],"group_by":{"row_prefix":1}}`))
		if !strings.HasPrefix(result, `{"groups":[{"key":"0","count":10000}],"row_count":1000,"cell_count":10000,`) {
			t.Errorf("with %d turns, ten parts of 100 rows are %s", turns, result)
		}
	}
}
