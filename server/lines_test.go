package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// sendTyped is send with a header.
func (c *client) sendTyped(method, path, body string, header ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// lines is the answer to a read as lines: those of the rows, and the last one.
func (c *client) lines(path, body string) (rows []string, last string) {
	c.t.Helper()
	w := c.sendTyped("POST", path, body, "Accept", linesType)
	if w.Code != 200 || w.Header().Get("Content-Type") != linesType {
		c.t.Fatalf("%s %s: got %d, %v, %s", path, body, w.Code, w.Header(), w.Body)
	}
	text, ok := strings.CutSuffix(w.Body.String(), "\n")
	if !ok {
		c.t.Fatalf("%s %s: the last line has no end: %q", path, body, text)
	}
	all := strings.Split(text, "\n")
	return all[:len(all)-1], all[len(all)-1]
}

// TestRowsAsLines: each row is a line in the form of an item of a write, and the last one has the
// statistics of the same answer as JSON.
func TestRowsAsLines(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":{"base64":"/wA="},"cells":[
		{"column_key":{"base64":"dGl0bGU6/w=="},"type":"f64","value":1,"time":9},
		{"column_key":"title:\"q\\\u0001","type":"bytes","value":"AAE=","time":8},
		{"column_key":"title:\"q\\\u0001","type":"byte","value":7,"time":7},
		{"column_key":"title:\"q\\\u0001","type":"boolean","value":false,"time":6}]}]}`)
	const (
		orgA = `{"row_key":"org.a","cells":[{"column_key":"anchor:c","type":"i64","value":-7,"time":1},{"column_key":"anchor:http://b/:80","type":"string","value":"link","time":1},` +
			`{"column_key":"title:","type":"string","value":"A2","time":2},{"column_key":"title:","type":"string","value":"A","time":1}]}`
		orgB   = `{"row_key":"org.b","cells":[{"column_key":"contents:","type":"bytes","value":"AAH/","time":1},{"column_key":"title:","type":"string","value":"B","time":1}]}`
		comC   = `{"row_key":"com.c","cells":[{"column_key":"title:","type":"string","value":"C","time":1}]}`
		binary = `{"row_key":{"base64":"/wA="},"cells":[{"column_key":"title:\"q\\\u0001","type":"bytes","value":"AAE=","time":8},{"column_key":"title:\"q\\\u0001","type":"byte","value":7,"time":7},` +
			`{"column_key":"title:\"q\\\u0001","type":"boolean","value":false,"time":6},{"column_key":{"base64":"dGl0bGU6/w=="},"type":"f64","value":1.0,"time":9}]}`
	)
	for _, e := range []struct {
		endpoint, body string
		want           []string
	}{
		{"scan", `{}`, []string{comC, orgA, orgB, binary}},
		{"scan", `{"row":{"prefix":"org."},"column":{"key":"title:","cell_limit":1}}`, []string{
			`{"row_key":"org.a","cells":[{"column_key":"title:","type":"string","value":"A2","time":2}]}`,
			`{"row_key":"org.b","cells":[{"column_key":"title:","type":"string","value":"B","time":1}]}`}},
		{"scan", `{"row":{"key":"com.c"},"cell":{"strip_value":true}}`, []string{strings.Replace(comC, `"C"`, "null", 1)}},
		{"scan", `{"row":{"key":"com.c"},"filter":{"apply_label_transformer":"new"}}`, []string{strings.Replace(comC, `"time":1`, `"time":1,"labels":["new"]`, 1)}},
		{"scan", `{"row":{"key":"none"}}`, []string{}},
		{"rows", `{"items":[{"row":{"key":"org.b"}},{"row":{"key":"x"}},{"row":{"key":"com.c"}},{"row":{"key":"y"}}]}`, []string{orgB, comC}},
	} {
		rows, last := c.lines("/v1/table/t/"+e.endpoint, e.body)
		if got, want := strings.Join(rows, "\n"), strings.Join(e.want, "\n"); got != want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", e.endpoint, e.body, got, want)
		}
		var result map[string]json.RawMessage
		if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/"+e.endpoint, e.body), &result); err != nil {
			t.Fatal(err)
		}
		delete(result, "rows")
		want := map[string]any{}
		if missing, ok := result["missing"]; ok {
			want["missing"] = missing
			delete(result, "missing")
		}
		want["statistics"] = result
		text, _ := json.Marshal(want)
		c.same([]byte(last), string(text))
	}
}

// TestAccept: lines are for those that ask for them; an error is JSON for all.
func TestAccept(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "application/*": false, "text/html, */*;q=0.1": false,
		"application/x-ndjson": true, "Application/X-NDJSON": true, "application/x-ndjson;q=0.5, */*": true, "text/html,application/x-ndjson; charset=utf-8 ;q=0.2": true,
		"application/json, application/x-ndjson": false, "application/json;q=0.4, application/x-ndjson;q=0.6": true, "application/json;q=0.6, application/x-ndjson;q=0.4": false,
		"application/x-ndjson;q=0": false, "application/x-ndjsonp": false, "application/ndjson": false,
	} {
		for _, endpoint := range []string{"scan", "rows"} {
			w := c.sendTyped("POST", "/v1/table/t/"+endpoint, map[string]string{"scan": "{}", "rows": `{"items":[{"row":{"key":"org.a"}}]}`}[endpoint], "Accept", accept)
			if got := strings.HasPrefix(w.Body.String(), `{"row_key"`); w.Code != 200 || got != want || got != (w.Header().Get("Content-Type") == linesType) {
				t.Errorf("%q, %s: got %d %s %.60s, want lines: %v", accept, endpoint, w.Code, w.Header().Get("Content-Type"), w.Body, want)
			}
		}
	}
	for endpoint, body := range map[string]string{"scan": `{"column":{"key":"nope:"}}`, "rows": `{"items":[{"row":{"key":"a"},"column":{"key":"nope:"}}]}`, "count": `{}`} {
		w := c.sendTyped("POST", "/v1/table/t/"+endpoint, body, "Accept", linesType)
		if !json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/json" || (w.Code != 404) != (endpoint == "count") {
			t.Errorf("%s: got %d %s %s", endpoint, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

// TestLinesInParts: an answer that is collected in parts has the lines of one that is not, in any encoding.
func TestLinesInParts(t *testing.T) {
	for _, encoding := range []string{"", "gzip", "zstd"} {
		want := ""
		for _, slots := range []int{1, 2, 8} {
			c, store := dividing(t, slots, 12)
			store.onPart = func(part int, answer *fakeRows) { answer.rows, answer.large, answer.apart = 9*(part%3), 100_000, 30 }
			if slots == 1 { // one query after another
				c.Server.store = undivided{store}
			}
			w := c.sendTyped("POST", "/v1/table/t/scan", "{}", "Accept", linesType, "Accept-Encoding", encoding)
			body, err := inflated(w.Result())
			if err != nil {
				t.Fatal(err)
			}
			got, last, _ := bytes.Cut(body, []byte(`{"statistics"`))
			if want == "" {
				want = string(got)
			}
			if string(got) != want || len(last) == 0 {
				t.Errorf("%q, %d slots: the answers differ, %d and %d bytes", encoding, slots, len(got), len(want))
			}
		}
		lines := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
		if len(lines) != 4*(0+9+18) {
			t.Errorf("got %d lines", len(lines))
		}
		for _, line := range lines {
			if !json.Valid([]byte(line)) || !strings.HasPrefix(line, `{"row_key":"`) {
				t.Fatalf("got the line %.200s", line)
			}
		}
	}
}

// TestBrokenLines: an answer that cannot be finished is broken off. One that has not begun is an error.
func TestBrokenLines(t *testing.T) {
	corrupt := widecol.Errorf(widecol.Corrupt, "corruption", "block 7 of _dat_t")
	for _, e := range []struct {
		rows   int
		status int // 0: broken off
	}{{0, 500}, {20, 500}, {3000, 0}} {
		c, store, _ := streaming(t, fakeRows{rows: e.rows, err: corrupt})
		w := dial(t, listen(t, c.Server))
		w.send(strings.Replace(scanRequest, "Host", "Accept: "+linesType+"\r\nHost", 1))
		status, kind, body, err := w.rest()
		if e.status == 0 && (status != 200 || err == nil || strings.Contains(body, "statistics")) {
			t.Errorf("%d rows: got %d, %v and %d bytes, want them broken off", e.rows, status, err, len(body))
		}
		if e.status != 0 && (status != e.status || err != nil || kind != "application/json" || !strings.Contains(body, `"code":"corruption"`)) {
			t.Errorf("%d rows: got %d %s %v %s", e.rows, status, kind, err, body)
		}
		store.waitClosed(t)
	}
}

// TestWideLine: a row of any width is streamed.
func TestWideLine(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	store.onScan = func(context.Context) *fakeRows { return &fakeRows{rows: 1} }
	c.Server.store = wide{store}
	w := &measuringWriter{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}"))
	r.Header.Set("Accept", linesType)
	c.ServeHTTP(w, r)
	text, last, _ := strings.Cut(w.Body.String(), "\n")
	var row struct {
		Key   string `json:"row_key"`
		Cells []struct {
			Key  string `json:"column_key"`
			Time int64
		}
	}
	if err := json.Unmarshal([]byte(text), &row); err != nil || len(row.Cells) != 100*1000 || !strings.HasPrefix(last, `{"statistics":{`) {
		t.Fatalf("got %v, %d cells, %.100s", err, len(row.Cells), last)
	}
	for i, c := range row.Cells {
		if c.Key != fmt.Sprintf("f:q%08d", i/2) || c.Time != int64(i) {
			t.Fatalf("cell %d: got %+v", i, c)
		}
	}
	if w.largest > 2*flushSize {
		t.Errorf("got a piece of %d bytes", w.largest)
	}
}

// wide is a store with one row of 100,000 cells, two of each column, in 100 chunks.
type wide struct{ *fakeStore }

func (s wide) View(ctx context.Context, table string) (widecol.View, error) {
	view, err := s.fakeStore.View(ctx, table)
	return wideView{view}, err
}

type wideView struct{ widecol.View }

func (v wideView) Scan(context.Context, *widecol.Query) (widecol.Rows, error) {
	return &wideRows{}, nil
}

type wideRows struct {
	chunk int
	cells []cell.Cell
}

func (r *wideRows) Next() bool {
	for _, c := range r.cells {
		clear(c.Column)
	}
	r.cells = r.cells[:0]
	for i := range 1000 {
		n := r.chunk*1000 + i
		r.cells = append(r.cells, cell.Cell{Column: fmt.Appendf(nil, "f\x00q%08d", n/2), Value: make([]byte, 8), Time: int64(n), Type: cell.I64})
	}
	r.chunk++
	return r.chunk <= 100
}

func (r *wideRows) First() bool                           { return r.chunk == 1 }
func (r *wideRows) Row() []byte                           { return []byte("wide") }
func (r *wideRows) Cells() []cell.Cell                    { return r.cells }
func (r *wideRows) Err() error                            { return nil }
func (r *wideRows) More() (p widecol.Position, more bool) { return p, false }
func (r *wideRows) Stats() widecol.Stats                  { return widecol.Stats{Rows: 1, Cells: 100_000} }
func (r *wideRows) Labels() []string                      { return nil }
func (r *wideRows) Close()                                {}

// TestKeptStarts: the texts that are kept for cells are theirs, whatever columns and types follow each other.
func TestKeptStarts(t *testing.T) {
	var l lineWriter
	long := strings.Repeat("l", longestKept)
	names := []string{"f\x00a", "f\x00b", "g\x00a", "f\x00", "ff\x00a", "f\x00\xff", "f\x00" + long, "g\x00" + long, "f\x00\"\\"}
	state := uint32(1)
	random := func(n int) int {
		state = state*1664525 + 1013904223
		return int(state>>16) % n
	}
	for range 3000 {
		l.cells = 0
		spread := 1 + random(len(names))
		for i := range random(80) {
			name := names[(random(spread)+i)%len(names)]
			typ := cell.Type(1 + random(int(cell.TypeCount)-1))
			got := string(l.appendStart([]byte("x"), &cell.Cell{Column: []byte(name), Type: typ}))
			key := appendBytes(nil, []byte(strings.Replace(name, "\x00", ":", 1)))
			want := fmt.Sprintf(`x,{"column_key":%s%s`, key, typeAndValue[typ])
			if i == 0 {
				want = strings.Replace(want, ",", "", 1)
			}
			if got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	}
}
