package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// awaitFile waits until a file is there and has a word.
func awaitFile(t *testing.T, s *served, path, word string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), word) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no %q in %s:\n%s", word, path, s.stderr)
		}
	}
}

// TestAccessLogRotated moves the access log away and hangs up, as logrotate does.
func TestAccessLogRotated(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log")
	s := startServe(t, filepath.Join(dir, "data"), "--access-log", path)
	s.call("PUT", "/v1/table/before", "")
	awaitFile(t, s, path, `route="PUT /v1/table/{table}" table=before status=201 bytes_in=0`)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGHUP)
	awaitFile(t, s, path, "")
	s.call("PUT", "/v1/table/after", "")
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
	for path, want := range map[string]string{path: "table=after", path + ".1": "table=before"} {
		if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read it", info, err)
	}
}

// TestAccessLogAmongOthers: the lines go to the log of the server, in its form, and from level info on.
func TestAccessLogAmongOthers(t *testing.T) {
	for level, want := range map[string]int{"info": 1, "warn": 0} {
		s := startServe(t, filepath.Join(t.TempDir(), "data"), "--access-log", "-", "--log-format", "json", "--log-level", level)
		s.call("PUT", "/v1/table/t", "")
		s.stop(syscall.SIGTERM)
		if got := strings.Count(s.stderr.String(), `"msg":"request","address":"127.0.0.1","method":"PUT","route":"PUT /v1/table/{table}","table":"t","status":201`); got != want {
			t.Errorf("level %s: %d lines in\n%s", level, got, s.stderr)
		}
	}
}

// TestLogsThatCannotBeOpened: the error names the option and the file, and no directory is made.
func TestLogsThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for _, option := range []string{"--access-log", "--audit-log"} {
		path := filepath.Join(dir, "none", "x.log")
		got := runLine("", "serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", option, path)
		if got.code != exitFailed || !strings.Contains(got.stderr, option+": open "+path+": no such file or directory") {
			t.Errorf("%+v", got)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("there is %v", left)
	}
}

// TestSlowQueriesAreReloaded: a running server begins to log slow queries, of both protocols, and ends it. A query over much takes a
// millisecond; one over nothing is no slower than an hour.
func TestSlowQueriesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "colonnade.toml")
	if err := os.WriteFile(path, []byte("slow-query-ms = 3600000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--config", path, "--bigtable-listen", "127.0.0.1:0")
	bigtable := dialBigtable(t, bigtableOf(s))
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	item := `{"row_key":"key-that-is-not-logged","cells":[{"column_key":"f:q","type":"string","value":"` + strings.Repeat("v", 1<<20) + `"}]}`
	for range 8 {
		s.call("POST", "/v1/table/t/write", `{"items":[`+item+`]}`)
	}
	s.call("POST", "/v1/table/t/scan", `{}`)
	s.hangup(path, "slow-query-ms = 1\n", "an option has changed")
	come := s.stderr.next("slow query")
	s.call("POST", "/v1/table/t/scan", `{}`)
	<-come
	bigtable.read(t.Context())
	s.hangup(path, "slow-query-ms = 0\n", "an option has changed")
	s.call("POST", "/v1/table/t/scan", `{}`)
	s.stop(syscall.SIGTERM)
	log := s.stderr.String()
	if n := strings.Count(log, `level=WARN msg="slow query" route="POST /v1/table/{table}/scan" table=t`); n != 1 || !strings.Contains(log, `\"blocks\":{\"read\":`) && !strings.Contains(log, `\"memtables\":1`) {
		t.Errorf("%d lines in\n%.2000s", n, log)
	}
	if n := strings.Count(log, `level=WARN msg="slow query" route=ReadRows table=t`); n != 1 {
		t.Errorf("%d lines of Bigtable's client in\n%.2000s", n, log)
	}
	if strings.Contains(log, "not-logged") || strings.Contains(log, "vvv") {
		t.Errorf("the log has something of a row:\n%.2000s", log)
	}
}
