package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
)

// lineOf is a row of one cell as a line.
func lineOf(row string, value int) string {
	return fmt.Sprintf(`{"row_key":%q,"cells":[{"column_key":"title:","type":"i64","value":%d}]}`+"\n", row, value)
}

// writeLines sends a body of lines.
func (c *client) writeLines(body string, header ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	return c.sendTyped("POST", "/v1/table/t/write", body, append([]string{"Content-Type", linesType}, header...)...)
}

// titles returns the rows with a title.
func (c *client) titles() string {
	c.t.Helper()
	var result struct {
		Rows []struct {
			Key string `json:"row_key"`
		}
	}
	if err := json.Unmarshal(c.must(200, "POST", "/v1/table/t/scan", `{"column":{"key":"title:"}}`), &result); err != nil {
		c.t.Fatal(err)
	}
	var keys []string
	for _, row := range result.Rows {
		keys = append(keys, row.Key)
	}
	return strings.Join(keys, " ")
}

// TestWriteLines: lines are the items of a write, whatever stands between them.
func TestWriteLines(t *testing.T) {
	for _, body := range []string{
		lineOf("a", 1) + lineOf("b", 2),
		lineOf("a", 1) + lineOf("b", 2) + "\n\r\n \t\n",
		strings.ReplaceAll(lineOf("a", 1)+lineOf("b", 2), "\n", "\r\n"),
	} {
		c := newClient(t)
		c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"title"}]}`)
		w := c.writeLines(body)
		if got := w.Body.String(); w.Code != 200 || w.Header().Get("Content-Type") != linesType || got != `{"lines":[1,2],"time":1}`+"\n" {
			t.Errorf("%q: got %d %v %s", body, w.Code, w.Header(), got)
		}
		if got := c.titles(); got != "a b" {
			t.Errorf("%q: got the rows %s", body, got)
		}
	}
	// A last line without an end is a line. It may come in a batch of its own.
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"title"}]}`)
	c.writeLines(" \n" + strings.TrimSuffix(lineOf("a", 1)+"\n"+lineOf("b", 2), "\n"))
	if got := c.titles(); got != "a b" {
		t.Errorf("without a line end: got the rows %s", got)
	}
}

// TestLinesGoRound: what a scan answers as lines can be written, and is the same then.
func TestLinesGoRound(t *testing.T) {
	c := newClient(t)
	c.webtable()
	c.must(200, "POST", "/v1/table/t/write", `{"items":[{"row_key":{"base64":"/wA="},"cells":[
		{"column_key":{"base64":"dGl0bGU6/w=="},"type":"f64","value":-0.0,"time":9},{"column_key":{"base64":"dGl0bGU6/w=="},"type":"f32","value":1e-9,"time":8},
		{"column_key":"title:\"q\\\u0001\u2028","type":"bytes","value":"AAE="},{"column_key":"anchor:","type":"i64","value":9223372036854775807},
		{"column_key":"anchor:i","type":"i32","value":-1},{"column_key":"anchor:b","type":"byte","value":200},{"column_key":"anchor:t","type":"boolean","value":true}]}]}`)
	rows, _ := c.lines("/v1/table/t/scan", "{}")
	before := c.must(200, "POST", "/v1/table/t/scan", "{}")
	c.must(202, "DELETE", "/v1/table/t", "")
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"anchor"},{"name":"contents"}],"locality_groups":[["anchor"]]}`)
	c.must(201, "POST", "/v1/table/t/column-family", `{"column_families":[{"name":"title"}],"locality_group":true}`)
	if w := c.writeLines(strings.Join(rows, "\n") + "\n"); w.Code != 200 || strings.Contains(w.Body.String(), "error") {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	after := c.must(200, "POST", "/v1/table/t/scan", "{}")
	if b, a := stripTimes(before), stripTimes(after); rowsOf(b) != rowsOf(a) || len(rowsOf(a)) < 500 {
		t.Errorf("before %s\nafter  %s", b, a)
	}
}

// rowsOf returns the part of a result with its rows.
func rowsOf(result string) string {
	_, rows, _ := strings.Cut(result, `"rows":`)
	rows, _, _ = strings.Cut(rows, `,"rows_scanned"`)
	return rows
}

// lineError is the last line of an answer that ends with an error.
type lineError struct {
	Lines [2]int64
	Time  *int64
	Error struct{ Code, At, Message string }
}

// TestLineRefusals: a wrong line is refused with its number and the place in it. Those before it are written,
// it and those behind it are not. Nothing is answered but the error, with its status, if there are none before.
func TestLineRefusals(t *testing.T) {
	good := lineOf("good", 1)
	cell := func(field, value string) string {
		return strings.Replace(strings.Replace(lineOf("x", 1), `"`+field+`":`, `"`+field+`":`+value+`,"y":`, 1), `,"y":"title:"`, "", 1)
	}
	for _, e := range []struct {
		status   int
		code, at string
		line     string
	}{
		{400, "invalid_json", "", "{"},
		{400, "invalid_json", "", strings.TrimSpace(good) + "x"},
		{400, "invalid_json", "", strings.TrimSpace(good) + good},
		{400, "invalid_json", "", "\xef\xbb\xbf" + good},
		{400, "invalid_json", "row_key", "{\"row_key\":\"a\x00b\"}"},
		{400, "invalid_utf8", "row_key", "{\"row_key\":\"a\xffb\"}"},
		{400, "wrong_type", "", `[` + strings.TrimSpace(good) + `]`},
		{400, "wrong_type", "", `null`},
		{400, "wrong_type", "row_key", `{"row_key":7}`},
		{400, "wrong_type", "cells", `{"row_key":"a","cells":{}}`},
		{400, "unknown_field", "items", `{"items":[` + strings.TrimSpace(good) + `]}`},
		{400, "unknown_field", "statistics", `{"statistics":{}}`},
		{400, "duplicate_field", "row_key", `{"row_key":"a","row_key":"a"}`},
		{400, "missing_field", "row_key", `{"cells":[{"column_key":"title:","type":"i64","value":1}]}`},
		{400, "missing_field", "cells", `{"row_key":"a"}`},
		{400, "missing_field", "cells[0].value", `{"row_key":"a","cells":[{"column_key":"title:","type":"i64"}]}`},
		{400, "empty_list", "cells", `{"row_key":"a","cells":[]}`},
		{400, "invalid_row_key", "row_key", lineOf("", 1)},
		{400, "invalid_row_key", "row_key", lineOf(long(4097), 1)},
		{400, "invalid_base64", "row_key.base64", strings.Replace(good, `"good"`, `{"base64":"x"}`, 1)},
		{400, "invalid_type", "cells[0].type", strings.Replace(good, "i64", "int", 1)},
		{400, "invalid_value", "cells[0].value", strings.Replace(good, `:1`, `:"x"`, 1)},
		{400, "number_out_of_range", "cells[0].time", cell("column_key", `"title:","time":-1`)},
		{400, "invalid_column_key", "cells[0].column_key", strings.Replace(good, "title:", "ti tle:", 1)},
		{404, "unknown_column_family", "cells[0].column_key", strings.Replace(good, "title:", "nope:", 1)},
		{400, "invalid_column_key", "cells[0].column_key", strings.Replace(good, "title:", "title:"+long(16385), 1)},
		{413, "value_too_large", "cells[0].value", strings.Replace(good, `"i64","value":1`, `"string","value":"`+long(1<<20+1)+`"`, 1)},
	} {
		line := strings.TrimSuffix(e.line, "\n") + "\n"
		c := newClient(t)
		c.webtable()
		before := c.everything()
		w := c.writeLines("\n" + line + good)
		var first envelope
		if err := json.Unmarshal(w.Body.Bytes(), &first); err != nil {
			t.Fatalf("%.100s: %v in %s", line, err, w.Body)
		}
		if w.Code != e.status || first.Error == nil || first.Error.Code != e.code || first.Error.At != e.at || !strings.HasPrefix(first.Message, "line 2: ") {
			t.Errorf("%.100s:\ngot  %d %.300s\nwant %d %s at %q", line, w.Code, w.Body, e.status, e.code, e.at)
		}
		if after := c.everything(); after != before {
			t.Errorf("%.100s: was refused, but changed\n%s\nto\n%s", line, before, after)
		}

		w = c.writeLines(lineOf("before", 1) + "\n" + lineOf("before2", 2) + line + lineOf("behind", 3))
		answers := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
		var last lineError
		if err := json.Unmarshal([]byte(answers[len(answers)-1]), &last); err != nil {
			t.Fatal(err)
		}
		if w.Code != 200 || last.Error.Code != e.code || last.Error.At != e.at || last.Error.Message == "" || last.Lines != [2]int64{4, 4} || last.Time != nil {
			t.Errorf("%.100s, after others:\ngot  %d %.300s\nwant %s at %q", line, w.Code, w.Body, e.code, e.at)
		}
		if got := c.titles(); got != "before before2 com.c org.a org.b" {
			t.Errorf("%.100s, after others: got the rows %s", line, got)
		}
		if free := c.admission.Memory().Free(); free != c.opt.Limits.Memory {
			t.Errorf("%.100s: got %d bytes free at the end", line, free)
		}
	}
}

// TestLinesHeader: what is wrong with the header is refused before the body is looked at.
func TestLinesHeader(t *testing.T) {
	c := newClient(t)
	c.webtable()
	before := c.everything()
	for _, e := range []struct {
		status   int
		code, at string
		body     string
		header   []string
	}{
		{400, "unsupported_header", "header", lineOf("a", 1), []string{"Idempotency-Key", "k"}},
		{400, "invalid_idempotency_key", "header", lineOf("a", 1), []string{"Idempotency-Key", "k k"}},
		{415, "unsupported_media_type", "header", lineOf("a", 1), []string{"Content-Type", linesType + "; charset=latin-1"}},
		{415, "unsupported_media_type", "header", lineOf("a", 1), []string{"Content-Type", linesType + "; charset"}},
		{415, "unsupported_media_type", "header", lineOf("a", 1), []string{"Content-Type", linesType + "p"}},
		{415, "unsupported_encoding", "header", lineOf("a", 1), []string{"Content-Encoding", "br"}},
		{400, "broken_body", "", lineOf("a", 1), []string{"Content-Encoding", "gzip"}},
		{400, "empty_list", "", "", nil},
		{400, "empty_list", "", "\n \r\n\t", nil},
	} {
		w := c.writeLines(e.body, e.header...)
		var got envelope
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v: %v in %s", e.header, err, w.Body)
		}
		if w.Code != e.status || got.Error == nil || got.Error.Code != e.code || got.Error.At != e.at {
			t.Errorf("%v: got %d %s, want %d %s at %q", e.header, w.Code, w.Body, e.status, e.code, e.at)
		}
	}
	for _, kind := range []string{"Application/X-NDJSON", linesType + " ; charset=UTF-8"} {
		if w := c.writeLines(lineOf("org.a", 1), "Content-Type", kind); w.Code != 200 {
			t.Errorf("%s: got %d %s", kind, w.Code, w.Body)
		}
		before = c.everything()
	}
	for _, endpoint := range []string{"scan", "rows", "mutate", "delete", "check-and-mutate"} {
		if w := c.sendTyped("POST", "/v1/table/t/"+endpoint, lineOf("a", 1), "Content-Type", linesType); w.Code != 415 {
			t.Errorf("%s: got %d %s, want 415", endpoint, w.Code, w.Body)
		}
	}
	if w := c.sendTyped("POST", "/v1/table/nope/write", lineOf("a", 1), "Content-Type", linesType); w.Code != 404 || !strings.Contains(w.Body.String(), `"code":"unknown_table","at":"path"`) {
		t.Errorf("an unknown table: got %d %s", w.Code, w.Body)
	}
	if after := c.everything(); after != before {
		t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
	}
}

const linesHead = "POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"

// chunkOf is a chunk of a chunked body.
func chunkOf(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// rest reads an answer to its end.
func (w *wire) rest() (status int, kind, body string, err error) {
	w.t.Helper()
	r, err := http.ReadResponse(w.Reader, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, r.Header.Get("Content-Type"), string(text), err
}

// TestLineByLine: a client that waits for the answer to a line gets it before it sends the next one. The
// connection goes on behind the body.
func TestLineByLine(t *testing.T) {
	type flusher interface {
		io.WriteCloser
		Flush() error
	}
	for _, e := range []struct {
		encoding string
		to       func(io.Writer) flusher
	}{
		{"", func(w io.Writer) flusher { return plainWriter{w} }},
		{"gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
		{"zstd", func(w io.Writer) flusher { z, _ := zstd.NewWriter(w); return z }},
		{"zstd", func(w io.Writer) flusher { return &frames{to: w} }},
	} {
		c := serverWith(t, Options{})
		w := dial(t, listen(t, c.Server))
		for round := range 2 {
			w.send(linesHead + "Transfer-Encoding: chunked\r\nContent-Encoding: " + e.encoding + "\r\n\r\n")
			var r *http.Response
			var body bytes.Buffer
			out := e.to(&body)
			flush := func(end func() error) {
				if err := end(); err != nil {
					t.Fatal(err)
				}
				if body.Len() > 0 {
					w.send(chunkOf(body.String()))
				}
				body.Reset()
			}
			for i := range 5 {
				_, _ = io.WriteString(out, lineOf(fmt.Sprintf("%d-%d", round, i), i))
				flush(out.Flush)
				if i == 0 {
					var err error
					if r, err = http.ReadResponse(w.Reader, nil); err != nil {
						t.Fatal(err)
					}
				}
				want := fmt.Sprintf(`{"lines":[%d,%d],"time":`, i+1, i+1)
				line := make([]byte, len(want))
				if _, err := io.ReadFull(r.Body, line); err != nil || string(line) != want {
					t.Fatalf("%s: got %v %s, want %s", e.encoding, err, line, want)
				}
				for b := make([]byte, 1); b[0] != '\n'; {
					if _, err := r.Body.Read(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			flush(out.Close)
			w.send("0\r\n\r\n")
			if rest, err := io.ReadAll(r.Body); err != nil || len(rest) > 0 || r.Close {
				t.Fatalf("%s: got %q, %v behind the last line, close %v", e.encoding, rest, err, r.Close)
			}
		}
		if got := strings.Count(c.titles(), " ") + 1; got != 3+10 {
			t.Errorf("%s: got %d rows, want 13", e.encoding, got)
		}
	}
}

// frames makes a frame of its own of what comes between two flushes.
type frames struct {
	bytes.Buffer
	to io.Writer
}

func (f *frames) Flush() error {
	z, _ := zstd.NewWriter(nil)
	_, err := f.to.Write(z.EncodeAll(f.Next(f.Len()), nil))
	return err
}

func (f *frames) Close() error { return nil }

type plainWriter struct{ io.Writer }

func (plainWriter) Flush() error { return nil }
func (plainWriter) Close() error { return nil }

// TestExpectationOfLines: a client that waits for 100-continue gets it.
func TestExpectationOfLines(t *testing.T) {
	c := serverWith(t, Options{})
	w := dial(t, listen(t, c.Server))
	body := lineOf("a", 1)
	w.send(linesHead + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
	if line, _ := w.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q", line)
	}
	_, _ = w.ReadString('\n')
	w.send(body)
	if r, text := w.answer(); r.StatusCode != 200 || !strings.HasPrefix(text, `{"lines":[1,1],`) {
		t.Errorf("got %d %s", r.StatusCode, text)
	}
}

// TestBrokenLinesBody: a body that breaks off leaves its whole lines and nothing of the last one.
func TestBrokenLinesBody(t *testing.T) {
	many := ""
	for i := range 2000 {
		many += lineOf(fmt.Sprintf("n%05d", i), i)
	}
	cut := lineOf("cut", 1)
	for _, e := range []struct{ name, head, body string }{
		{"length", "Content-Length: 10000000\r\n\r\n", many + cut[:len(cut)-1]},
		{"chunks", "Transfer-Encoding: chunked\r\n\r\n", chunkOf(many) + chunkOf(cut[:len(cut)-1])},
		{"in a chunk", "Transfer-Encoding: chunked\r\n\r\n", chunkOf(many) + "ffff\r\n" + cut[:len(cut)-1]},
		{"gzip", "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", chunkOf(string(gzipped([]byte(many)))) + chunkOf(string(gzipped([]byte(cut[:len(cut)-1])))[:20])},
	} {
		c := serverWith(t, Options{})
		w := dial(t, listen(t, c.Server))
		w.send(linesHead + e.head + e.body)
		_ = w.Conn.(interface{ CloseWrite() error }).CloseWrite()
		status, _, body, err := w.rest()
		lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
		var last lineError
		_ = json.Unmarshal([]byte(lines[len(lines)-1]), &last)
		if status != 200 || err != nil || last.Error.Code != "broken_body" || last.Lines != [2]int64{2001, 2001} {
			t.Errorf("%s: got %d, %v, %s", e.name, status, err, body)
		}
		if got := strings.Count(c.titles(), "n"); got != 2000 || strings.Contains(c.titles(), "cut") {
			t.Errorf("%s: got %d rows of 2000, cut %v", e.name, got, strings.Contains(c.titles(), "cut"))
		}
	}
}

// TestLinesClientGoes: the store has whole batches of a client that went away, and all is given back.
func TestLinesClientGoes(t *testing.T) {
	c := serverWith(t, Options{})
	w := dial(t, listen(t, c.Server))
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("a", 1)+lineOf("b", 1)[:20]))
	if _, err := w.Reader.ReadString(']'); err != nil {
		t.Fatal(err)
	}
	_ = w.Conn.Close()
	eventually(t, "all is given back", func() bool { return c.admission.Memory().Free() == c.opt.Limits.Memory })
	if got := c.titles(); got != "a com.c org.a org.b" {
		t.Errorf("got the rows %s", got)
	}
}

// TestSlowLines: a client that sends nothing for long is told so, with its lines written.
func TestSlowLines(t *testing.T) {
	c := serverWith(t, Options{})
	c.timeouts.Progress = 50 * time.Millisecond
	w := dial(t, listen(t, c.Server))
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("a", 1)+lineOf("b", 1)[:20]))
	status, _, body, err := w.rest()
	if status != 200 || err != nil || !strings.Contains(body, `{"lines":[1,1],"time":`) || !strings.Contains(body, `{"lines":[2,2],"error":{"code":"request_timeout"`) {
		t.Errorf("got %d, %v, %s", status, err, body)
	}
}

// TestErrorAmidLines: the error is the end of the answer, which a client can read that is still sending.
func TestErrorAmidLines(t *testing.T) {
	c := serverWith(t, Options{})
	c.timeouts.linger = patience
	w := dial(t, listen(t, c.Server))
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("a", 1)+"{}\n"))
	go func() { // until the server has enough of it
		for chunk := []byte(chunkOf(strings.Repeat(" ", 1<<20))); ; {
			if _, err := w.Conn.Write(chunk); err != nil {
				return
			}
		}
	}()
	status, _, body, err := w.rest()
	if status != 200 || err != nil || !strings.HasSuffix(body, "\n") || !strings.Contains(body, `{"lines":[2,2],"error":{"code":"missing_field","at":"row_key","message":"row_key: the field is required"}}`) {
		t.Errorf("got %d, %v, %s", status, err, body)
	}
	w.closed()
	_ = w.Conn.Close()
}

// TestLinesStoreErrors: an error that is about no line names those of its batch.
func TestLinesStoreErrors(t *testing.T) {
	for _, e := range []struct {
		err    error
		status int
		code   string
		retry  bool
	}{
		{widecol.Errorf(widecol.Overloaded, "overloaded", "m"), 503, "overloaded", true},
		{widecol.Errorf(widecol.DiskFull, "disk_full", "m"), 507, "disk_full", false},
		{context.DeadlineExceeded, 504, "outcome_unknown", false},
		{errors.New("secret"), 500, "internal", false},
	} {
		for _, good := range []int64{0, 1} {
			c, store, log := streaming(t, fakeRows{})
			var writes atomic.Int64
			store.onWrite = func(context.Context) error {
				if writes.Add(1) > good {
					return e.err
				}
				return nil
			}
			w := dial(t, listen(t, c.Server))
			w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n")
			status, kind, body := 0, "", ""
			if good == 0 {
				w.send(chunkOf("\n" + lineOf("a", 1) + lineOf("b", 2)))
				status, kind, body, _ = w.rest()
				if status != e.status || kind != "application/json" || !strings.Contains(body, `"code":"`+e.code+`"`) {
					t.Errorf("%v: got %d %s %s", e.err, status, kind, body)
				}
			} else {
				w.send(chunkOf(lineOf("a", 1)))
				eventually(t, "the first batch is written", func() bool { return writes.Load() == 1 })
				w.send(chunkOf("\n" + lineOf("b", 2) + lineOf("c", 2)))
				status, _, body, _ = w.rest()
				if status != 200 || !strings.Contains(body, `{"lines":[2,4],"error":{"code":"`+e.code+`","at":""`) {
					t.Errorf("%v: got %d %s", e.err, status, body)
				}
			}
			if strings.Contains(body, "secret") || e.retry == strings.Contains(log.String(), "request failed") {
				t.Errorf("%v: got %s and the log %s", e.err, body, log)
			}
		}
	}
}

// TestLinesPanic: a store that panics amid a batch leaves nothing locked.
func TestLinesPanic(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	store.onWrite = func(context.Context) error { panic("the store has a bug") }
	if w := c.writeLines(lineOf("a", 1)); w.Code != 500 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if free := c.admission.Memory().Free(); free != c.opt.Limits.Memory {
		t.Errorf("got %d bytes free at the end", free)
	}
}

// TestManyLines: however long a body is, it is written in bounded batches, in order, and takes bounded memory.
func TestManyLines(t *testing.T) {
	const value = 1000
	rows := 60_000
	if testing.Short() {
		rows = 30_000
	}
	c := serverWith(t, Options{Limits: admission.Limits{Memory: 20 << 20}})
	lowest := atomic.Int64{}
	lowest.Store(c.opt.Limits.Memory)
	store := &watchedStore{Store: c.Server.store, drop: true, onWrite: func(mutations []widecol.Mutation) {
		lowest.Store(min(lowest.Load(), c.admission.Memory().Free()))
	}}
	c.Server.store = store
	body, writer := io.Pipe()
	go func() {
		filler := long(value)
		for i := range rows {
			fmt.Fprintf(writer, `{"row_key":"m%06d","cells":[{"column_key":"title:","type":"string","value":%q}]}`+"\n", i, filler)
		}
		writer.Close()
	}()
	r, err := http.Post("http://"+listen(t, c.Server)+"/v1/table/t/write", linesType, body)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	next := int64(1)
	for d := json.NewDecoder(r.Body); ; {
		var line struct{ Lines [2]int64 }
		if err := d.Decode(&line); err == io.EOF {
			break
		} else if err != nil || line.Lines[0] != next || line.Lines[1] < next {
			t.Fatalf("got %v and the lines %v, want those from %d", err, line.Lines, next)
		}
		next = line.Lines[1] + 1
	}
	if next != int64(rows)+1 || !slices.IsSorted(store.rows) || len(store.rows) != rows {
		t.Errorf("%d lines were answered and %d written, of %d", next-1, len(store.rows), rows)
	}
	if most := slices.Max(store.batches); most > (2*batchBytes+sourcePiece)/value || len(store.batches) < 20 {
		t.Errorf("got %d batches, the largest of %d rows", len(store.batches), most)
	}
	if used := c.opt.Limits.Memory - lowest.Load(); used > 8<<20 {
		t.Errorf("the request took %d bytes", used)
	}
	eventually(t, "all is given back", func() bool { return c.admission.Memory().Free() == c.opt.Limits.Memory })
}

// TestBatchRows: a batch of short rows is bounded by their number.
func TestBatchRows(t *testing.T) {
	c := newClient(t)
	c.webtable()
	store := &watchedStore{Store: c.Server.store, drop: true}
	store.onWrite = func([]widecol.Mutation) {
		if len(store.batches) == 1 {
			eventually(t, "much waits", func() bool { return c.opt.Limits.Memory-c.admission.Memory().Free() > sourceAhead })
		}
	}
	c.Server.store = store
	w := c.writeLines(strings.Repeat(lineOf("a", 1), 3*batchBytes/len(lineOf("a", 1))))
	if most := slices.Max(store.batches); most != batchRows || strings.Contains(w.Body.String(), "error") {
		t.Errorf("got a batch of %d rows, want %d", most, batchRows)
	}
}

// TestLinesAhead: while nobody takes what has come, the body is read no further than sourceAhead.
func TestLinesAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		body := &endless{}
		x := &requestContext{server: c.Server, w: httptest.NewRecorder(), r: httptest.NewRequest("POST", "/", body), scratch: new(scratch)}
		x.admitted.Control = c.admission
		defer x.admitted.Close()
		s := x.startSource("")
		synctest.Wait()
		const most = sourceAhead + 2*sourcePiece
		if n := body.read.Load(); n < sourceAhead || n > most {
			t.Errorf("got %d bytes read, want up to %d", n, most)
		}
		if used := c.opt.Limits.Memory - c.admission.Memory().Free(); used > 3*sourceAhead {
			t.Errorf("got %d bytes in use", used)
		}
		taken := chargedBytes{memory: &x.admitted}
		if over, err := s.take(&taken); over || err != nil || int64(len(taken.bytes)) < sourceAhead {
			t.Errorf("got %v, %v and %d bytes", over, err, len(taken.bytes))
		}
		synctest.Wait()
		if n := body.read.Load() - int64(len(taken.bytes)); n < sourceAhead || n > most {
			t.Errorf("got %d bytes read after that, want up to %d", n, most)
		}
		s.stop()
	})
}

// endless is a body without an end.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return len(p), nil
}

// watchedStore keeps what is written in batches.
type watchedStore struct {
	widecol.Store
	rows    []string
	batches []int
	onWrite func([]widecol.Mutation)
	drop    bool // no write reaches the Store
}

func (s *watchedStore) Write(ctx context.Context, table string, mutations []widecol.Mutation, key string) (int64, error) {
	for _, m := range mutations {
		s.rows = append(s.rows, string(m.Row))
	}
	s.batches = append(s.batches, len(mutations))
	s.onWrite(mutations)
	if s.drop {
		return int64(len(s.batches)), nil
	}
	return s.Store.Write(ctx, table, mutations, key)
}

// TestLongLines: lines up to the limit of a body are taken, one by one, and their memory is given back
// before the next. Longer ones are refused.
func TestLongLines(t *testing.T) {
	const limit = 6 << 20
	c := serverWith(t, Options{MaxBody: limit, Limits: admission.Limits{Memory: 20 << 20}})
	store := &watchedStore{Store: c.Server.store}
	var free []int64
	store.onWrite = func([]widecol.Mutation) { free = append(free, c.admission.Memory().Free()) }
	c.Server.store = store
	cells := strings.Repeat(`{"column_key":"title:x","type":"string","value":"`+long(1<<20-100)+`"},`, 5)
	big := `{"row_key":"big","cells":[` + cells[:len(cells)-1] + "]}\n"
	address := listen(t, c.Server)
	w := dial(t, address)
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("a", 1)) + chunkOf(big))
	eventually(t, "the long line is written", func() bool { return c.titles() != "a com.c org.a org.b" && strings.Contains(c.titles(), "big") })
	w.send(chunkOf(lineOf("b", 1)) + "0\r\n\r\n")
	if status, _, body, err := w.rest(); status != 200 || err != nil || strings.Contains(body, "error") {
		t.Fatalf("got %d %v %s", status, err, body)
	}
	if last := c.opt.Limits.Memory - free[len(free)-1]; len(free) != 3 || last > 4<<20 {
		t.Errorf("in %d batches, the last one took %d bytes", len(free), last)
	}

	w = dial(t, address)
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("c", 1)) + chunkOf(long(limit+sourceAhead+4*sourcePiece)))
	status, _, body, err := w.rest()
	if status != 200 || err != nil || !strings.Contains(body, `{"lines":[2,2],"error":{"code":"line_too_large","at":""`) {
		t.Errorf("got %d %v %s", status, err, body)
	}
	w = dial(t, address)
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(long(limit+sourceAhead+4*sourcePiece)))
	if status, _, body, _ := w.rest(); status != 413 || !strings.Contains(body, `"message":"line 1: the line has more than 6291456 bytes"`) {
		t.Errorf("got %d %s", status, body)
	}
}

// TestNoRoomForLines: without memory or a slot, nothing is written, and the client is told to come back.
func TestNoRoomForLines(t *testing.T) {
	c := newClient(t)
	c.webtable()
	free := c.admission.Memory().Free()
	c.admission.Memory().Take(free - 50)
	if w := c.writeLines(lineOf("a", 1)); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":"overloaded"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	c.admission.Memory().Give(free - 50)
	c.limit(admission.Write, admission.NewLimiter(0, time.Millisecond, time.Millisecond, clock.System))
	if w := c.writeLines(lineOf("a", 1)); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if got := c.titles(); got != "com.c org.a org.b" {
		t.Errorf("got the rows %s", got)
	}
}

// TestLinesAtShutdown: a stream ends with the batch under way, and says so.
func TestLinesAtShutdown(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	writing, goOn := make(chan struct{}), make(chan struct{})
	store.onWrite = func(context.Context) error { writing <- struct{}{}; <-goOn; return nil }
	w := dial(t, listen(t, c.Server))
	w.send(linesHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkOf(lineOf("a", 1)))
	<-writing
	done := make(chan error, 1)
	go func() { done <- c.Shutdown(context.Background()) }()
	eventually(t, "the server shuts down", c.admission.Draining)
	w.send(chunkOf(lineOf("b", 1)))
	close(goOn)
	status, _, body, err := w.rest()
	if status != 200 || err != nil || !strings.HasPrefix(body, `{"lines":[1,1],"time":`) || !strings.Contains(body, `{"lines":[2,2],"error":{"code":"shutting_down"`) {
		t.Errorf("got %d %v %s", status, err, body)
	}
	_ = w.Conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLinesOnOtherServer: net/http's own server does as well.
func TestLinesOnOtherServer(t *testing.T) {
	c := serverWith(t, Options{})
	s := httptest.NewServer(c.Handler())
	defer s.Close()
	body, writer := io.Pipe()
	r, err := http.NewRequest("POST", s.URL+"/v1/table/t/write", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", linesType)
	go func() { _, _ = io.WriteString(writer, lineOf("a", 1)) }()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	d := json.NewDecoder(answer.Body)
	for i := range int64(3) {
		var line lineError
		if err := d.Decode(&line); err != nil || line.Lines != [2]int64{i + 1, i + 1} {
			t.Fatalf("got %v %+v", err, line)
		}
		_, _ = io.WriteString(writer, lineOf("a", 1))
	}
	_, _ = io.WriteString(writer, "{}\n") // and no end: the server ends it
	for {
		var line lineError
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Error.Code != "" {
			break
		}
	}
	writer.Close()
}

// TestConnectionAfterLines: a connection of net/http's server ends with the answer when some of the body may be left. What
// is left is no request. After a body that was read the connection goes on.
func TestConnectionAfterLines(t *testing.T) {
	c := serverWith(t, Options{})
	s := httptest.NewServer(c.Handler())
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	chunk := func(line string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(line), line) }
	head := "POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + linesType + "\r\nTransfer-Encoding: chunked\r\n\r\n"
	_, _ = io.WriteString(conn, head+chunk(lineOf("a", 1)))
	r, err := http.ReadResponse(in, nil)
	if err != nil || r.StatusCode != 200 || !r.Close {
		t.Fatalf("got %v, %+v", err, r)
	}
	_, _ = io.WriteString(conn, chunk("{}\n")+"ff") // a chunk begins
	answer, err := io.ReadAll(r.Body)
	if err != nil || strings.Count(string(answer), "\n") != 2 || !strings.Contains(string(answer), `"error"`) {
		t.Errorf("got %v, %s", err, answer)
	}
	_, _ = io.WriteString(conn, "\r\nGET /v1/tables HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("behind the answer: %q", rest)
	}
	if conn, err = net.Dial("tcp", s.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in = bufio.NewReader(conn)
	for range 3 {
		line := lineOf("a", 1)
		_, _ = fmt.Fprintf(conn, "POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", linesType, len(line), line)
		r, err := http.ReadResponse(in, nil)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("got %v, %+v", err, r)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Close {
			t.Errorf("got %v, close %v", err, r.Close)
		}
	}
}

// TestUnaskedLines: nothing else of a write has changed for those who send JSON.
func TestUnaskedLines(t *testing.T) {
	c := newClient(t)
	c.webtable()
	w := c.sendTyped("POST", "/v1/table/t/write", cellOf("i64", "1"), "Content-Type", "application/json", "Accept", linesType)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}
