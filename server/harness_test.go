package server

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// client talks to the handler of a Server without a network.
type client struct {
	*Server
	t *testing.T
}

// newClient returns a client of a server with an empty memstore, whose commits
// have the times 1, 2, 3 and so on.
func newClient(t *testing.T) *client {
	return clientOf(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), Options{})
}

func clientOf(t *testing.T, store widecol.Store, opt Options) *client {
	opt.Now = steppingClock()
	if opt.Log == nil {
		opt.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return &client{Server: New(store, opt), t: t}
}

// steppingClock returns a clock that moves on by 10 ms whenever it is asked.
func steppingClock() func() time.Time {
	start := time.Now()
	var calls atomic.Int64
	return func() time.Time { return start.Add(time.Duration(calls.Add(1)) * 10 * time.Millisecond) }
}

// send makes a request with a body, "" for none, and returns the answer.
func (c *client) send(method, path, body string) *httptest.ResponseRecorder {
	c.t.Helper()
	return sendTo(c, method, path, body)
}

func sendTo(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	request := httptest.NewRequest(method, path, r)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

// envelope is an answer as a client sees it.
type envelope struct {
	Message string
	Result  json.RawMessage
	Status  int
	Error   *struct{ Code, At string }
}

// call is send for a request that must be answered in the envelope.
func (c *client) call(method, path, body string) envelope {
	c.t.Helper()
	w := c.send(method, path, body)
	var e envelope
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		c.t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
	}
	if e.Status != w.Code || e.Message == "" {
		c.t.Errorf("%s %s: got status %d and message %q in the body, %d outside", method, path, e.Status, e.Message, w.Code)
	}
	return e
}

// must is call for a request that must succeed. It returns the result.
func (c *client) must(status int, method, path, body string) json.RawMessage {
	c.t.Helper()
	e := c.call(method, path, body)
	if e.Status != status || e.Error != nil {
		c.t.Fatalf("%s %s: got %d %s %v, want %d", method, path, e.Status, e.Message, e.Error, status)
	}
	return e.Result
}

// refused checks that a request is answered with an error and changes nothing.
func (c *client) refused(status int, code, at, method, path, body string) {
	c.t.Helper()
	before := c.everything()
	e := c.call(method, path, body)
	switch {
	case e.Error == nil || e.Status != status || e.Error.Code != code || e.Error.At != at:
		c.t.Errorf("%s %s %.200s:\ngot  %d %+v %s\nwant %d %s at %q", method, path, body, e.Status, e.Error, e.Message, status, code, at)
	case string(e.Result) != "null":
		c.t.Errorf("%s %s %.200s: got result %s with an error", method, path, body, e.Result)
	}
	if after := c.everything(); after != before {
		c.t.Errorf("%s %s %.200s: was refused, but changed\n%s\nto\n%s", method, path, body, before, after)
	}
}

// everything returns the whole content of the store as text.
func (c *client) everything() string {
	c.t.Helper()
	tables, err := c.store.Tables(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	for _, table := range tables {
		w := sendTo(c.Server, "GET", "/v1/table/"+strings.ReplaceAll(table.Name, "#", "%23"), "")
		b.WriteString(stripTimes(w.Body.Bytes()))
		w = sendTo(c.Server, "POST", "/v1/table/"+strings.ReplaceAll(table.Name, "#", "%23")+"/scan", "{}")
		b.WriteString(stripTimes(w.Body.Bytes()))
	}
	return b.String()
}

// stripTimes returns JSON text with sorted fields and without those that tell
// how long something took.
func stripTimes(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error() + " in " + string(text)
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"time_ms", "micros", "micros_per_row", "micros_per_item"} {
				delete(v, name)
			}
			for _, e := range v {
				strip(e)
			}
		case []any:
			for _, e := range v {
				strip(e)
			}
		}
	}
	strip(v)
	out, _ := json.Marshal(v)
	return string(out)
}

// same checks that JSON text is as wanted, apart from times.
func (c *client) same(got []byte, want string) {
	c.t.Helper()
	if g, w := stripTimes(got), stripTimes([]byte(want)); g != w {
		c.t.Errorf("got  %s\nwant %s", g, w)
	}
}

// fieldNames returns the names of the fields of every object in JSON text, as
// paths. It must fit everywhere: an empty list has no elements to show.
func fieldNames(t *testing.T, text []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	paths := make(map[string]bool)
	var walk func(string, any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, e := range v {
				paths[strings.TrimPrefix(path+"."+name, ".")] = true
				walk(path+"."+name, e)
			}
		case []any:
			for _, e := range v {
				walk(path+"[]", e)
			}
		}
	}
	walk("", v)
	return slices.Sorted(maps.Keys(paths))
}

// webtable creates a table t with the families anchor, contents and title, the
// last in a locality group of its own, and three rows.
func (c *client) webtable() {
	c.t.Helper()
	c.must(201, "PUT", "/v1/table/t", "")
	c.must(201, "POST", "/v1/table/t/column-family", `{"column_families":[{"name":"contents"},{"name":"anchor"}]}`)
	c.must(201, "POST", "/v1/table/t/column-family", `{"column_families":[{"name":"title"}],"locality_group":true}`)
	c.must(200, "POST", "/v1/table/t/write", `{"items":[
		{"row_key":"org.a","cells":[
			{"column_key":"title:","type":"string","value":"A"},
			{"column_key":"anchor:http://b/:80","type":"string","value":"link"},
			{"column_key":"anchor:c","type":"i64","value":-7}]},
		{"row_key":"org.b","cells":[{"column_key":"contents","type":"bytes","value":"AAH/"},{"column_key":"title:","type":"string","value":"B"}]},
		{"row_key":"com.c","cells":[{"column_key":"title:","type":"string","value":"C"}]}]}`)
	c.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":"org.a","cells":[{"column_key":"title:","type":"string","value":"A2"}]}]}`)
}

const orgA = `{"row_key":"org.a","columns":{
	"anchor":{"c":[{"time":1,"type":"i64","value":-7}],"http://b/:80":[{"time":1,"type":"string","value":"link"}]},
	"title":{"":[{"time":2,"type":"string","value":"A2"},{"time":1,"type":"string","value":"A"}]}}}`

const orgB = `{"row_key":"org.b","columns":{"contents":{"":[{"time":1,"type":"bytes","value":"AAH/"}]},"title":{"":[{"time":1,"type":"string","value":"B"}]}}}`

const comC = `{"row_key":"com.c","columns":{"title":{"":[{"time":1,"type":"string","value":"C"}]}}}`

var _ http.Handler = (*Server)(nil)
