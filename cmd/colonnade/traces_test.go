package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver takes spans over HTTP (OTLP).
type receiver struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*wire.Span // guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	c := new(receiver)
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m wire.TracesData // the same on the wire as an ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &m) != nil {
			t.Errorf("the receiver got %s %s: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, res := range m.ResourceSpans {
			for _, scope := range res.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// tree returns the names of a span and, in brackets, of those below it.
func (c *receiver) tree(s *wire.Span) string {
	var below []string
	for _, other := range c.spans {
		if string(other.TraceId) == string(s.TraceId) && string(other.ParentSpanId) == string(s.SpanId) {
			below = append(below, c.tree(other))
			if other.StartTimeUnixNano > other.EndTimeUnixNano {
				below = append(below, "!backwards")
			}
		}
	}
	slices.Sort(below)
	if below == nil {
		return s.Name
	}
	return s.Name + "(" + strings.Join(below, " ") + ")"
}

// trees returns how often each tree came.
func (c *receiver) trees(above string) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	trees := map[string]int{}
	for _, s := range c.spans {
		if fmt.Sprintf("%x", s.ParentSpanId) == above {
			trees[c.tree(s)]++
		}
	}
	return trees
}

// TestTraces follows requests through a server: each down to the log, and beside them flushes and compactions.
func TestTraces(t *testing.T) {
	c := newReceiver(t)
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--trace-endpoint", c.URL, "--trace-ratio", "1", "--memtable-mib", "1", "--access-log", "-")
	s.call("GET", "/healthz", "")
	s.call("GET", "/metrics", "")
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	item := `{"row_key":"%d-secret","cells":[{"column_key":"f:secret","type":"string","value":"secret` + strings.Repeat("v", 100<<10) + `"}]}`
	const writes = 20
	for i := range writes {
		s.call("POST", "/v1/table/t/write", `{"items":[`+fmt.Sprintf(item, i)+`]}`)
	}
	s.call("POST", "/v1/table/t/scan", `{}`)
	s.call("POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"1-secret"}}]}`)
	s.call("GET", "/v1/table/t/row?key=1-secret", "")
	s.call("POST", "/v1/table/t/count", `{}`)
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	trees := c.trees("")
	const query = "(store query wait for a slot)"
	for tree, want := range map[string]int{
		"POST /v1/table/{table}/write(store change(commit(enter log sync)) wait for a slot)": writes,
		"POST /v1/table/{table}/scan" + query:                                                1,
		"POST /v1/table/{table}/rows" + query:                                                1,
		"GET /v1/table/{table}/row" + query:                                                  1,
		"POST /v1/table/{table}/count" + query:                                               1,
		"flush":                                                                              1,
	} {
		if got := trees[tree]; got < want || tree != "flush" && got != want {
			t.Errorf("%d trees %s, want %d: there are\n%v", got, tree, want, trees)
		}
	}
	for tree := range trees {
		if strings.Contains(tree, "healthz") || strings.Contains(tree, "metrics") || strings.Contains(tree, "backwards") {
			t.Errorf("there is %s", tree)
		}
	}
	for _, span := range c.spans {
		if strings.Contains(span.String(), "secret") {
			t.Errorf("a span has something of a row: %.500s", span)
		}
		if span.Name == "POST /v1/table/{table}/scan" && !strings.Contains(s.stderr.String(), fmt.Sprintf("trace_id=%x", span.TraceId)) {
			t.Errorf("the access log does not name trace %x:\n%s", span.TraceId, s.stderr)
		}
	}
}

// TestTraceOfTheClient: a request is part of the trace of its client, whatever the ratio, and a reload takes another ratio.
func TestTraceOfTheClient(t *testing.T) {
	c := newReceiver(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "colonnade.toml")
	write := func(ratio string) string {
		return fmt.Sprintf("trace-endpoint = %q\ntrace-ratio = %s\n", c.URL+"/v1/traces", ratio)
	}
	if err := os.WriteFile(path, []byte(write("0")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--config", path)
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	r, err := http.NewRequest("POST", s.url+"/v1/table/t/write", strings.NewReader(`{"items":[{"row_key":"a","cells":[{"column_key":"f:","type":"i64","value":1}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	s.hangup(path, write("1"), "an option has changed")
	s.call("GET", "/v1/table/t", "")
	s.stop(syscall.SIGTERM)
	if trees := c.trees("b7ad6b7169203331"); len(trees) != 1 || trees["POST /v1/table/{table}/write(store change(commit(enter log sync)) wait for a slot)"] != 1 {
		t.Errorf("in the trace of the client: %v", trees)
	}
	if trees := c.trees(""); trees["GET /v1/table/{table}(wait for a slot)"] != 1 || trees["PUT /v1/table/{table}(store change(commit(enter log sync)) wait for a slot)"] != 0 {
		t.Errorf("others: %v", trees)
	}
}

// TestNoCollector: a server whose collector does not answer serves as ever, and ends.
func TestNoCollector(t *testing.T) {
	c := newReceiver(t)
	c.Close()
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--trace-endpoint", c.URL, "--trace-ratio", "1")
	s.call("PUT", "/v1/table/t", "")
	if code := s.stop(syscall.SIGTERM); code != 0 || strings.Count(s.stderr.String(), "spans cannot be sent, and are dropped") != 1 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	for _, endpoint := range []string{"127.0.0.1:4318", "grpc://a:4317", "http://", "http://a/?x=1"} {
		if got := runLine("", "config", "--trace-endpoint", endpoint); got.code != exitUsage || !strings.Contains(got.stderr, "must be a URL such as http://127.0.0.1:4318") {
			t.Errorf("%s: %+v", endpoint, got)
		}
	}
}
