package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// content returns all rows of a table as JSON.
func (s *served) content(table string) string {
	s.t.Helper()
	rows, _, _ := strings.Cut(s.call("POST", "/v1/table/"+table+"/scan", "{}"), `"rows_scanned"`)
	return rows
}

// TestExportAndImport: what export writes, import makes the same table of, in each form.
func TestExportAndImport(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	rows := runLine("", "generate", "--rows", "3000", "--seed", "4")
	if got := runLine(rows.stdout, "import", "--table", "t", "--create-table", "--create-families", "--locality-group", "contents", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	s.call("POST", "/v1/table/t/column-family", `{"column_families":[{"name":"only"}]}`)
	s.call("POST", "/v1/table/t/write", `{"items":[
		{"row_key":{"base64":"/wA="},"cells":[{"column_key":{"base64":"b25seTr/"},"type":"bytes","value":"AP8=","time":5},{"column_key":{"base64":"b25seTr/"},"type":"f64","value":-0.0,"time":4}]},
		{"row_key":"a\"b\\},{\"column_key\":","cells":[{"column_key":"title:\"},{","type":"string","value":"},{\"column_key\":\u2028\u0000"}]}]}`)
	want := s.content("t")
	if len(want) < 1<<20 {
		t.Fatalf("the table has only %d bytes", len(want))
	}
	dir := t.TempDir()
	for i, e := range []struct {
		file string
		args []string
		of   func(*testing.T, []byte) []byte
	}{
		{"", nil, plain},
		{"-", []string{"--zstd"}, unzstd},
		{"rows.ndjson", nil, plain},
		{"rows.ndjson.gz", nil, gunzip},
		{"rows.ndjson.zst", nil, unzstd},
		{"rows.other", []string{"--gzip"}, gunzip},
	} {
		args := append([]string{"export", "t", "--url", s.url}, e.args...)
		if e.file == "-" {
			args = append(args, e.file)
		} else if e.file != "" {
			args = append(args, filepath.Join(dir, e.file))
		}
		got := runLine("", args...)
		if got.code != 0 || !strings.HasPrefix(got.stderr, "3,002 rows, 30,003 cells, ") {
			t.Fatalf("%v: code %d, %s", args, got.code, got.stderr)
		}
		input := got.stdout
		if e.file != "" && e.file != "-" {
			text, err := os.ReadFile(filepath.Join(dir, e.file))
			if err != nil || got.stdout != "" {
				t.Fatalf("%v: %v, %d bytes on standard output", args, err, len(got.stdout))
			}
			input = string(text)
		}
		if lines := bytes.Count(e.of(t, []byte(input)), []byte("\n")); lines != 3002 {
			t.Errorf("%v: got %d lines", args, lines)
		}
		table := fmt.Sprint("copy", i)
		if got := runLine(input, "import", "--table", table, "--create-table", "--create-families", "--url", s.url); got.code != 0 {
			t.Fatalf("import: %+v", got)
		}
		if got := s.content(table); got != want {
			t.Errorf("%v: the tables differ, %d and %d bytes", args, len(got), len(want))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("files are left: %s", left)
	}
}

func plain(_ *testing.T, b []byte) []byte { return b }

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unzstd(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := r.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestExportSelection: each flag selects.
func TestExportSelection(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"},{"name":"g"}]}`)
	var items []string
	for _, row := range []string{"a", "ab", "b", "c"} {
		cells := `{"column_key":"f:","type":"i64","value":1,"time":30},{"column_key":"f:","type":"i64","value":1,"time":20},{"column_key":"g:x","type":"i64","value":1,"time":10}`
		items = append(items, fmt.Sprintf(`{"row_key":%q,"cells":[%s]}`, row, cells))
	}
	s.call("POST", "/v1/table/t/write", `{"items":[`+strings.Join(items, ",")+`]}`)
	for _, e := range []struct{ args, rows, cells string }{
		{"", "a ab b c", "12"},
		{"--prefix a", "a ab", "6"},
		{"--start ab --end c", "ab b", "6"},
		{"--start b", "b c", "6"},
		{"--end ab", "a", "3"},
		{"--column g --start c", "c", "1"},
		{"--column g:x --column f:", "a ab b c", "12"},
		{"--column f", "a ab b c", "8"},
		{"--since 20", "a ab b c", "8"},
		{"--since 11 --until 30", "a ab b c", "4"},
		{"--until 5", "", "0"},
		{"--versions 1", "a ab b c", "8"},
	} {
		got := runLine("", append([]string{"export", "t", "--url", s.url}, strings.Fields(e.args)...)...)
		var rows []string
		for line := range strings.Lines(got.stdout) {
			row, _, _ := strings.Cut(strings.TrimPrefix(line, `{"row_key":"`), `"`)
			rows = append(rows, row)
		}
		if got.code != 0 || strings.Join(rows, " ") != e.rows || !strings.Contains(got.stderr, " rows, "+e.cells+" cells, ") {
			t.Errorf("%s: code %d, %s, %s, want the rows %s with %s cells", e.args, got.code, got.stdout, got.stderr, e.rows, e.cells)
		}
	}
}

// TestExportFailures: an export that is not whole fails, says why, and leaves no file.
func TestExportFailures(t *testing.T) {
	const row, last = `{"row_key":"a","cells":[{"column_key":"f:","type":"i64","value":1,"time":1}]}` + "\n", `{"statistics":{"row_count":1,"cell_count":1}}` + "\n"
	answer, kind := "", "application/x-ndjson"
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		text, cut := strings.CutSuffix(answer, "…")
		_, _ = io.WriteString(w, text)
		if cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer broken.Close()
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	dir := t.TempDir()
	for _, e := range []struct {
		name, answer, kind, url string
		args                    []string
		code                    int
		want                    string
	}{
		{name: "no last line", answer: row, want: "the answer broke off: rows are missing"},
		{name: "nothing", answer: "", want: "rows are missing"},
		{name: "half a row", answer: row + row[:20], want: "rows are missing"},
		{name: "half a last line", answer: row + last[:20], want: "rows are missing"},
		{name: "broken connection", answer: row + "…", want: "rows are missing"},
		{name: "broken at the end", answer: row + last + "…", want: "rows are missing"},
		{name: "a row less", answer: last, want: "counted 1 rows and 1 cells, but 0 and 0 came"},
		{name: "a row more", answer: row + row + last, want: "but 2 and 2 came"},
		{name: "more behind it", answer: row + last + row, want: "goes on behind its last line"},
		{name: "no row", answer: "<html>\n", want: "no row"},
		{name: "JSON", answer: "{}", kind: "application/json", want: "older than this program"},
		{name: "no server", url: "http://127.0.0.1:1", args: []string{"--retry-for", "0"}, want: "connection refused"},
		{name: "no table", url: s.url, args: []string{"none"}, want: `"none" does not exist`},
		{name: "no family", url: s.url, args: []string{"t", "--column", "g:x"}, want: `no column family "g"`},
		{name: "no such file", url: s.url, args: []string{"t", filepath.Join(dir, "none", "x")}, want: "no such file"},
		{name: "no table named", args: []string{"", "--url", s.url}, want: ""},
		{name: "two compressions", args: []string{"t", "--gzip", "--zstd"}, code: exitUsage, want: "excludes"},
		{name: "prefix and range", args: []string{"t", "--prefix", "a", "--end", "b"}, code: exitUsage, want: "excludes"},
		{name: "range backwards", args: []string{"t", "--start", "b", "--end", "a"}, code: exitUsage, want: "behind"},
		{name: "times backwards", args: []string{"t", "--since", "2", "--until", "1"}, code: exitUsage, want: "behind"},
		{name: "negative time", args: []string{"t", "--since", "-1"}, code: exitUsage, want: "negative"},
		{name: "no versions", args: []string{"t", "--versions", "0"}, code: exitUsage, want: "at least 1"},
		{name: "no arguments", args: []string{}, code: exitUsage, want: "arg"},
	} {
		answer, kind = e.answer, "application/x-ndjson"
		if e.kind != "" {
			kind = e.kind
		}
		args := e.args
		if len(args) == 0 && e.name != "no arguments" || len(args) > 0 && strings.HasPrefix(args[0], "--") {
			args = append([]string{"t", filepath.Join(dir, "out")}, args...)
		}
		url := e.url
		if url == "" {
			url = broken.URL
		}
		if e.code == 0 {
			e.code = exitFailed
		}
		if got := runLine("", append([]string{"export", "--url", url}, args...)...); got.code != e.code || !strings.Contains(got.stderr, e.want) {
			t.Errorf("%s: %+v, want %q", e.name, got, e.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", e.name, left)
			_ = os.Remove(filepath.Join(dir, left[0].Name()))
		}
	}
	answer, kind = row+last, "application/x-ndjson"
	file := filepath.Join(dir, "out")
	if err := os.WriteFile(file+".part", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runLine("", "export", "t", file, "--url", broken.URL); got.code != exitFailed || !strings.Contains(got.stderr, "remove it") {
		t.Errorf("beside another export: %+v", got)
	}
	if got := runLine("", "export", "t", os.DevNull, "--url", broken.URL); got.code != 0 {
		t.Errorf("to no file: %+v", got)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the device is gone: %v", err)
	}
}
