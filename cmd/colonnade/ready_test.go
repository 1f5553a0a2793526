package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReady(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	if got := runLine("", "ready", "--url", s.url, "--timeout", "30s"); got != (result{stdout: "The server takes requests\n"}) {
		t.Errorf("%+v", got)
	}
	s.stop(syscall.SIGTERM)
	if got := runLine("", "ready", "--url", s.url, "--timeout", "30s"); got.code != exitFailed || !strings.Contains(got.stderr, "no server answers at "+s.url) {
		t.Errorf("after the end: %+v", got)
	}
	for _, args := range [][]string{{"--timeout", "0"}, {"--url", "localhost"}, {"--cert", "x"}} {
		if got := runLine("", append([]string{"ready"}, args...)...); got.code != exitUsage {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
