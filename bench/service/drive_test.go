package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// all are the operations by name.
func (o *operations) all() map[string]*operation {
	return map[string]*operation{"bulk": o.bulk, "write": o.write, "read": o.read, "page": o.page, "scan": o.scan, "count": o.count}
}

func testData(t *testing.T) (*dataset, operations) {
	t.Helper()
	d, err := newDataset(leastRows)
	if err != nil {
		t.Fatal(err)
	}
	return d, newOperations(d)
}

// serve serves a handler and returns its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func drawn(o *operation, connections, requests int) load {
	return load{connections: connections, requests: requests, pick: func(*rand.Rand) *operation { return o }}
}

// filled returns the address of the real server on a store in memory, with the data.
func filled(t *testing.T, d *dataset) string {
	t.Helper()
	store := memstore.New(memstore.Options{Now: func() int64 { return time.Now().UnixMicro() }})
	address := serve(t, server.New(store, server.Options{Now: time.Now}))
	c := newClient(address)
	defer c.close()
	if err := d.load(c, pages); err != nil {
		t.Fatal(err)
	}
	if err := c.create(written); err != nil {
		t.Fatal(err)
	}
	return address
}

func TestRightAnswersAreTaken(t *testing.T) {
	d, o := testData(t)
	address, bareAddress := filled(t, d), serve(t, http.HandlerFunc(bare))
	for name, op := range o.all() {
		l := drawn(op, 2, 4)
		for _, isBare := range []bool{false, true} {
			at := address
			if isBare {
				at = bareAddress
			}
			s := l.run(t.Context(), at, isBare)
			if s.errors != 0 || s.requests != 4 || s.cells != 4*int64(op.cells) || s.latency.TotalCount() != 4 {
				t.Errorf("%s, bare %v: %d requests, %d cells, %d latencies, %d errors (%v), want 4 requests of %d cells", name, isBare, s.requests, s.cells, s.latency.TotalCount(), s.errors, s.first, op.cells)
			}
		}
	}
}

func TestWrongAnswersAreNoticed(t *testing.T) {
	d, o := testData(t)
	real := filled(t, d)
	for what, spoil := range map[string]func(body string) string{
		"more rows":  func(body string) string { return strings.ReplaceAll(body, `"row_count":`, `"row_count":1`) },
		"more cells": func(body string) string { return strings.ReplaceAll(body, `"cell_count":10`, `"cell_count":100`) },
		"nothing":    func(string) string { return "" },
	} {
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			resp, err := http.Post("http://"+real+r.URL.Path, "application/json", r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			io.WriteString(w, spoil(string(body)))
		}))
		for name, op := range o.all() {
			l := drawn(op, 1, 1)
			if s := l.run(t.Context(), address, false); s.errors != 1 || s.requests != 0 || !strings.HasPrefix(fmt.Sprint(s.first), "wrong answer") {
				t.Errorf("%s in the answer to a %s: %d errors (%v), %d requests, want one wrong answer", what, name, s.errors, s.first, s.requests)
			}
		}
	}
}

func TestAnotherRowIsNoticed(t *testing.T) {
	_, o := testData(t)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"result":{"rows":[{"row_key":"com.other/page","columns":{}}],"row_count":1,"cell_count":10}}`)
	}))
	l := drawn(o.read, 1, 1)
	if s := l.run(t.Context(), address, false); s.errors != 1 || !strings.Contains(fmt.Sprint(s.first), "does not begin with row") {
		t.Errorf("%d errors, %v, want another row to be noticed", s.errors, s.first)
	}
}

func TestAnotherSizeIsNoticed(t *testing.T) {
	_, o := testData(t)
	o.count.size.Store(99)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "short") }))
	l := drawn(o.count, 1, 1)
	if s := l.run(t.Context(), address, true); s.errors != 1 {
		t.Errorf("%d errors, want an answer of another size to be one", s.errors)
	}
}

func TestFailuresAreCountedAndEndTheMeasurement(t *testing.T) {
	_, o := testData(t)
	failing := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not today", http.StatusInternalServerError)
	}))
	cutting := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	for address, want := range map[string]string{failing: "status 500: not today", cutting: ""} {
		l := drawn(o.write, 1, 1_000_000)
		s := l.run(t.Context(), address, false)
		if s.errors != tooManyErrors || s.requests != 0 || !strings.Contains(fmt.Sprint(s.first), want) {
			t.Errorf("%d errors (%v) and %d requests, want %d errors that say %q", s.errors, s.first, s.requests, tooManyErrors, want)
		}
	}
}

func TestRefusalsAreCountedApart(t *testing.T) {
	_, o := testData(t)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "later", http.StatusServiceUnavailable)
	}))
	l := drawn(o.write, 2, 10)
	if s := l.run(t.Context(), address, false); s.refused != 10 || s.errors != 0 || s.requests != 0 {
		t.Errorf("%d refusals, %d errors, %d requests, want ten refusals", s.refused, s.errors, s.requests)
	}
}

func TestMeasurementEndsWithItsTimeAndItsContext(t *testing.T) {
	_, o := testData(t)
	address := serve(t, http.HandlerFunc(bare))
	l := load{connections: 2, time: time.Millisecond, pick: func(*rand.Rand) *operation { return o.count }}
	if s := l.run(t.Context(), address, true); s.errors != 0 || s.elapsed < l.time {
		t.Errorf("%d errors in %v, want none in %v or some more", s.errors, s.elapsed, l.time)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.time = time.Hour
	if s := l.run(ctx, address, true); s.requests != 0 {
		t.Errorf("%d requests after the context was done, want none", s.requests)
	}
}
