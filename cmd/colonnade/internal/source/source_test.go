package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/backup"
)

var content = bytes.Repeat([]byte("0123456789abcdef"), 10_000)

// broken answers with the content, and breaks each connection after so many bytes.
type broken struct {
	each   int
	header map[string]string
	ranges bool
	change func(request int, h http.Header) // of the answer

	mu    sync.Mutex
	asked int // requests
}

func (b *broken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := 0
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	for k, v := range b.header {
		w.Header().Set(k, v)
	}
	if b.change != nil {
		b.change(b.asked, w.Header())
	}
	tag := w.Header().Get("ETag")
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start); err == nil && b.ranges && r.Header.Get("If-Range") == tag {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(content)-1, len(content)))
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-start))
		w.WriteHeader(http.StatusPartialContent)
	} else {
		start = 0
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	}
	_, _ = w.Write(content[start:min(len(content), start+b.each)])
	if start+b.each < len(content) {
		panic(http.ErrAbortHandler)
	}
}

// openQuick opens a source whose waits take no time.
func openQuick(t *testing.T, name string, o Options) (*Source, error) {
	t.Helper()
	s, err := Open(t.Context(), name, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	if r, ok := s.ReadCloser.(*steady); ok {
		now := time.Unix(0, 0)
		r.now = func() time.Time { return now }
		r.sleep = func(ctx context.Context, d time.Duration) error { now = now.Add(d); return ctx.Err() }
	}
	return s, nil
}

// TestURLGoesOn: a file comes whole through connections that break, and from the same file.
func TestURLGoesOn(t *testing.T) {
	for _, test := range []struct {
		name string
		b    *broken
		want string
	}{
		{"whole", &broken{each: len(content)}, ""},
		{"breaks", &broken{each: 20_000, ranges: true, header: map[string]string{"ETag": `"1"`}}, ""},
		{"no ETag", &broken{each: 20_000, ranges: true}, "does not say by which to know the file again"},
		{"a weak ETag", &broken{each: 20_000, ranges: true, header: map[string]string{"ETag": `W/"1"`}}, "does not say by which"},
		{"no ranges", &broken{each: 20_000, header: map[string]string{"ETag": `"1"`}}, "the file has changed, or the server has no ranges"},
		{"another file", &broken{each: 20_000, ranges: true, change: func(n int, h http.Header) { h.Set("ETag", fmt.Sprintf(`"%d"`, n)) }}, "the file has changed"},
	} {
		server := httptest.NewServer(test.b)
		s, err := openQuick(t, server.URL+"/dir/rows.csv?secret=1", Options{RetryFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if s.Size != int64(len(content)) || s.Path != "rows.csv" || s.Name != server.URL+"/dir/rows.csv" {
			t.Errorf("%s: %d bytes, %s, %s", test.name, s.Size, s.Path, s.Name)
		}
		got, err := io.ReadAll(s)
		server.Close()
		switch {
		case test.want == "" && (err != nil || !bytes.Equal(got, content)):
			t.Errorf("%s: %d bytes of %d, %v", test.name, len(got), len(content), err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestNothingComes: connections that are made, and break before a byte, are not made for ever.
func TestNothingComes(t *testing.T) {
	now, opens := time.Unix(0, 0), 0
	r := newSteady(t.Context(), func(context.Context, int64) (io.ReadCloser, int64, error) {
		opens++
		return io.NopCloser(failing{}), 10, nil
	}, Options{RetryFor: time.Minute})
	r.now = func() time.Time { return now }
	r.sleep = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
	if err := r.reopen(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "given up at byte 0: broken") || opens > 30 {
		t.Errorf("%d connections, %v", opens, err)
	}
}

// TestURLGivesUp: a server that does not come back ends the read, with the place.
func TestURLGivesUp(t *testing.T) {
	b := &broken{each: 20_000, ranges: true, header: map[string]string{"ETag": `"1"`}}
	b.change = func(n int, _ http.Header) {
		if n > 1 {
			panic(http.ErrAbortHandler)
		}
	}
	server := httptest.NewServer(b)
	defer server.Close()
	waits := 0
	s, err := openQuick(t, server.URL, Options{RetryFor: time.Minute, Retry: func(time.Duration, error) { waits++ }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("given up at byte %d", len(got))) || waits < 5 {
		t.Errorf("%d bytes, %d waits, %v", len(got), waits, err)
	}
	if _, again := s.Read(make([]byte, 1)); again == nil || again == io.EOF {
		t.Errorf("read again: %v", again)
	}
}

func TestNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, want := range map[string]string{
		server.URL + "/x?secret":              "the server answered 404",
		"http://":                             "is no URL",
		"http://127.0.0.1:1/x?secret":         "connection refused",
		"s3://bucket":                         "names no object",
		"s3://bucket/dir/":                    "names no object",
		filepath.Join(t.TempDir(), "no file"): "no such file",
	} {
		_, err := openQuick(t, name, Options{RetryFor: time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// object is an S3 service of one object.
func object(t *testing.T, etag func(request int) string) *httptest.Server {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("location"):
			fmt.Fprint(w, `<LocationConstraint>eu-central-1</LocationConstraint>`)
		case r.URL.Path == "/bucket/":
		case r.URL.Path != "/bucket/dir/rows.csv":
			w.Header().Set("X-Minio-Error-Code", "NoSuchKey")
			w.WriteHeader(http.StatusNotFound)
		default:
			requests++
			w.Header().Set("ETag", etag(requests))
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(content))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestObject(t *testing.T) {
	server := object(t, func(int) string { return `"1"` })
	s, err := openQuick(t, "s3://bucket/dir/rows.csv", Options{Endpoint: server.URL, Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, content) || s.Size != int64(len(content)) || s.Path != "rows.csv" {
		t.Errorf("%d bytes of %d, size %d, %s: %v", len(got), len(content), s.Size, s.Path, err)
	}
	if _, err := openQuick(t, "s3://bucket/none", Options{Endpoint: server.URL, Region: "eu-central-1"}); err == nil || !strings.Contains(err.Error(), `no object "none"`) {
		t.Errorf("no object: %v", err)
	}
}

// TestObjectReplaced: an object is opened again at a place, but not another one of its name.
func TestObjectReplaced(t *testing.T) {
	etag := `"1"`
	server := object(t, func(int) string { return etag })
	storage, err := backup.NewBucket(t.Context(), backup.Bucket{Endpoint: server.URL, Region: "eu-central-1", Name: "bucket"})
	if err != nil {
		t.Fatal(err)
	}
	b := &stored{storage: storage, object: "dir/rows.csv"}
	for _, offset := range []int64{0, 5} {
		body, _, err := b.open(t.Context(), offset)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, content[offset:]) {
			t.Errorf("from %d: %d bytes, %v", offset, len(got), err)
		}
		body.Close()
	}
	etag = `"2"`
	if _, _, err := b.open(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("another object: %v", err)
	}
}

// TestSteadyOffsets: each connection begins where the last one ended, whatever the reads are.
func TestSteadyOffsets(t *testing.T) {
	opens := 0
	r := newSteady(t.Context(), func(_ context.Context, offset int64) (io.ReadCloser, int64, error) {
		opens++
		part := io.LimitReader(bytes.NewReader(content[offset:]), 777)
		return io.NopCloser(io.MultiReader(part, failing{})), int64(len(content)), nil
	}, Options{RetryFor: time.Minute})
	r.sleep = func(context.Context, time.Duration) error { return nil }
	if err := r.reopen(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content) || opens < len(content)/777 {
		t.Errorf("%d bytes of %d by %d connections: %v", len(got), len(content), opens, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openQuick(t, name, Options{})
	if err != nil || s.File == nil || s.File.Size() != int64(len(content)) || s.Size != s.File.Size() {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = openQuick(t, "-", Options{Stdin: strings.NewReader("x")})
	if err != nil || s.File != nil || s.Size != -1 {
		t.Errorf("%+v, %v", s, err)
	}
}
