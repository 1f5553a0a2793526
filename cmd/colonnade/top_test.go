package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTop: on a terminal top draws until q is pressed, also as a line of the shell; without one it prints one span.
func TestTop(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.call("PUT", "/v1/table/t", "")
	x, wait := startTyping(t, t.TempDir(), "top", "--every", "100ms", "--url", s.url)
	x.sees("Colonnade at " + s.url)
	x.sees("COMMITS")
	x.types("q")
	if code := wait(); code != 0 {
		t.Errorf("code %d\n%s", code, x.screen)
	}
	y, wait := startTyping(t, t.TempDir(), "shell", "--url", s.url)
	y.sees("colonnade> ")
	y.types("top --every 100ms\r", "COMPACTION")
	y.types("q", "colonnade> ")
	y.runs("tables", "TABLE")
	y.types("exit\r", "\n")
	if code := wait(); code != 0 {
		t.Errorf("code %d\n%s", code, y.screen)
	}
	if got := runLine("", "top", "--every", "100ms", "--url", s.url); got.code != 0 || !strings.Contains(got.stdout, "MEMTABLES") {
		t.Errorf("without a terminal: %+v", got)
	}
	if got := runLine("", "top", "--every", "1ms"); got.code != exitUsage {
		t.Errorf("too often: %+v", got)
	}
	if got := runLine("", "top", "--url", "http://127.0.0.1:1"); got.code != exitFailed || !strings.Contains(got.stderr, "no server answers") {
		t.Errorf("without a server: %+v", got)
	}
}
