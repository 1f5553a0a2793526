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
	"time"
)

// TestFormatsKeepAll: what export writes in each format, import makes the same table of.
func TestFormatsKeepAll(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	rows := runLine("", "generate", "--rows", "1000", "--seed", "4")
	if got := runLine(rows.stdout, "import", "--table", "t", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	s.call("POST", "/v1/table/t/column-family", `{"column_families":[{"name":"only"}]}`)
	s.call("POST", "/v1/table/t/write", `{"items":[
		{"row_key":{"base64":"/wA="},"cells":[{"column_key":{"base64":"b25seTr/"},"type":"bytes","value":"AP8=","time":5},{"column_key":{"base64":"b25seTr/"},"type":"f64","value":-0.0,"time":4}]},
		{"row_key":"a\r\nb","cells":[{"column_key":"title:\r","type":"string","value":"\r\n\u2028\u0000","time":1},{"column_key":"only:","type":"string","value":"","time":1},
			{"column_key":"only:","type":"f32","value":0.1,"time":2},{"column_key":"only:","type":"i64","value":9223372036854775807,"time":3},{"column_key":"only:","type":"boolean","value":true,"time":4}]}]}`)
	want := s.content("t")
	dir := t.TempDir()
	for i, name := range []string{"t.csv", "t.tsv.gz", "t.csv.zst", "t.parquet", "t.parquet.gz"} {
		file := filepath.Join(dir, name)
		if got := runLine("", "export", "t", file, "--url", s.url); got.code != 0 || !strings.HasPrefix(got.stderr, "1,002 rows, 10,007 cells, ") {
			t.Fatalf("%s: code %d, %s", name, got.code, got.stderr)
		}
		copied := fmt.Sprint("copy", i)
		args := []string{"import", file, "--table", copied, "--create-table", "--create-families", "--url", s.url}
		if got := runLine("", args...); got.code != 0 || !strings.HasPrefix(got.stdout, "1,002 rows, 10,007 cells, ") {
			t.Fatalf("%s: import: %+v", name, got)
		}
		if got := s.content(copied); got != want {
			t.Errorf("%s: the tables differ, %d and %d bytes", name, len(got), len(want))
		}
	}
}

// TestMappedFormats: an analyst's way: rows with named fields out, and in again under other columns.
func TestMappedFormats(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	if got := runLine("", "import", example, "--table", "web", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	titles := s.call("POST", "/v1/table/web/scan", `{"column":{"key":"title:","cell_limit":1}}`)
	for i, name := range []string{"t.csv", "t.parquet"} {
		file, table := filepath.Join(t.TempDir(), name), fmt.Sprint("copy", i)
		if got := runLine("", "export", "web", file, "--map", "title:=name:string", "--map", "language:=lang", "--url", s.url); got.code != 0 {
			t.Fatalf("export: %+v", got)
		}
		if got := runLine("", "import", file, "--table", table, "--create-table", "--create-families", "--map", "title:=name:string", "--time", "5", "--url", s.url); got.code != 0 {
			t.Fatalf("import: %+v", got)
		}
		got := s.call("POST", "/v1/table/"+table+"/scan", `{"column":{"key":"title:","cell_limit":1}}`)
		if a, b := strings.Count(titles, `"value"`), strings.Count(got, `"value"`); a != b || a == 0 {
			t.Errorf("%s: %d titles, want %d", name, b, a)
		}
	}
}

// TestFormatFailures: errors say file, line and field, also those of the server.
func TestFormatFailures(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	for _, test := range []struct {
		name, input string
		args        []string
		code        int
		want        string
	}{
		{"a bad field", "row_key,n\nr,x\n", []string{"--format", "csv", "--map", "f:=n:i64"}, exitFailed, `standard input:2: field "n": "x" is no i64`},
		{"no family", "row_key,a,n\nr,1,2\n", []string{"--format", "csv", "--map", "f:=a", "--map", "g:=n"}, exitFailed, `standard input:2: field "n": `},
		{"rounded", "row_key,n\nr,9007199254740993\n", []string{"--format", "csv", "--map", "f:=n:f64"}, exitFailed, `standard input:2: field "n": `},
		{"no Parquet", "PAR1", nil, exitFailed, "standard input: the file is no Parquet, or damaged"},
		{"a map without fields", "{}", []string{"--map", "f:=a"}, exitFailed, "is --format missing?"},
		{"no map", "", []string{"--format", "csv", "--no-header"}, exitUsage, "--no-header needs --map"},
		{"a bad map", "", []string{"--map", "f=a"}, exitUsage, "the column key is FAMILY:QUALIFIER"},
		{"a bad format", "", []string{"--format", "xml"}, exitUsage, "--format xml"},
		{"a bad delimiter", "", []string{"--delimiter", "ab"}, exitUsage, "--delimiter"},
	} {
		got := runLine(test.input, append([]string{"import", "--table", "t", "--url", s.url}, test.args...)...)
		if got.code != test.code || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: %+v, want %q", test.name, got, test.want)
		}
	}
	if got := runLine("", "export", "t", "--format", "csv", "--map", "f:=a", "--versions", "2", "--url", s.url); got.code != exitUsage || !strings.Contains(got.stderr, "--map excludes") {
		t.Errorf("export: %+v", got)
	}
	if got := s.call("POST", "/v1/table/t/count", `{}`); !strings.Contains(got, `"row_count":0`) {
		t.Errorf("rows were written: %s", got)
	}
}

// TestImportResumes: an import that a bad line has ended goes on behind what it has written, with its times.
func TestImportResumes(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	var text strings.Builder
	text.WriteString("row_key,f:n:i64\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "%05d,%d\n", i, i)
	}
	dir := t.TempDir()
	file, journal := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "journal")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"import", file, "--table", "t", "--url", s.url, "--batch-cells", "10", "--parallel", "1", "--resume", journal}
	write(strings.Replace(text.String(), ",777\n", ",x\n", 1))
	got := runLine("", args...)
	if got.code != exitFailed || !strings.Contains(got.stderr, `rows.csv:779: field "f:n:i64": "x" is no i64`) || !strings.Contains(got.stderr, "the same command goes on behind row 770") {
		t.Fatalf("the first: %+v", got)
	}
	write(text.String())
	if got := runLine("", args...); got.code != 0 || !strings.HasPrefix(got.stdout, "230 rows, ") || !strings.Contains(got.stderr, "going on behind row 770") {
		t.Errorf("the second: %+v", got)
	}
	if got := runLine("", args...); got.code != 0 || !strings.HasPrefix(got.stdout, "0 rows, ") {
		t.Errorf("the third: %+v", got)
	}
	if got := runLine("", append(args, "--time", "5")...); got.code != exitUsage || !strings.Contains(got.stderr, "--time differs") {
		t.Errorf("another time: %+v", got)
	}
	if got := runLine("", append(args, "--row-key", "row_key")...); got.code != exitFailed || !strings.Contains(got.stderr, "give the same arguments") {
		t.Errorf("another key: %+v", got)
	}
	if got := s.call("POST", "/v1/table/t/count", `{}`); !strings.Contains(got, `"row_count":1000,"cell_count":1000`) {
		t.Errorf("count: %s", got)
	}
}

// bucketOf is an S3 service of one bucket.
func bucketOf(t *testing.T) (url string, objects map[string][]byte) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	objects = map[string][]byte{}
	var parts bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/bucket/")
		query := r.URL.Query()
		switch {
		case query.Has("location"):
			fmt.Fprint(w, `<LocationConstraint>eu-central-1</LocationConstraint>`)
		case name == "":
		case r.Method == http.MethodPost && query.Has("uploads"):
			parts.Reset()
			fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			objects[name] = bytes.Clone(parts.Bytes())
			fmt.Fprint(w, `<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>"1"</ETag></CompleteMultipartUploadResult>`)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodPut:
			body, _ := io.ReadAll(r.Body)
			if w.Header().Set("ETag", `"1"`); query.Has("partNumber") {
				parts.Write(unchunked(body))
			} else {
				objects[name] = unchunked(body)
			}
		case objects[name] == nil:
			w.Header().Set("X-Minio-Error-Code", "NoSuchKey")
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(objects[name]))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, objects
}

// unchunked takes a body out of the chunks with signatures in which it is sent over HTTP without TLS.
func unchunked(body []byte) (content []byte) {
	for {
		head, rest, ok := bytes.Cut(body, []byte("\r\n"))
		var size int
		if _, err := fmt.Sscanf(string(head), "%x;chunk-signature=", &size); !ok || err != nil {
			return body
		}
		if size == 0 {
			return content
		}
		content = append(content, rest[:size]...)
		if body = rest[size+2:]; bytes.HasPrefix(body, []byte("0;")) {
			return content
		}
	}
}

// TestFormatsFromElsewhere: out to a bucket, and in from there and from a URL.
func TestFormatsFromElsewhere(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	if got := runLine("", "import", example, "--table", "web", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	service, objects := bucketOf(t)
	want := s.content("web")
	reach := []string{"--endpoint", service, "--region", "eu-central-1", "--url", s.url}
	for i, name := range []string{"dir/web.ndjson.zst", "web.csv", "web.parquet"} {
		if got := runLine("", append([]string{"export", "web", "s3://bucket/" + name}, reach...)...); got.code != 0 {
			t.Fatalf("export: %+v", got)
		}
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(objects[name]) }))
		for _, from := range []string{"s3://bucket/" + name, web.URL + "/" + name + "?token=x"} {
			table := fmt.Sprint("copy", i)
			if got := runLine("", append([]string{"import", from, "--table", table, "--create-table", "--create-families"}, reach...)...); got.code != 0 {
				t.Fatalf("%s: %+v", from, got)
			}
			if s.content(table) != want {
				t.Errorf("%s: the tables differ", from)
			}
			s.call("DELETE", "/v1/table/"+table, "")
		}
		web.Close()
	}
	clear(objects)
	if got := runLine("", append([]string{"export", "none", "s3://bucket/none", "--retry-for", "0"}, reach...)...); got.code != exitFailed || len(objects) > 0 || !strings.Contains(got.stderr, `"none" does not exist`) {
		t.Errorf("an export that fails: %+v, %d objects", got, len(objects))
	}
}
