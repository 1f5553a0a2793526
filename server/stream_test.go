package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/widecol"
)

// streaming returns a server whose scans answer with what the test makes up,
// its address, and its log.
func streaming(t *testing.T, rows fakeRows) (*client, *fakeStore, *bytes.Buffer) {
	store := newFakeStore()
	var log bytes.Buffer
	c := clientOf(t, store, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.opt.Now = time.Now
	c.webtable()
	store.onScan = func(context.Context) *fakeRows { r := rows; return &r }
	return c, store, &log
}

// waitClosed waits until all views and answers of the store are closed.
func (s *fakeStore) waitClosed(t *testing.T) {
	t.Helper()
	select {
	case <-s.closed:
	case <-time.After(patience):
		t.Fatalf("%d views and answers are still open", s.open.Load())
	}
}

const scanRequest = "POST /v1/table/t/scan HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"

// TestClientGoes: an endless answer ends when its reader goes away.
func TestClientGoes(t *testing.T) {
	c, store, log := streaming(t, fakeRows{rows: -1})
	address := listen(t, c.Server)
	for _, e := range []struct {
		header string
		read   int64 // compressed, this is many times as much to be made
	}{{"", 300_000}, {"Accept-Encoding: gzip\r\n", 3_000}, {"Accept-Encoding: zstd\r\n", 3_000}} {
		w := dial(t, address)
		w.send(strings.Replace(scanRequest, "Host", e.header+"Host", 1))
		if _, err := io.CopyN(io.Discard, w.Reader, e.read); err != nil {
			t.Fatal(err)
		}
		_ = w.Conn.Close()
		store.waitClosed(t)
	}
	if log.Len() > 0 {
		t.Errorf("a client that goes is nothing to log, but got %s", log)
	}
}

// TestClientGoesEarly: it ends too while the answer is still being collected.
func TestClientGoesEarly(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	scanning := make(chan struct{})
	store.onScan = func(ctx context.Context) *fakeRows {
		close(scanning)
		<-ctx.Done()
		return &fakeRows{rows: -1}
	}
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest)
	<-scanning
	_ = w.Conn.Close()
	store.waitClosed(t)
	eventually(t, "the answer counts as broken off", func() bool { return c.Stats().Responses[0] == 1 })
}

// TestSlowReader: a reader that stops reading is cut off, and what its answer
// holds on to is released (H12).
func TestSlowReader(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.timeouts.Progress = 50 * time.Millisecond
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest)
	store.waitClosed(t)
}

// TestBrokenAnswer: an answer that cannot be finished is not one that a client
// could take for whole, in any encoding. One that has not begun is an error.
func TestBrokenAnswer(t *testing.T) {
	for _, e := range []struct {
		name   string
		rows   fakeRows
		status int // 0: broken off
	}{
		{"error at once", fakeRows{err: widecol.Errorf(widecol.Corrupt, "corruption", "block 7 of _dat_t")}, 500},
		{"error in the first bytes", fakeRows{rows: 20, err: widecol.Errorf(widecol.Corrupt, "corruption", "block 7 of _dat_t")}, 500},
		{"error later", fakeRows{rows: 3000, err: widecol.Errorf(widecol.Corrupt, "corruption", "block 7 of _dat_t")}, 0},
		{"overload at once", fakeRows{err: widecol.Errorf(widecol.Overloaded, "overloaded", "come back")}, 503},
		{"panic at once", fakeRows{panic: true}, 500},
		{"panic later", fakeRows{rows: 3000, panic: true}, 0},
	} {
		for _, encoding := range []string{"identity", "gzip", "zstd"} {
			t.Run(e.name+" "+encoding, func(t *testing.T) {
				c, store, log := streaming(t, e.rows)
				request, _ := http.NewRequest("POST", "http://"+listen(t, c.Server)+"/v1/table/t/scan", strings.NewReader("{}"))
				request.Header.Set("Accept-Encoding", encoding)
				r, err := http.DefaultTransport.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = r.Body.Close() }()
				body, err := inflated(r)
				switch {
				case e.status == 0 && (r.StatusCode != 200 || err == nil):
					t.Errorf("got %d and a whole answer of %d bytes, want it broken off", r.StatusCode, len(body))
				case e.status != 0 && (r.StatusCode != e.status || err != nil || !strings.Contains(string(body), `"error":{"code":`)):
					t.Errorf("got %d, %v, %s, want %d", r.StatusCode, err, body, e.status)
				}
				store.waitClosed(t)
				eventually(t, "the handler has ended", func() bool { a := c.Stats().Responses; return a[0]+a[5] == 1 })
				if logged := log.String(); (e.status != 503) != strings.Contains(logged, "request failed") ||
					e.rows.panic != (strings.Contains(logged, "the store has a bug") && strings.Contains(logged, "fake_test.go")) {
					t.Errorf("got the log %s", logged)
				}
				if e.rows.panic && strings.Contains(string(body), "bug") {
					t.Errorf("the client is told of the inside: %s", body)
				}
			})
		}
	}
}

func inflated(r *http.Response) ([]byte, error) {
	var body io.Reader = r.Body
	var err error
	switch r.Header.Get("Content-Encoding") {
	case "gzip":
		if body, err = gzip.NewReader(r.Body); err != nil {
			return nil, err
		}
	case "zstd":
		if body, err = zstd.NewReader(r.Body); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(body)
}

// TestStreamed: a long answer is whole, and never in memory as a whole.
func TestStreamed(t *testing.T) {
	c, _, _ := streaming(t, fakeRows{rows: 20_000})
	w := &measuringWriter{ResponseRecorder: httptest.NewRecorder()}
	c.ServeHTTP(w, httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}")))
	var got struct {
		Result struct {
			Rows []struct {
				Key     string `json:"row_key"`
				Columns map[string]map[string][]struct{ Time, Value int64 }
			}
			RowCount  int `json:"row_count"`
			CellCount int `json:"cell_count"`
		}
		Status int
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != 200 || len(got.Result.Rows) != 20_000 || got.Result.RowCount != 20_000 || got.Result.CellCount != 200_000 {
		t.Errorf("got status %d and %d rows, said to be %d with %d cells", got.Status, len(got.Result.Rows), got.Result.RowCount, got.Result.CellCount)
	}
	last := got.Result.Rows[19_999]
	if v := last.Columns["f1"]["q"]; last.Key != "row00019999" || len(last.Columns) != 2 || len(v) != 5 || v[0].Time != 5 || v[4].Value != 39_999 {
		t.Errorf("got the last row %+v", last)
	}
	if w.largest > flushSize+1000 || w.writes < w.Body.Len()/(flushSize+1000) {
		t.Errorf("got %d writes of up to %d bytes, want up to %d", w.writes, w.largest, flushSize)
	}
}

type measuringWriter struct {
	*httptest.ResponseRecorder
	largest, writes int
}

func (w *measuringWriter) Write(p []byte) (int, error) {
	w.largest = max(w.largest, len(p))
	w.writes++
	return w.ResponseRecorder.Write(p)
}

// TestCompression: answers are compressed for who asks, if it pays.
func TestCompression(t *testing.T) {
	for _, e := range []struct {
		accept, want string
		rows         int
	}{
		{"", "", 2000}, {"identity", "", 2000}, {"br", "", 2000}, {"gzip;q=0", "", 2000}, {"zstd;q=0, gzip;q=0.0", "", 2000},
		{"gzip", "gzip", 2000}, {"zstd", "zstd", 2000}, {"gzip, deflate, br, zstd", "zstd", 2000}, {"zstd, gzip", "zstd", 2000},
		{"zstd;q=0.5, gzip;q=0.9", "gzip", 2000}, {"GZIP ; q=1", "gzip", 2000},
		{"gzip", "gzip", 5}, {"zstd", "zstd", 5}, {"gzip", "", 0},
	} {
		c, _, _ := streaming(t, fakeRows{rows: e.rows})
		request := httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}"))
		request.Header.Set("Accept-Encoding", e.accept)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, request)
		r := w.Result()
		body, err := inflated(r)
		if err != nil || r.Header.Get("Content-Encoding") != e.want || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: got %v and the header %v, want %q", e.accept, err, r.Header, e.want)
		}
		if !json.Valid(body) || e.want != "" && w.Body.Len() > len(body)/2 {
			t.Errorf("%q: got %d bytes in %d", e.accept, len(body), w.Body.Len())
		}
		if c.admission.Memory().Free() != c.opt.Limits.Memory {
			t.Errorf("%q: got %d bytes of memory free at the end, want all", e.accept, c.admission.Memory().Free())
		}
	}
}

// TestNoMemoryToCompress: then the answer goes out as it is.
func TestNoMemoryToCompress(t *testing.T) {
	c, _, _ := streaming(t, fakeRows{rows: 100})
	c.admission.Memory().Take(c.admission.Memory().Free() - 1000)
	request := httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}"))
	request.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	c.ServeHTTP(w, request)
	if w.Code != 200 || w.Header().Get("Content-Encoding") != "" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

// TestStatuses: each kind of store error has its status.
func TestStatuses(t *testing.T) {
	for _, e := range []struct {
		err    error
		status int
		code   string
		retry  bool
		logged bool
	}{
		{widecol.Errorf(widecol.Invalid, "x", "m"), 400, "x", false, false},
		{widecol.Errorf(widecol.NotFound, "x", "m"), 404, "x", false, false},
		{widecol.Errorf(widecol.Exists, "x", "m"), 409, "x", false, false},
		{widecol.Errorf(widecol.Conflict, "x", "m"), 409, "x", false, false},
		{widecol.Errorf(widecol.KeyReused, "x", "m"), 422, "x", false, false},
		{widecol.Errorf(widecol.KeyInUse, "x", "m"), 409, "x", true, false},
		{widecol.Errorf(widecol.TooLarge, "x", "m"), 413, "x", false, false},
		{widecol.Errorf(widecol.Internal, "x", "m"), 500, "x", false, true},
		{widecol.Errorf(widecol.Corrupt, "x", "m"), 500, "x", false, true},
		{widecol.Errorf(widecol.Overloaded, "x", "m"), 503, "x", true, false},
		{widecol.Errorf(widecol.Closed, "x", "m"), 503, "x", true, false},
		{widecol.Errorf(widecol.ReadOnly, "read_only", "m"), 503, "read_only", false, true},
		{widecol.Errorf(widecol.Unknown, "x", "m"), 504, "x", false, true},
		{widecol.Errorf(widecol.DiskFull, "x", "m"), 507, "x", false, true},
		{errors.New("secret"), 500, "internal", false, true},
		{context.DeadlineExceeded, 504, "outcome_unknown", false, true},
	} {
		c, store, log := streaming(t, fakeRows{})
		store.onWrite = func(context.Context) error { return e.err }
		w := c.send("POST", "/v1/table/t/write", cellOf("i64", "1"))
		if w.Code != e.status || !strings.Contains(w.Body.String(), `"code":"`+e.code+`"`) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: got %d %s, want %d", e.err, w.Code, w.Body, e.status)
		}
		if retry := w.Header().Get("Retry-After") != ""; retry != e.retry {
			t.Errorf("%v: got Retry-After %v, want %v", e.err, retry, e.retry)
		}
		if logged := log.Len() > 0; logged != e.logged {
			t.Errorf("%v: got the log %q, want some: %v", e.err, log, e.logged)
		}
	}
}

// TestUnknownOutcome: a store that does not come back is not waited for
// without end.
func TestUnknownOutcome(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	c.timeouts.Write = time.Millisecond
	store.onWrite = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if e := c.call("POST", "/v1/table/t/write", cellOf("i64", "1")); e.Status != 504 || e.Error.Code != "outcome_unknown" {
		t.Errorf("got %d %+v", e.Status, e.Error)
	}
}

// TestRowsOfUnknownFamily: a filter that is wrong is refused before the answer
// begins, however far back in the request it stands.
func TestRowsOfUnknownFamily(t *testing.T) {
	c, _, _ := streaming(t, fakeRows{rows: 100})
	items := strings.Repeat(`{"row":{"key":"a"},"column":{"multi_key":["title:","anchor:"]}},`, 100)
	e := c.call("POST", "/v1/table/t/rows", `{"items":[`+items+`{"row":{"key":"a"},"column":{"multi_key":["title:","nope:"]}}]}`)
	if e.Status != 404 || e.Error.Code != "unknown_column_family" || e.Error.At != "items[100].column.multi_key[1]" {
		t.Errorf("got %d %+v", e.Status, e.Error)
	}
}

// TestDamagedValue: a stored value that is not of its type is damage, and not a
// reason to panic.
func TestDamagedValue(t *testing.T) {
	c, _, _ := streaming(t, fakeRows{rows: 1, short: true})
	if e := c.call("POST", "/v1/table/t/scan", "{}"); e.Status != 500 || e.Error.Code != "corruption" {
		t.Errorf("got %d %+v", e.Status, e.Error)
	}
}

// TestErrorsOfQuietEndpoints: counts and row reads end with the error too.
func TestErrorsOfQuietEndpoints(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: 5, err: widecol.Errorf(widecol.Corrupt, "corruption", "block 7 of _dat_t")})
	for endpoint, body := range map[string]string{"count": "{}", "aggregate": `{"of":["sum"]}`, "rows": `{"items":[{"row":{"key":"a"}}]}`} {
		if e := c.call("POST", "/v1/table/t/"+endpoint, body); e.Status != 500 || e.Error.Code != "corruption" {
			t.Errorf("%s: got %d %+v", endpoint, e.Status, e.Error)
		}
	}
	if open := store.open.Load(); open != 0 {
		t.Errorf("%d views and answers are still open", open)
	}
}

// TestLogIsLines: whatever a failure has in it, the log has one line for it without
// control characters, and no values (Z8).
func TestLogIsLines(t *testing.T) {
	c, store, log := streaming(t, fakeRows{})
	const hostile = "a\r\nlevel=INFO msg=forged\x1b[31m\u2028\x00"
	store.onWrite = func(context.Context) error {
		err := widecol.Errorf(widecol.Internal, "internal", "key %s", hostile)
		err.Cause = errors.New(hostile)
		return err
	}
	c.call("POST", "/v1/table/t/write", cellOf("string", `"a secret value"`))
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") || strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\r\n\x1b\x00\u2028") || !strings.Contains(text, "forged") {
		t.Errorf("got the log %q, want one line with everything quoted", text)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("got a value in the log: %s", text)
	}
}

// TestPanicInScan: a view is closed when the scan of it panics before it begins (H15).
func TestPanicInScan(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	store.onScan = func(context.Context) *fakeRows { panic("the store has a bug") }
	for endpoint, body := range map[string]string{"scan": "{}", "count": "{}", "aggregate": `{"of":["sum"]}`, "rows": `{"items":[{"row":{"key":"a"}}]}`} {
		if e := c.call("POST", "/v1/table/t/"+endpoint, body); e.Status != 500 {
			t.Errorf("%s: got %d, want 500", endpoint, e.Status)
		}
		if open := store.open.Load(); open != 0 {
			t.Errorf("%s: %d views are still open", endpoint, open)
		}
	}
}
