package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestConsoleOption: the program serves its console, unless an option says that it does not.
func TestConsoleOption(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		kind   string
	}{
		{nil, 200, "text/html; charset=utf-8"},
		{[]string{"--no-console"}, 404, "application/json"},
	} {
		s := startServe(t, t.TempDir(), c.args...)
		w, err := http.Get(s.url)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(w.Body)
		w.Body.Close()
		if err != nil || w.StatusCode != c.status || w.Header.Get("Content-Type") != c.kind {
			t.Errorf("%v: %d %v, %v", c.args, w.StatusCode, w.Header, err)
		}
		if found := strings.Contains(string(page), `src="/console/main-`); found != (c.status == 200) {
			t.Errorf("%v: %s", c.args, page)
		}
	}
}
