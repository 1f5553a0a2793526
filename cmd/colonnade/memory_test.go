package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var codeOfError = regexp.MustCompile(`"code":"([a-z_]+)"`)

// post sends a request and returns its status and the code of its error, "" if it succeeds. An answer that takes a
// minute fails the test.
func (s *served) post(path, body string) (status int, code string) {
	s.t.Helper()
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if m := codeOfError.FindSubmatch(text); m != nil {
		code = string(m[1])
	}
	return resp.StatusCode, code
}

// peakMiB returns the most memory that the server has had so far.
func (s *served) peakMiB() int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("the memory of a process is read from /proc, which is not there: ", err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		s.t.Fatalf("no VmHWM in %s", text)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	return kb >> 10
}

// TestMemoryOfHeavyRequests: requests made to need much memory or time are answered or refused, and the server stays
// within a bound.
func TestMemoryOfHeavyRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, under which tests run with -short, takes memory of its own")
	}
	const mostMiB = 300 // 132 of the budgets, a body of 64, and what the collector has not freed
	s := startServe(t, t.TempDir(), "--memtable-mib", "16", "--cache-mib", "16")
	s.peakMiB()
	const path = "/v1/table/t"
	s.call("PUT", path, `{"column_families": [{"name": "f"}]}`)
	s.call("POST", path+"/write", `{"items": [{"row_key": "a", "cells": [{"column_key": "f:q", "type": "string", "value": "`+strings.Repeat("a", 1<<20)+`"}]}]}`)
	var rows strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&rows, `%s{"row_key": "%06d", "cells": [{"column_key": "f:n", "type": "i64", "value": %d}]}`, comma(i), i, i)
	}
	s.call("POST", path+"/write", `{"items": [`+rows.String()+`]}`)

	list := func(n int, element func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(comma(i) + element(i))
		}
		return b.String()
	}
	regex := func(pattern string) string {
		return `{"row": {"prefix": ""}, "filter": {"value_regex_filter": ` + strconv.Quote(pattern) + `}}`
	}
	ranges := list(10_000, func(i int) string { return fmt.Sprintf(`{"start": "%06d", "end": "%06d~"}`, 2*i, 2*i) })
	trees := func(items, filters int, regex string) string {
		tree := `{"chain": {"filters": [` + list(filters, func(int) string { return `{"value_regex_filter": "` + regex + `"}` }) + `]}}`
		return `{"items": [` + list(items, func(i int) string { return fmt.Sprintf(`{"row": {"key": "%06d"}, "filter": %s}`, i, tree) }) + `]}`
	}
	for _, e := range []struct {
		name, endpoint, body string
		status               int
		code                 string
	}{
		{"64 MiB of filter trees", "rows", trees(30_000, 70, "a+b?"), 400, "too_many_filters"},
		{"64 MiB of long regexes", "rows", trees(8_000, 6, strings.Repeat("(a|bc?)*", 160)), 400, "too_many_filters"},
		{"many regexes that grow large", "rows", trees(1_000, 2, "(abcdefghijkl){1000}"), 400, "too_many_filters"},
		{"the most filters", "rows", trees(1_000, 60, "a+b?"), 200, ""},
		{"20,000 groups", "aggregate", `{"row": {"prefix": ""}, "group_by": {"row_prefix": 6}, "of": ["count"]}`, 400, "too_many_groups"},
		{"10,000 ranges scanned", "scan", `{"row": {"ranges": [` + ranges + `]}}`, 200, ""},
		{"10,000 ranges scanned backward", "scan", `{"row": {"ranges": [` + ranges + `], "reverse": true}}`, 200, ""},
		{"10,000 ranges counted", "count", `{"row": {"ranges": [` + ranges + `]}}`, 200, ""},
		{"10,000 ranges deleted", "delete", `{"row": {"ranges": [` + ranges + `]}}`, 200, ""},
		{"a regex that backtracking would never end", "scan", regex(`(a*)*b`), 200, ""},
		{"another one", "scan", regex(`(a|aa)+$|(x+x+)+y|(.*)*,`), 200, ""},
		{"a regex that grows large", "scan", regex(`((a{100}){100}){100}`), 400, "invalid_regex"},
		{"a regex of 3 MiB", "scan", regex(strings.Repeat("(a|b)", 600_000)), 400, "invalid_filter"},
	} {
		start := time.Now()
		status, code := s.post(path+"/"+e.endpoint, e.body)
		peak := s.peakMiB()
		t.Logf("%s: %d KiB in %v, status %d %s, peak %d MiB", e.name, len(e.body)>>10, time.Since(start).Round(time.Millisecond), status, code, peak)
		if status != e.status || code != e.code {
			t.Errorf("%s: status %d, code %q, should be %d, %q", e.name, status, code, e.status, e.code)
		}
		if peak > mostMiB {
			t.Fatalf("%s: the server has had %d MiB", e.name, peak)
		}
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
