package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// demoShows is what the steps show of the tables, in order.
var demoShows = []string{
	"The console is at http://127.0.0.1:", "1 of 12. Tables", "$ colonnade tables --output table", "metrics_flat",
	"Two metres sixty at the old gauge", "Spoons", `"row_key": "com.example.news/2026/09/ferry"`, "i64:2", "Bakery, closed on Mondays",
	"ROWS  CELLS", "cpu#web1#2026-09-18T03  hour:min", `"cells_scanned": 864,`, `"cells_scanned": 5472,`, `"pushed_down": [ "rows", "families", "columns" ]`,
	"hour    new", `"key": "cpu#web3"`, "That was the model",
}

func wantInOrder(t *testing.T, text string, wants ...string) {
	t.Helper()
	rest := text
	for _, want := range wants {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no %q behind what was looked for before, in\n%s", want, text)
		}
		rest = after
	}
}

// TestDemo: without a terminal all steps come at once, and nothing is left.
func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	output, err := program("demo", "--no-browser", "--listen", "127.0.0.1:0").Output()
	if err != nil {
		t.Fatal(err)
	}
	wantInOrder(t, string(output), demoShows...)
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestDemoKeepsTables: --data keeps the tables, and a second walk takes those that are there.
func TestDemoKeepsTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var url string
	for range 2 {
		output, err := program("demo", "--no-browser", "--listen", "127.0.0.1:0", "--data", dir).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		wantInOrder(t, string(output), "metrics_flat", "Bakery, closed on Mondays", "The tables stay: colonnade serve --data "+dir)
		url = string(regexp.MustCompile(`http://[0-9.:]+`).Find(output))
	}
	if _, err := http.Get(url); err == nil {
		t.Errorf("%s still answers", url)
	}
	s := startServe(t, dir)
	if got := s.call("GET", "/v1/table", ""); !strings.Contains(got, `"webtable"`) {
		t.Errorf("tables %s", got)
	}
}

// TestDemoLeavesOthers: a demo does not change the tables of somebody else, whatever their names.
func TestDemoLeavesOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	s.call("PUT", "/v1/table/webtable", `{"column_families":[{"name":"contents"}]}`)
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("code %d", code)
	}
	output, err := program("demo", "--no-browser", "--listen", "127.0.0.1:0", "--data", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "name a directory of its own") {
		t.Errorf("%v: %s", err, output)
	}
	s = startServe(t, dir)
	if got := s.call("GET", "/v1/table", ""); strings.Contains(got, "metrics") || strings.Contains(got, `"version_limit":1`) {
		t.Errorf("tables %s", got)
	}
}

// TestDemoAtATerminal: Enter goes on, the console answers meanwhile, and Ctrl-C ends it and leaves nothing.
func TestDemoAtATerminal(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, test := range []struct {
		steps int
		last  string
	}{{12, "\r"}, {2, "\x03"}} {
		x, wait := startTyping(t, t.TempDir(), "demo", "--no-browser", "--listen", "127.0.0.1:0")
		x.sees("Enter goes on")
		url := regexp.MustCompile(`http://[0-9.:]+/`).FindString(x.screen.String())
		req, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Content-Type"), "text/html") {
			t.Fatalf("the console: %v, %+v", err, resp)
		}
		resp.Body.Close()
		if strings.Contains(x.screen.String(), "2 of 12") {
			t.Error("the second step came without Enter")
		}
		for range test.steps - 1 {
			x.types("\r", "Enter goes on")
		}
		if test.steps == 12 {
			x.types("\r", "Enter ends the server")
		}
		x.types(test.last)
		if code := wait(); code != 0 {
			t.Errorf("code %d\n%s", code, x.screen)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

func TestDemoRefusals(t *testing.T) {
	dir := t.TempDir()
	startServe(t, dir)
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--listen", "9876"}, exitUsage, "must be HOST:PORT"},
		{[]string{"--listen", "0.0.0.0:0"}, exitUsage, "no access control"},
		{[]string{"--listen", "127.0.0.1:0", "--data", dir}, exitFailed, "is in use by the process"},
	} {
		cmd := program(append([]string{"demo", "--no-browser"}, test.args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%v: code %d, %s", test.args, code, &stderr)
		}
	}
}
