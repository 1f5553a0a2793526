package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"context"
)

func TestRoutes(t *testing.T) {
	c := newClient(t)
	c.webtable()
	for _, e := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1/table", 200, ""}, {"HEAD", "/v1/table", 200, ""}, {"HEAD", "/v1/table/t", 200, ""}, {"HEAD", "/healthz", 200, ""},
		{"HEAD", "/v1/table/nope", 404, ""},
		{"POST", "/v1/table", 405, "GET, HEAD"}, {"OPTIONS", "/v1/table", 405, "GET, HEAD"}, {"DELETE", "/healthz", 405, "GET, HEAD"},
		{"POST", "/v1/table/t", 405, "PUT, GET, HEAD, PATCH, DELETE"}, {"get", "/v1/table", 405, "GET, HEAD"},
		{"GET", "/v1/table/t/scan", 405, "POST"}, {"PUT", "/v1/table/t/row", 405, "GET, HEAD, DELETE"},
		{"GET", "/v1/table/t/column-family/title", 405, "PATCH, DELETE"}, {"HEAD", "/v1/table/t/write", 405, "POST"},
		{"GET", "/", 404, ""}, {"GET", "/v1", 404, ""}, {"GET", "/v1/", 404, ""}, {"GET", "/v1/table/", 400, ""}, {"GET", "/v2/table", 404, ""},
		{"GET", "/v1/table/t/", 404, ""}, {"GET", "//v1/table", 404, ""}, {"GET", "/v1//table", 404, ""}, {"GET", "/v1/../v1/table", 404, ""},
		{"GET", "/v1/table/t/nope", 404, ""}, {"GET", "/v1/table/t/column-family/title/x", 404, ""}, {"GET", "/V1/table", 404, ""},
		{"GET", "/v1/table/a/b/c/d/e/f/g/h", 404, ""}, {"GET", "/v1%2Ftable", 404, ""}, {"GET", "/%76%31/table", 200, ""},
		{"GET", "/v1/table/..", 400, ""}, {"GET", "/v1/table/%00", 400, ""}, {"GET", "/v1/table/%2e%2e%2f", 400, ""},
		{"POST", "/v1/table/scan", 405, "PUT, GET, HEAD, PATCH, DELETE"}, {"GET", "/v1/table/row", 404, ""}, {"GET", "/v1/table/{}", 400, ""},
		{"GET", "/v1/table/t%2Frow", 400, ""}, {"PUT", "/v1/table/%73can/row", 405, "GET, HEAD, DELETE"},
		{"GET", "/v1/table/" + strings.Repeat("a", 10_000), 400, ""},
	} {
		w := c.send(e.method, e.path, "")
		if w.Code != e.status || w.Header().Get("Allow") != e.allow {
			t.Errorf("%s %.60s: got %d, Allow %q, want %d, %q", e.method, e.path, w.Code, w.Header().Get("Allow"), e.status, e.allow)
		}
		if w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %.60s: got %q, want JSON", e.method, e.path, w.Body)
		}
	}
}

// TestGuard: what a page in a browser could send is refused, what programs and
// people send is not (Z5).
func TestGuard(t *testing.T) {
	store := newFakeStore()
	named := clientOf(t, store, Options{Hosts: []string{"Tables.internal"}})
	named.webtable()
	unnamed := clientOf(t, store, Options{})
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9876}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9876}
	for _, e := range []struct {
		c          *client
		local      net.Addr
		host       string
		header     string
		get, write int
	}{
		{named, loopback, "localhost:9876", "", 200, 200}, {named, loopback, "LOCALHOST.", "", 200, 200}, {named, loopback, "127.0.0.1", "", 200, 200},
		{named, loopback, "127.0.0.1:9876", "", 200, 200}, {named, loopback, "[::1]:9876", "", 200, 200}, {named, loopback, "[::1]", "", 200, 200},
		{named, loopback, "192.0.2.7:80", "", 200, 200}, {named, loopback, "tables.INTERNAL:1", "", 200, 200}, {named, loopback, "", "", 200, 200},
		{named, loopback, "evil.example", "", 403, 403}, {named, loopback, "evil.example:9876", "", 403, 403}, {named, loopback, "localhost.evil.example", "", 403, 403},
		{named, loopback, "127.0.0.1.evil.example", "", 403, 403}, {named, loopback, "tables.internal.evil", "", 403, 403}, {named, loopback, "[evil]", "", 403, 403},
		{unnamed, public, "anything.example", "", 200, 200}, {named, public, "anything.example", "", 403, 403},
		{named, public, "tables.internal", "", 200, 200}, {named, public, "192.0.2.1:9876", "", 200, 200},
		{named, nil, "anything.example", "", 200, 200},
		{named, &net.UnixAddr{Name: "/s", Net: "unix"}, "anything.example", "", 200, 200},
		{named, loopback, "localhost", "Origin: http://localhost", 200, 200}, {named, loopback, "localhost", "Origin: http://evil.example", 200, 403},
		{named, loopback, "localhost", "Origin: null", 200, 403}, {named, loopback, "localhost", "Sec-Fetch-Site: cross-site", 200, 403},
		{named, loopback, "localhost", "Sec-Fetch-Site: same-site", 200, 403}, {named, loopback, "localhost", "Sec-Fetch-Site: same-origin", 200, 200},
		{unnamed, public, "tables.example", "Sec-Fetch-Site: none", 200, 200},
	} {
		for _, m := range []struct {
			method, body string
			status       int
		}{{"GET", "", e.get}, {"POST", cellOf("i64", "1"), e.write}} {
			path := "/v1/table/t"
			if m.method == "POST" {
				path += "/write"
			}
			r := httptest.NewRequest(m.method, path, strings.NewReader(m.body))
			r.Host = e.host
			if e.local != nil {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, e.local))
			}
			if name, value, ok := strings.Cut(e.header, ": "); ok {
				r.Header.Set(name, value)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded") // what a page may send unasked
			w := httptest.NewRecorder()
			e.c.ServeHTTP(w, r)
			if w.Code != m.status || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s of host %q at %v with %q: got %d %s, want %d", m.method, e.host, e.local, e.header, w.Code, w.Body, m.status)
			}
		}
	}
}

// FuzzRouter: no method and path makes the server panic or redirect.
func FuzzRouter(f *testing.F) {
	for _, path := range []string{"/", "/v1/table", "/v1/table/t", "/v1/table/%2e", "//", "/v1/table/t/column-family/x", "/v1/table/t/row", "/healthz", "/%00"} {
		f.Add("GET", path)
		f.Add("DELETE", path)
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		r, err := http.NewRequest(method, "http://localhost"+path, nil)
		if err != nil || !strings.HasPrefix(path, "/") {
			return
		}
		c := newClient(t)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code >= 300 && w.Code < 400 {
			t.Errorf("%q %q: got %d %s", method, path, w.Code, w.Body)
		}
	})
}
