package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// metric returns the value of a metric without labels.
func (s *served) metric(name string) float64 {
	s.t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindStringSubmatch(s.call("GET", "/metrics", ""))
	if m == nil {
		s.t.Fatalf("there is no metric %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// awaitArchived waits until all that was written before is archived.
func (s *served) awaitArchived() {
	s.t.Helper()
	before := s.metric("colonnade_archive_segments_total")
	until(s.t, "two segments are archived", func() bool {
		return s.metric("colonnade_archive_segments_total") >= before+2 || s.metric("colonnade_archive_lag_seconds") == 0
	})
}

// TestArchive: a server that takes writes is killed, and its directory is lost. Restored from a backup and the archived
// log are the state of a moment, and the last one with all that was acknowledged before it was archived. The restored
// server goes on with the same archive.
func TestArchive(t *testing.T) {
	top := t.TempDir()
	data, repository := filepath.Join(top, "data"), filepath.Join(top, "repository")
	keys := newAgeKeys(t, top)
	serve := func(dir string) *served {
		return startServe(t, dir, "--memtable-mib", "8", "--archive", repository, "--archive-interval", "100ms", "--archive-recipient", keys.recipient)
	}
	restored := 0
	restore := func(until string, least, most int64, more ...string) string {
		t.Helper()
		restored++
		dir := filepath.Join(top, fmt.Sprint("restored", restored))
		args := append([]string{"backup", "restore", repository, dir, "--until", until, "--identity", keys.file}, more...)
		if got := runLine("", args...); got.code != 0 || !strings.Contains(got.stdout, "all changes up to") {
			t.Fatalf("restore to %s: %+v", until, got)
		}
		wantState(t, dir, least, most)
		return dir
	}
	s := serve(data)
	s.call("PUT", "/v1/table/web", twoFamilies)
	create := func(s *served) (id string) {
		t.Helper()
		got := runLine("", "backup", "create", repository, "--url", s.url, "--recipient", keys.recipient)
		if got.code != 0 {
			t.Fatalf("create: %+v", got)
		}
		return strings.TrimSpace(got.stdout)
	}
	create(s)
	c := s.count()
	until(t, "the writer goes on", func() bool { return c.acked.Load() >= 200 })
	s.call("PUT", "/v1/table/other", twoFamilies)
	least := c.acked.Load()
	moment := time.Now().UTC().Format(time.RFC3339Nano)
	most := c.begun.Load()
	s.call("DELETE", "/v1/table/other", "")
	until(t, "the writer goes on", func() bool { return c.acked.Load() >= least+200 })
	acked := c.acked.Load()
	s.awaitArchived()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-c.ended; err == nil {
		t.Fatal("the writer does not notice that the server was killed")
	}
	begun := c.begun.Load()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	last := restore("latest", acked, begun)
	then := restore(moment, least, most)
	for dir, want := range map[string]bool{last: false, then: true} {
		s := startServe(t, dir)
		if got := strings.Contains(s.call("GET", "/v1/table", ""), `"other"`); got != want {
			t.Errorf("%s has the dropped table: %v, want %v", dir, got, want)
		}
		s.stop(syscall.SIGTERM)
	}

	s = serve(last) // its log is another one
	second := create(s)
	writeRow := func(n int64) {
		s.call("POST", "/v1/table/web/write", fmt.Sprintf(`{"items":[{"row_key":"%08d","cells":[{"column_key":"f:","type":"i64","value":1},{"column_key":"g:","type":"i64","value":1}]}]}`, n))
	}
	rows := strings.Count(runLine("", "export", "web", "--url", s.url).stdout, "\n")
	writeRow(int64(rows) + 1)
	writeRow(int64(rows) + 2)
	s.stop(syscall.SIGTERM) // archives the rest
	if got := runLine("", "backup", "restore", repository, filepath.Join(top, "which"), "--until", "latest", "--identity", keys.file); got.code != exitFailed || !strings.Contains(got.stderr, "name the one to begin with by --backup, such as "+second) {
		t.Errorf("restore without a word about which life of the store: %+v", got)
	}
	restore("latest", int64(rows)+2, int64(rows)+2, "--backup", second)
	restore(moment, least, most)
	got := runLine("", "backup", "list", repository)
	if got.code != 0 || strings.Count(got.stdout, "--until") != 2 {
		t.Errorf("list: %+v, want the times of two logs", got)
	}
	if got := runLine("", "backup", "verify", repository, "--identity", keys.file); got.code != 0 || !strings.Contains(got.stdout, "no damage") {
		t.Errorf("verify: %+v", got)
	}
	if got := runLine("", "backup", "prune", repository, "--keep", "1"); got.code != 0 {
		t.Errorf("prune: %+v", got)
	}
	restore("latest", int64(rows)+2, int64(rows)+2)
	s = serve(filepath.Join(top, "restored1"))
	if got := runLine("", "backup", "restore", repository, "--until", "latest", "--table", "web", "--as", "copy", "--url", s.url, "--identity", keys.file); got.code != 0 {
		t.Fatalf("restore --until --as: %+v", got)
	}
	if a, b := runLine("", "export", "web", "--url", s.url), runLine("", "export", "copy", "--url", s.url); a.stdout != b.stdout || len(a.stdout) < 1000 {
		t.Errorf("the copy has %d bytes as lines, the table %d", len(b.stdout), len(a.stdout))
	}
}

// TestArchiveErrors: each error says what to do.
func TestArchiveErrors(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"))
	s.call("PUT", "/v1/table/web", twoFamilies)
	repository, target := filepath.Join(top, "repository"), filepath.Join(top, "target")
	if got := runLine("", "backup", "create", repository, "--url", s.url); got.code != 0 {
		t.Fatalf("create: %+v", got)
	}
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"serve --archive gs://bucket", 2, "a repository is a directory, or s3://BUCKET"},
		{"serve --archive s3://", 2, "names no bucket"},
		{"serve --archive x --archive-recipient me", 2, "must be like age1"},
		{"serve --archive-interval 1ms", 2, "archive-interval"},
		{"backup restore " + repository + " " + target + " --until yesterday", 2, "must be latest, or a time such as"},
		{"backup restore " + repository + " " + target + " --until 2026-09-01T10:00:00", 2, "must be latest, or a time such as"},
		{"backup restore " + repository + " " + target + " --until latest --table web", 2, "--until restores all tables"},
		{"backup restore " + repository + " " + target + " --until 2020-01-01T00:00:00Z", 1, "no earlier time can be restored"},
		{"backup restore " + repository + " " + target + " --until 2100-01-01T00:00:00Z", 1, "use --until latest, or an earlier time"},
	} {
		got := runLine("", strings.Fields(c.line)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: %+v, want code %d and %q", c.line, got, c.code, c.want)
		}
	}
}
