package server

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

var aConsole = fstest.MapFS{
	"index.html":    {Data: []byte("<!doctype html><title>t</title>")},
	"main-AB12.js":  {Data: []byte(strings.Repeat("let a = 1;\n", 200))},
	"main-CD34.css": {Data: []byte("body { margin: 0 }")},
	"icon-EF56.svg": {Data: []byte("<svg/>")},
}

func withConsole(t *testing.T) *client {
	return clientOf(t, memstore.New(memstore.Options{}), Options{Console: aConsole})
}

// ask sends a request with fields in its header, in pairs of names and values.
func (c *client) ask(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, r) // OpenAPI does not describe it
	return w
}

func TestConsoleFiles(t *testing.T) {
	c := withConsole(t)
	for path, want := range map[string]struct{ file, kind, cache string }{
		"/":                      {"index.html", "text/html; charset=utf-8", "no-cache"},
		"/console/main-AB12.js":  {"main-AB12.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"/console/main-CD34.css": {"main-CD34.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		"/console/icon-EF56.svg": {"icon-EF56.svg", "image/svg+xml", "public, max-age=31536000, immutable"},
	} {
		w := c.ask("GET", path)
		h := w.Header()
		if w.Code != 200 || w.Body.String() != string(aConsole[want.file].Data) {
			t.Errorf("%s: %d %.100q", path, w.Code, w.Body)
		}
		if h.Get("Content-Type") != want.kind || h.Get("Cache-Control") != want.cache || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: header %v", path, h)
		}
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", path, policy)
			}
		}
		if w := c.ask("HEAD", path); w.Code != 200 || w.Header().Get("Content-Length") != h.Get("Content-Length") || h.Get("Content-Length") == "" {
			t.Errorf("HEAD %s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := c.ask("GET", "/console/main-AB12.js", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("not compressed: %v", w.Header())
	} else if r, err := gzip.NewReader(w.Body); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(r); err != nil || string(text) != string(aConsole["main-AB12.js"].Data) {
		t.Errorf("%v, %.50q", err, text)
	}
}

func TestConsoleUnchanged(t *testing.T) {
	c := withConsole(t)
	tag := c.ask("GET", "/").Header().Get("ETag")
	if tag == "" || tag == c.ask("GET", "/console/icon-EF56.svg").Header().Get("ETag") {
		t.Fatalf("tag %q", tag)
	}
	for tags, want := range map[string]int{tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		if w := c.ask("GET", "/", "If-None-Match", tags); w.Code != want || (w.Body.Len() == 0) != (want == 304) || w.Header().Get("ETag") != tag {
			t.Errorf("%s: %d with %d bytes, %v", tags, w.Code, w.Body.Len(), w.Header())
		}
	}
}

// TestConsoleOnWire: what a client of a connection sees, which goes on.
func TestConsoleOnWire(t *testing.T) {
	c := withConsole(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- c.Serve(l) }()
	defer func() {
		if err := c.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-done
	}()
	get := func(method, tag string) *http.Response {
		r, _ := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://%s/", l.Addr()), nil)
		r.Header.Set("If-None-Match", tag)
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		if _, err := io.Copy(io.Discard, w.Body); err != nil {
			t.Error(err)
		}
		return w
	}
	first := get("GET", "")
	if w := get("GET", first.Header.Get("ETag")); w.StatusCode != 304 {
		t.Errorf("again: %d", w.StatusCode)
	}
	if w := get("HEAD", ""); w.StatusCode != 200 || w.ContentLength != first.ContentLength {
		t.Errorf("HEAD: %d, %d bytes", w.StatusCode, w.ContentLength)
	}
}

// TestConsoleBesideInterface: programs get at / what they got before, and names that are no file are no route.
func TestConsoleBesideInterface(t *testing.T) {
	c := withConsole(t)
	for _, accept := range []string{"text/html,application/xhtml+xml;q=0.9", "text/*;q=0.1", "*/*"} {
		if w := c.ask("GET", "/", "Accept", accept); w.Code != 200 {
			t.Errorf("%s: %d", accept, w.Code)
		}
	}
	for _, accept := range []string{"application/json", "text/html;q=0", ""} {
		if w := c.ask("GET", "/", "Accept", accept); w.Code != 404 || codeOf(w) != "unknown_route" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", accept, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/console/", "/console/none.js", "/console/index.html", "/console/../main-AB12.js", "//"} {
		if w := c.ask("GET", path); w.Code != 404 || codeOf(w) != "unknown_route" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/", "/console/main-AB12.js"} {
		if w := c.ask("POST", path); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d %v", path, w.Code, w.Header())
		}
	}
	if strings.Contains(string(document(routes)), "console") {
		t.Error("the OpenAPI document has the console")
	}
}

func TestNoConsole(t *testing.T) {
	c := newClient(t)
	for _, path := range []string{"/", "/console/main-AB12.js"} {
		if w := c.ask("GET", path, "Accept", "text/html"); w.Code != 404 || codeOf(w) != "unknown_route" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestConsoleAccess: the page asks for the token, so it comes without one; the names of a server guard it, too.
func TestConsoleAccess(t *testing.T) {
	c := clientOf(t, memstore.New(memstore.Options{}), Options{Console: aConsole, Access: access.NewControl(new(access.Tokens), 1)})
	for range 3 {
		if w := c.ask("GET", "/", "Authorization", "Bearer none"); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := c.ask("GET", "/v1/table"); w.Code != 401 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestConsoleWithoutPage(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a console without index.html was taken")
		}
	}()
	New(memstore.New(memstore.Options{}), Options{Now: steppingClock(), Console: fstest.MapFS{"main.js": {}}})
}
