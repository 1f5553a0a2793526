package main

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestPprof asks a server for profiles, under its address and under another name.
func TestPprof(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--pprof-listen", "127.0.0.1:0")
	url := regexp.MustCompile(`url=(http://127\.0\.0\.1:\d+/debug/pprof/)`).FindStringSubmatch(s.stderr.line("profiles are served"))
	if url == nil {
		t.Fatalf("the log does not say where:\n%s", s.stderr)
	}
	for _, test := range []struct {
		path, host string
		status     int
		want       string
	}{
		{"", "", 200, "Profile Descriptions"},
		{"goroutine?debug=1", "", 200, "goroutine profile"},
		{"heap?debug=1", "localhost:6060", 200, "heap profile"},
		{"cmdline", "[::1]:6060", 200, "--pprof-listen"},
		{"heap?debug=1", "rebound.example.com", 403, "not for the host"},
		{"nothing", "", 404, ""},
	} {
		r, err := http.NewRequest("GET", url[1]+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != test.status || !strings.Contains(string(text), test.want) {
			t.Errorf("%s as %s: %d, %v, %.200s", test.path, test.host, answer.StatusCode, err, text)
		}
	}
	if answer, err := http.Get(s.url + "/debug/pprof/"); err != nil || answer.StatusCode != 404 {
		t.Errorf("the listener of requests answers with %v, %v", answer, err)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
}

// TestPprofAddress: what is refused says what to do.
func TestPprofAddress(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:6060": "--pprof-listen 0.0.0.0:6060: the address can be reached from other machines, and profiles have no access control: use 127.0.0.1 and a tunnel",
		":6060":        "can be reached from other machines",
		"6060":         "--pprof-listen 6060: must be HOST:PORT, such as 127.0.0.1:6060",
	} {
		if got := runLine("", "config", "--pprof-listen", address); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", address, got)
		}
	}
	if got := runLine("", "config", "--pprof-listen", "0.0.0.0:6060", "--insecure"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	dir := filepath.Join(t.TempDir(), "data")
	if got := runLine("", "serve", "--data", dir, "--listen", "127.0.0.1:0", "--pprof-listen", strings.TrimPrefix(s.url, "http://")); got.code != exitFailed || !strings.Contains(got.stderr, "--pprof-listen: listen tcp") {
		t.Errorf("%+v", got)
	}
}
