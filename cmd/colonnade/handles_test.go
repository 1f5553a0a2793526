package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeWithFewFileHandles: a process that may have 64 files open serves more
// sorted files than that.
func TestServeWithFewFileHandles(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a hundred tables")
	}
	const tables = 100
	dir := filepath.Join(t.TempDir(), "data")
	start := func() *served {
		serve := program("serve", "--data", dir, "--listen", "127.0.0.1:0", "--memtable-mib", "1", "--cache-mib", "1")
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -n 64 && exec "$0" "$@"`}, serve.Args...)...)
		cmd.Env = serve.Env
		return startCommand(t, cmd)
	}
	s := start()
	value := strings.Repeat("v", 8<<10)
	for i := range tables {
		table := fmt.Sprint("/v1/table/t", i)
		s.call("PUT", table, `{"column_families":[{"name":"f"}]}`)
		for row := range 5 {
			s.call("POST", table+"/write", fmt.Sprintf(`{"items":[{"row_key":"%d","cells":[{"column_key":"f:q","type":"string","value":"%s"}]}]}`, row, value))
		}
	}
	check := func() {
		for i := range tables {
			got := s.call("POST", fmt.Sprintf("/v1/table/t%d/scan", i), `{}`)
			if n := strings.Count(got, value); n != 5 {
				t.Errorf("table t%d has %d rows, want 5", i, n)
			}
		}
	}
	check()
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d, want 0\n%s", code, s.stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "partitions", "*", "*.sst")); len(files) <= 64 {
		t.Errorf("%d sorted files, want more than there are handles", len(files))
	}
	s = start()
	check()
	if log := s.stderr.String(); strings.Contains(log, "too many open files") {
		t.Errorf("out of handles:\n%s", log)
	}
}
