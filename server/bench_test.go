package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
)

// writeBody is a write of 100 rows of 10 cells, about 100 bytes each.
func writeBody() []byte {
	body := []byte(`{"items":[`)
	for row := range 100 {
		body = fmt.Appendf(body, `{"row_key":"com.example.host%05d/path","cells":[`, row)
		for column := range 10 {
			body = fmt.Appendf(body, `{"column_key":"contents:q%04d","type":"string","value":"some text of moderate length %08d"},`, column, row*10+column)
		}
		body = append(body[:len(body)-1], `]},`...)
	}
	return append(body[:len(body)-1], `]}`...)
}

func BenchmarkDecodeWrite(b *testing.B) {
	body := writeBody()
	x := &requestContext{scratch: new(scratch)}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		x.mutations, x.ends, x.values = x.mutations[:0], x.ends[:0], x.values[:0]
		x.decoder.Reset(body)
		x.decodeWrite(&x.decoder)
		x.decoder.End()
		if x.decoder.Err() != nil || len(x.mutations) != 1000 {
			b.Fatal(x.decoder.Err())
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "cells/s")
}

func BenchmarkDecodeWriteIntegers(b *testing.B) {
	body := bytes.ReplaceAll(bytes.ReplaceAll(writeBody(), []byte(`"string"`), []byte(`"i64"`)), []byte(`"some text of moderate length 0`), []byte(`"1`))
	x := &requestContext{scratch: new(scratch)}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		x.mutations, x.ends, x.values = x.mutations[:0], x.ends[:0], x.values[:0]
		x.decoder.Reset(body)
		x.decodeWrite(&x.decoder)
		x.decoder.End()
		if x.decoder.Err() != nil || len(x.mutations) != 1000 {
			b.Fatal(x.decoder.Err())
		}
	}
}

// benchRows answers with the same 1,000 rows of 10 cells every time.
type benchRows struct {
	row   []byte
	cells []cell.Cell
	each  [][]cell.Cell // of each row, unless nil
	next  int
}

func newBenchRows() *benchRows {
	r := &benchRows{row: []byte("com.example.host00001/path")}
	for i := range 10 {
		r.cells = append(r.cells, cell.Cell{
			Column: cell.AppendColumn(nil, []byte("contents"), fmt.Appendf(nil, "q%04d", i)),
			Value:  fmt.Appendf(nil, "some text of moderate length %08d", i),
			Time:   1_763_600_000_000_000,
			Type:   cell.String,
		})
	}
	return r
}

func (r *benchRows) Next() bool  { r.next++; return r.next <= 1000 }
func (r *benchRows) First() bool { return true }
func (r *benchRows) Row() []byte { return r.row }
func (r *benchRows) Cells() []cell.Cell {
	if r.each != nil {
		return r.each[r.next-1]
	}
	return r.cells
}
func (r *benchRows) Labels() []string                      { return nil }
func (r *benchRows) Err() error                            { return nil }
func (r *benchRows) More() (p widecol.Position, more bool) { return p, false }
func (r *benchRows) Stats() widecol.Stats                  { return widecol.Stats{Rows: 1000, Cells: 10_000} }
func (r *benchRows) Close()                                {}

type discardWriter struct {
	header http.Header
	bytes  int64
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(int)             {}
func (w *discardWriter) Write(p []byte) (int, error) { w.bytes += int64(len(p)); return len(p), nil }

// BenchmarkAnswer makes an answer of 1,000 rows of 10 cells, as JSON and as lines: rows with the same ten columns,
// rows with two columns of five versions each, and rows without a column in common.
func BenchmarkAnswer(b *testing.B) {
	same, versions, other := newBenchRows(), newBenchRows(), newBenchRows()
	for i := range versions.cells {
		versions.cells[i].Column = versions.cells[i/5*5].Column
	}
	for i := range 1000 {
		cells := slices.Clone(other.cells)
		for j := range cells {
			cells[j].Column = cell.AppendColumn(nil, []byte("anchor"), fmt.Appendf(nil, "q%04d", 10*i+j))
		}
		other.each = append(other.each, cells)
	}
	for _, kind := range []string{"json", "lines"} {
		b.Run(kind+"/same", func(b *testing.B) { benchmarkAnswer(b, same, kind == "lines") })
		b.Run(kind+"/versions", func(b *testing.B) { benchmarkAnswer(b, versions, kind == "lines") })
		b.Run(kind+"/other", func(b *testing.B) { benchmarkAnswer(b, other, kind == "lines") })
	}
}

func benchmarkAnswer(b *testing.B, rows *benchRows, lines bool) {
	s := New(nil, Options{Now: time.Now})
	w := &discardWriter{header: make(http.Header)}
	x := &requestContext{server: s, w: w, r: httptest.NewRequest("POST", "/", nil), scratch: new(scratch)}
	x.to = x
	if lines {
		x.r.Header.Set("Accept", linesType)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows.next, x.sent = 0, false
		w.bytes = 0
		x.beginRows(200)
		a := x.newRowWriter(&x.responseBuffer, &x.admitted)
		a.line = x.lineWriter(x.asLines)
		if _, err := a.writeAll(rows); err != nil {
			b.Fatal(err)
		}
		x.endRows(&a.stats)
		if err := x.finishRows(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(w.bytes)
	b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "cells/s")
}

// emptyStore answers at once, so that what is measured is the server.
type emptyStore struct{ widecol.Store }

func (emptyStore) Write(context.Context, string, []widecol.Mutation, string) (int64, error) {
	return 1, nil
}
func (emptyStore) View(context.Context, string) (widecol.View, error) { return emptyView{}, nil }

type emptyView struct{}

func (emptyView) Scan(context.Context, *widecol.Query) (widecol.Rows, error) {
	r := newBenchRowsOf
	return &benchRows{row: r.row, cells: r.cells, next: 999}, nil
}
func (emptyView) Close() {}

var newBenchRowsOf = newBenchRows()

// BenchmarkRequest is one request through the whole handler, without a network.
func BenchmarkRequest(b *testing.B) { benchmarkRequest(b, Options{}, "") }

// BenchmarkRequestWith is BenchmarkRequest with one of the things that an operator turns on.
func BenchmarkRequestWith(b *testing.B) {
	token, secret, err := access.NewToken(rand.NewChaCha8([32]byte{}), access.Token{Name: "a", Scope: access.Admin, Tables: []string{"*"}, Created: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	tokens, err := new(access.Tokens).With(token)
	if err != nil {
		b.Fatal(err)
	}
	traced := func(ratio float64) Options {
		t := tracing.New(tracing.Options{Endpoint: "http://127.0.0.1:1", Client: &http.Client{}, Ratio: ratio})
		b.Cleanup(func() { _ = t.Close(context.Background()) })
		return Options{Tracer: t}
	}
	for name, with := range map[string]Options{
		"tokens":     {Access: access.NewControl(tokens, 20)},
		"quota":      {Quotas: quota.Rules{Tables: []quota.Rule{{Pattern: "*", Limits: quota.Limits{Rows: 1 << 40, Bytes: 1 << 50}}}}},
		"access log": {AccessLog: slog.New(slog.NewTextHandler(io.Discard, nil))},
		"slow log":   {SlowQuery: time.Hour},
		"traces 1%":  traced(0.01),
		"traces all": traced(1),
	} {
		b.Run(name, func(b *testing.B) { benchmarkRequest(b, with, secret) })
	}
}

func benchmarkRequest(b *testing.B, with Options, secret string) {
	with.Now = time.Now
	s := New(emptyStore{}, with)
	for _, e := range []struct{ name, path, body string }{
		{"row", "/v1/table/t/rows", `{"items":[{"row":{"key":"com.example.host00001/path"}}]}`},
		{"write", "/v1/table/t/write", cellOf("string", `"some text of moderate length"`)},
	} {
		b.Run(e.name, func(b *testing.B) {
			w := &discardWriter{header: make(http.Header)}
			r := httptest.NewRequest("POST", e.path, nil)
			r.ContentLength = int64(len(e.body))
			if with.Access != nil {
				r.Header.Set("Authorization", "Bearer "+secret)
			}
			body := strings.NewReader(e.body)
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(e.body)
				r.Body = io.NopCloser(body)
				clear(w.header)
				s.ServeHTTP(w, r)
			}
		})
	}
}

// BenchmarkConnection is one request through the loop of its connection and the whole handler: all
// that a request costs but the system calls and the store.
func BenchmarkConnection(b *testing.B) {
	for _, e := range []struct{ name, path, body string }{
		{"row", "/v1/table/t/rows", `{"items":[{"row":{"key":"com.example.host00001/path"}}]}`},
		{"write", "/v1/table/t/write", cellOf("string", `"some text of moderate length"`)},
	} {
		b.Run(e.name, func(b *testing.B) {
			text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1:9876\r\nUser-Agent: x\r\nContent-Length: %d\r\nContent-Type: application/json\r\n\r\n%s", e.path, len(e.body), e.body)
			c := &replay{b: b, request: []byte(text), over: make(chan struct{})}
			s := New(emptyStore{}, Options{Now: time.Now, Clock: clock.NewManual(1)}) // which lets no watch look: that would read too
			b.ReportAllocs()
			served := make(chan error)
			l := &single{conn: c, closed: make(chan struct{})}
			go func() { served <- s.Serve(l) }()
			<-c.over
			if err := s.Shutdown(context.Background()); err != nil {
				b.Error(err)
			}
			if err := <-served; err != nil {
				b.Error(err)
			}
			if n := s.Stats().Responses[2]; n != uint64(c.sent) {
				b.Errorf("%d of %d requests were answered with success", n, c.sent)
			}
		})
	}
}

// replay is a connection whose client sends the same request as often as the benchmark goes round.
type replay struct {
	net.Conn
	b       *testing.B
	request []byte
	sent    int
	over    chan struct{} // closed when it is closed
}

func (c *replay) Read(p []byte) (int, error) {
	if !c.b.Loop() {
		return 0, io.EOF
	}
	c.sent++
	return copy(p, c.request), nil
}

func (c *replay) Write(p []byte) (int, error)      { return len(p), nil }
func (c *replay) Close() error                     { close(c.over); return nil }
func (c *replay) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *replay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *replay) SetReadDeadline(time.Time) error  { return nil }
func (c *replay) SetWriteDeadline(time.Time) error { return nil }

// single accepts one connection.
type single struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *single) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *single) Addr() net.Addr { return &net.TCPAddr{} }
