package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
)

const example = "../../examples/webtable.ndjson"

func TestImportTheExample(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	args := []string{"import", example, "--table", "web", "--create-table", "--create-families", "--locality-group", "title,language", "--url", s.url}
	for i := range 2 { // the second time it writes the same versions
		got := runLine("", args...)
		if got.code != 0 || !strings.HasPrefix(got.stdout, "44 rows, 248 cells, ") {
			t.Fatalf("import: %+v", got)
		}
		if got := s.call("POST", "/v1/table/web/count", `{"row":{"prefix":""}}`); !strings.Contains(got, `"row_count":44`) || !strings.Contains(got, `"cell_count":248`) {
			t.Errorf("count: %s", got)
		}
		// Of the group, only its own cells are read.
		family := s.call("POST", "/v1/table/web/count", `{"row":{"prefix":""},"column":{"key":"language:"}}`)
		if i == 0 && (!strings.Contains(family, `"cells_scanned":88`) || !strings.Contains(family, `"row_count":44`)) {
			t.Errorf("count of one family: %s", family)
		}
	}
	info := s.call("GET", "/v1/table/web", "")
	if !strings.Contains(info, `"column_families":["language","title"]`) && !strings.Contains(info, `"column_families":["title","language"]`) {
		t.Errorf("no group of title and language: %s", info)
	}
}

func TestImportFromStandardInput(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	rows := runLine("", "generate", "--rows", "700", "--seed", "4", "--shuffle")
	if rows.code != 0 || strings.Count(rows.stdout, "\n") != 700 {
		t.Fatalf("generate: code %d, %d lines", rows.code, strings.Count(rows.stdout, "\n"))
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(rows.stdout))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for i, input := range []string{rows.stdout, zipped.String()} {
		got := runLine(input, "import", "-", "--table", "t", "--create-table", "--create-families", "--url", s.url, "--batch-cells", "500")
		if got.code != 0 || !strings.HasPrefix(got.stdout, "700 rows, 7,000 cells, ") {
			t.Errorf("input %d: %+v", i, got)
		}
	}
	if got := s.call("POST", "/v1/table/t/count", `{"row":{"prefix":""}}`); !strings.Contains(got, `"row_count":700`) || !strings.Contains(got, `"cell_count":7000`) {
		t.Errorf("count: %s", got)
	}
}

func TestImportFailures(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	good := `{"row_key":"a","cells":[{"column_key":"f:","type":"string","value":"x"}]}`
	tests := []struct {
		name, input string
		args        []string
		want        []string
	}{
		{"no server", good, []string{"--url", "http://127.0.0.1:1"}, []string{"connection refused"}},
		{"no table", good, []string{"--table", "none"}, []string{`"none" does not exist`, "--create-table"}},
		{"no family", strings.Replace(good, "f:", "g:", 1), nil, []string{"standard input:1: ", `column family "g"`, "--create-families"}},
		{"wrong type", good + "\n" + strings.Replace(good, `"x"`, `7`, 1), nil, []string{"standard input:2: ", "cells[0]"}},
		{"no JSON", good + "\n" + strings.Replace(good, `"x"`, `x`, 1), nil, []string{"standard input:2: the line is not JSON: invalid character 'x'"}},
		{"an array", "[\n" + good + "\n]\n", nil, []string{"standard input:1: the line begins a JSON array", "one object a line", "jq -c '.[]'"}},
		{"an array on one line", "[" + good + "]", nil, []string{"standard input:1: the line begins a JSON array", "jq -c '.[]'"}},
		{"pretty-printed", "{\n  \"row_key\": \"a\"\n}", nil, []string{"standard input:1: the object does not end on its line", "one object a line", "jq -c . FILE"}},
		{"UTF-16", "\xff\xfe{\x00", nil, []string{"standard input: the text is UTF-16", "iconv"}},
		{"no such key", "\n\n" + strings.Replace(good, `type`, `typo`, 1), nil, []string{"standard input:3: ", "typo"}},
		{"cut gzip", "\x1f\x8b\x08\x00", nil, []string{"standard input"}},
	}
	for _, test := range tests {
		args := append([]string{"import", "--table", "t", "--url", s.url}, test.args...)
		got := runLine(test.input, args...)
		for _, want := range test.want {
			if got.code != exitFailed || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: %+v, want %q", test.name, got, want)
			}
		}
	}
	if got := s.call("POST", "/v1/table/t/count", `{"row":{"prefix":""}}`); !strings.Contains(got, `"row_count":0`) {
		t.Errorf("a request with a bad line has written: %s", got)
	}
	got := runLine(tests[3].input, "import", "--table", "t", "--url", s.url, "--skip-bad")
	if got.code != 0 || !strings.Contains(got.stdout, "1 rows, 1 cells") || !strings.Contains(got.stdout, "1 bad lines left out") || !strings.Contains(got.stderr, "left out: standard input:2") {
		t.Errorf("--skip-bad: %+v", got)
	}
	if got := runLine("", "import", filepath.Join(t.TempDir(), "none"), "--table", "t"); got.code != exitFailed || !strings.Contains(got.stderr, "no such file") {
		t.Errorf("no file: %+v", got)
	}
}

// An import that was stopped can be repeated to the microsecond.
func TestImportNamesItsTime(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	line := `{"row_key":"a","cells":[{"column_key":"f:","type":"string","value":"x"}]}`
	bad := strings.Replace(line, "f:", "g:", 1)
	got := runLine(line+"\n"+bad, "import", "--table", "t", "--url", s.url, "--time", "5000", "--batch-cells", "1", "--parallel", "1")
	if got.code != exitFailed || !strings.Contains(got.stderr, "--time 5000") {
		t.Fatalf("%+v, want the time to go on with", got)
	}
	for range 2 {
		if got := runLine(line, "import", "--table", "t", "--url", s.url, "--time", "5000"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	rows := s.call("POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}}]}`)
	if !strings.Contains(rows, `"cell_count":1`) || !strings.Contains(rows, `"time":5001`) {
		t.Errorf("three imports with one time: %s, want one version", rows)
	}
}

func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(&out, "importing", 1000, time.Now())
	events := d.events()
	events.Progress(load.Progress{Rows: 1})
	if out.Len() != 0 {
		t.Errorf("a line before its time: %q", out.String())
	}
	d.last = d.last.Add(-lineEvery)
	events.Progress(load.Progress{Rows: 12_345, Cells: 1_234_567, Bytes: 5_000_000})
	events.Retry(1500*time.Microsecond, fmt.Errorf("no"))
	for i := range maxBadShown + 5 {
		events.Bad(&load.LineError{Name: "in", First: int64(i), Last: int64(i), Cause: os.ErrInvalid})
	}
	d.close()
	got := out.String()
	for want, times := range map[string]int{"12,345 rows, 1,234,567 cells, 5.0 MB": 1, "again in 2ms: no": 1, "left out: in:": maxBadShown, "not shown": 1} {
		if strings.Count(got, want) != times {
			t.Errorf("%q is there %d times, want %d, in\n%s", want, strings.Count(got, want), times, got)
		}
	}
}

func TestSummary(t *testing.T) {
	p := load.Progress{Rows: 1_000, Cells: 10_000, Bytes: 2_000_000, Skipped: 3}
	want := "1,000 rows, 10,000 cells, 2.0 MB in 2.00 s: 5,000 cells/s, 1.0 MB/s; 3 bad lines left out"
	if got := summary(p, 2*time.Second); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A server that is killed and comes back in the middle of an import leaves no
// trace in the table: nothing is missing, and nothing is there twice, although
// the times of the cells come from the import.
func TestImportOverAKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	address, url := strings.TrimPrefix(s.url, "http://"), s.url
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)

	const rows = 4000
	reader, writer := io.Pipe()
	half := make(chan struct{})
	go func() {
		for i := range rows {
			if i == rows/2 {
				close(half)
			}
			fmt.Fprintf(writer, `{"row_key":"%05d","cells":[{"column_key":"f:","type":"i64","value":%d}]}`+"\n", i, i)
		}
		writer.Close()
	}()
	var stdout bytes.Buffer
	stderr := newWatched("again in")
	code := make(chan int, 1)
	go func() {
		code <- run([]string{"import", "--table", "t", "--url", url, "--batch-cells", "20"}, reader, &stdout, stderr)
		reader.Close() // so that no write waits for an import that has failed
	}()
	<-half
	s.stop(os.Kill)
	<-stderr.come
	s = startServe(t, dir, "--listen", address)
	if c := <-code; c != 0 || !strings.HasPrefix(stdout.String(), "4,000 rows, 4,000 cells") {
		t.Errorf("code %d, %s, %s, want all rows", c, stdout.String(), stderr)
	}
	if got := s.call("POST", "/v1/table/t/count", `{"row":{"prefix":""}}`); !strings.Contains(got, `"row_count":4000,"cell_count":4000`) {
		t.Errorf("count: %s, want each cell once", got)
	}
}
