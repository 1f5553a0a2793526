package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// explainedText is an explanation without what varies.
func explainedText(t *testing.T, result []byte) string {
	t.Helper()
	var r struct {
		Explain *struct {
			Rows, Cells json.RawMessage
			PushedDown  []string `json:"pushed_down"`
			Checked     []string
			Ended       map[string]int
			Partitions  []struct{ Name string }
			Micros      struct{ Receive, Open, Read, Write, Total int64 }
		}
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Explain == nil {
		t.Fatalf("%v: no explanation in %s", err, result)
	}
	e := r.Explain
	if m := e.Micros; m.Receive <= 0 || m.Open <= 0 || m.Read <= 0 || m.Total < m.Receive+m.Open {
		t.Errorf("times %+v", m)
	}
	names := ""
	for _, p := range e.Partitions {
		names += p.Name[:4]
	}
	ended, _ := json.Marshal(e.Ended)
	return fmt.Sprintf("%s %s %v %v %s %s", e.Rows, e.Cells, e.PushedDown, e.Checked, ended, names)
}

// TestExplain: each kind of read explains itself, beside what it answers otherwise or in place of it.
func TestExplain(t *testing.T) {
	c := newClient(t)
	c.webtable()
	const all = `{"scanned":3,"returned":3} {"scanned":7,"returned":7,"tombstones":0,"dropped":{"columns":0,"later":0,"deleted":0,"overwritten":0,"garbage":0,"times":0,"values":0,"filter":0}} [] [] {"rows":1} _dat_lg_`
	for _, e := range []struct{ path, body, want string }{
		{"scan", `{%s}`, all},
		{"count", `{%s}`, all},
		{"aggregate", `{"of":["count"]%s}`, all},
		{"rows", `{"items":[{"row":{"prefix":""}},{"row":{"key":"x"}}]%s}`, strings.NewReplacer(`{"rows":1}`, `{"rows":2}`, "[] []", "[] [rows]").Replace(all)},
		{"scan", `{"row":{"limit":1}%s}`, `{"scanned":1,"returned":1} {"scanned":1,"returned":1,"tombstones":0,"dropped":{"columns":0,"later":0,"deleted":0,"overwritten":0,"garbage":0,"times":0,"values":0,"filter":0}} [] [] {"row_limit":1} _dat_lg_`},
		{"scan", `{"cell":{"value":{"op":"=","type":"string","value":"A"}},"filter":{"pass_all_filter":true}%s}`, `{"scanned":3,"returned":1} {"scanned":7,"returned":1,"tombstones":0,"dropped":{"columns":0,"later":0,"deleted":0,"overwritten":0,"garbage":0,"times":0,"values":6,"filter":0}} [] [values filter] {"rows":1} _dat_lg_`},
	} {
		path := "/v1/table/t/" + e.path
		with := func(field string) string {
			if !strings.Contains(e.body, "{%s") {
				field = "," + field
			}
			return fmt.Sprintf(e.body, field)
		}
		plain := c.must(200, "POST", path, strings.Replace(strings.Replace(e.body, "{%s", "{", 1), "%s", "", 1))
		got := c.must(200, "POST", path, with(`"explain":true`))
		if text := explainedText(t, got); text != e.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", e.path, e.body, text, e.want)
		}
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(got, &fields)
		delete(fields, "explain")
		rest, _ := json.Marshal(fields)
		c.same(rest, string(plain))
		c.same(c.must(200, "POST", path, with(`"explain":false`)), string(plain))

		only := c.must(200, "POST", path, with(`"explain":"only"`))
		if text := explainedText(t, only); text != e.want || !bytes.HasPrefix(only, []byte(`{"explain":{`)) || bytes.Contains(only, []byte("row_count")) {
			t.Errorf("%s %s:\ngot  %s\nwant %s\nalone", e.path, e.body, only, e.want)
		}
		if e.path != "scan" && e.path != "rows" {
			continue
		}
		w := c.sendTyped("POST", path, with(`"explain":true`), "Accept", linesType)
		lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
		if text := explainedText(t, []byte(lines[len(lines)-1])); text != e.want || !strings.Contains(lines[len(lines)-1], `"statistics"`) || len(lines) < 2 {
			t.Errorf("%s %s, lines:\ngot  %s\nwant %s", e.path, e.body, w.Body, e.want)
		}
		w = c.sendTyped("POST", path, with(`"explain":"only"`), "Accept", linesType)
		if text := explainedText(t, w.Body.Bytes()); text != e.want || strings.Count(w.Body.String(), "\n") != 1 || strings.Contains(w.Body.String(), "statistics") {
			t.Errorf("%s %s, a line:\ngot  %s\nwant %s", e.path, e.body, w.Body, e.want)
		}
	}
}

// TestExplainRow: so does the read of a row for browsers and shells.
func TestExplainRow(t *testing.T) {
	c := newClient(t)
	c.webtable()
	const path = "/v1/table/t/row?key=org.a&column=anchor:c"
	const want = `{"scanned":1,"returned":1} {"scanned":2,"returned":1,"tombstones":0,"dropped":{"columns":1,"later":0,"deleted":0,"overwritten":0,"garbage":0,"times":0,"values":0,"filter":0}} [] [rows columns] {"rows":1} _dat`
	got := c.must(200, "GET", path+"&explain=true", "")
	if text := explainedText(t, got); text != want || !bytes.HasPrefix(got, []byte(`{"rows":[{"row_key":"org.a"`)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = c.must(200, "GET", path+"&explain=only", "")
	if text := explainedText(t, got); text != want || !bytes.HasPrefix(got, []byte(`{"explain":{`)) {
		t.Errorf("got  %s\nwant %s alone", got, want)
	}
	c.refused(400, "invalid_parameter", "query", "GET", path+"&explain=false", "")
	c.refused(400, "invalid_parameter", "query", "GET", path+"&explain=", "")
	c.refused(400, "duplicate_parameter", "query", "GET", path+"&explain=true&explain=true", "")
}

// TestExplainInParts: what the goroutines of a divided read say adds up, each part once, and nothing else is answered
// where nothing else is asked for.
func TestExplainInParts(t *testing.T) {
	const parts = 4
	for _, path := range []string{"scan", "count"} {
		for _, mode := range []string{"true", `"only"`} {
			c, store := dividing(t, 8, parts)
			store.onPart = func(part int, answer *fakeRows) { answer.rows = 100 }
			w := c.sendTyped("POST", "/v1/table/t/"+path, `{"explain":`+mode+`}`)
			var e struct {
				Result struct {
					Rows    []json.RawMessage
					Explain struct {
						Rows    struct{ Returned int }
						Checked []string
						Ended   map[string]int
					}
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 200 {
				t.Fatalf("%v: %d %.500s", err, w.Code, w.Body)
			}
			rows := 0
			if path == "scan" && mode == "true" {
				rows = 100 * parts
			}
			if x := e.Result.Explain; len(e.Result.Rows) != rows || x.Ended["stopped"] != parts || len(x.Checked) > 0 || x.Rows.Returned != 100*parts { // a fake closes the rows of its memstore
				t.Errorf("%s, %s: %d rows, %+v", path, mode, len(e.Result.Rows), x)
			}
		}
	}
}

// TestNotExplained: a read that is not to be explained asks the store for nothing, and has no word of it.
func TestNotExplained(t *testing.T) {
	c := newClient(t)
	c.webtable()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}")))
	if strings.Contains(w.Body.String(), "explain") {
		t.Errorf("got %s", w.Body)
	}
}
