package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// longRows returns n rows with long values.
func longRows(n int) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range n {
			if !yield(Row{Key: fmt.Sprintf("row%06d", i), Cells: []Cell{{Family: "title", Value: String(strings.Repeat("x", 100)), Time: At(1)}}}) {
				return
			}
		}
	}
}

var compressions = []Compression{Zstd, Gzip, Uncompressed}

// TestWriteLines: all rows are written, in batches that follow each other.
func TestWriteLines(t *testing.T) {
	for _, compression := range compressions {
		testWriteLines(t, compression)
	}
}

func testWriteLines(t *testing.T, compression Compression) {
	const n = 20_000
	var sent atomic.Int64
	encoding := ""
	server := newServer(t)
	table := webtable(t, open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/write") {
			encoding = r.Header.Get("Content-Encoding")
			r.Body = &countedUpload{r.Body, &sent}
		}
		server.ServeHTTP(w, r)
	}), Options{Compression: compression}))
	last, batches := int64(0), 0
	for b, err := range table.WriteLines(t.Context(), longRows(n)) {
		if err != nil || b.First != last+1 || b.Last < b.First || b.Time.IsZero() {
			t.Fatalf("behind row %d: %+v, %v", last, b, err)
		}
		last = b.Last
		batches++
	}
	if got := all(t, table, Query{}); last != n || len(got) != n || batches < 4 {
		t.Errorf("%d rows in %d batches, and %d are there", last, batches, len(got))
	}
	if packed := sent.Load() < n*100; encoding != compression.encoding() || packed != (compression != Uncompressed) {
		t.Errorf("%d bytes came with the encoding %q, want %q", sent.Load(), encoding, compression.encoding())
	}
	for _, err := range table.WriteLines(t.Context(), longRows(0)) {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("no rows: %v", err)
		}
	}
}

type countedUpload struct {
	io.ReadCloser
	n *atomic.Int64
}

func (b *countedUpload) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

// TestWriteLinesRefused: a row is written before the next one is there. The error comes with the rows of the batch that is
// refused. Those before are written.
func TestWriteLinesRefused(t *testing.T) {
	for _, compression := range compressions {
		testWriteLinesRefused(t, compression)
	}
}

func testWriteLinesRefused(t *testing.T, compression Compression) {
	table := webtable(t, open(t, newServer(t), Options{Compression: compression}))
	written := make(chan int64, 10)
	rows := func(yield func(Row) bool) {
		title := Cell{Family: "title", Value: String("x"), Time: At(1)}
		for range 2 {
			yield(Row{Key: "a", Cells: []Cell{title}})
			<-written
		}
		title.Family = "nope"
		yield(Row{Key: "a", Cells: []Cell{title}})
	}
	var last Batch
	var err error
	for last, err = range table.WriteLines(t.Context(), rows) {
		if err == nil {
			written <- last.Last
		}
	}
	close(written)
	var e *Error
	if !errors.As(err, &e) || e.Code != "unknown_column_family" || e.At != "cells[0].column_key" || last.First != 3 || last.Last != 3 || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("%+v, %v", last, err)
	}
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "row 3") {
		t.Error(err)
	}
	for _, err := range table.c.Table("none").WriteLines(t.Context(), longRows(10)) {
		if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("a table that is not there: %v", err)
		}
	}
}

// TestWriteLinesBroken: after a connection that breaks it is not known which rows behind the last batch are written.
// An answer that is whole and too short is such an error, too.
func TestWriteLinesBroken(t *testing.T) {
	for name, end := range map[string]func(){
		"broken": func() { panic(http.ErrAbortHandler) },
		"short":  func() {},
	} {
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			in := bufio.NewReader(r.Body)
			in.ReadString('\n')
			w.Header().Set("Content-Type", linesType)
			io.WriteString(w, `{"lines":[1,1],"time":7}`+"\n")
			http.NewResponseController(w).Flush()
			end()
		})
		var batches []Batch
		var last error
		for b, err := range open(t, server, Options{Compression: Uncompressed}).Table("t").WriteLines(t.Context(), longRows(20_000)) {
			if last = err; err == nil {
				batches = append(batches, b)
			}
		}
		if len(batches) != 1 || batches[0] != (Batch{1, 1, At(7)}) || !errors.Is(last, ErrOutcomeUnknown) {
			t.Errorf("%s: %+v, %v", name, batches, last)
		}
	}
	nobody := open(t, newServer(t), Options{})
	nobody.base = "http://127.0.0.1:1"
	for _, err := range nobody.Table("t").WriteLines(t.Context(), longRows(1)) {
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("no connection: %v", err)
		}
	}
}

// TestWriteLinesLeft: a loop that is left, and a context that ends, end the request and the rows.
func TestWriteLinesLeft(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	endless, ended := longRows(1<<40), false
	rows := func(yield func(Row) bool) {
		endless(yield)
		ended = true // by the other goroutine, which has stopped when this is read
	}
	for _, err := range table.WriteLines(t.Context(), rows) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if !ended {
		t.Error("the rows go on")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended = false
	var last error
	for _, err := range table.WriteLines(ctx, rows) {
		cancel()
		last = err
	}
	if !ended || !errors.Is(last, context.Canceled) || !errors.Is(last, ErrOutcomeUnknown) {
		t.Errorf("rows ended: %v, %v", ended, last)
	}
}
