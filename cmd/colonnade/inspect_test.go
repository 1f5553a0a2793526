package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInspect shows the log of a server that runs, and the files of one that has stopped.
func TestInspect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	for _, line := range []string{
		"create|t|f|g", `put|t|a\xff|f:q|i64:-5|g:|f64:1.5|--time|1700000000000000`, "put|t|b|f:q|old|f:i|i32:-7|f:b|boolean:true|f:s|text|f:y|byte:9|f:f|f32:0.5|f:h|hex:00ff",
		"delete|t|b|f:q", "delete|t|--prefix|c", "put|t|d|f:|last",
	} {
		words := strings.Split(line, "|")
		if got := runLine("", append(words, "--url", s.url)...); got.code != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	shows := func(file string, flags []string, wants ...string) {
		t.Helper()
		got := runLine("", append([]string{"inspect", file}, flags...)...)
		for _, want := range wants {
			if got.code != 0 || !strings.Contains(got.stdout, want) {
				t.Errorf("%s: code %d, %s: no %s in\n%s", file, got.code, got.stderr, want, got.stdout)
			}
		}
	}
	one := func(pattern string) string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is %s", pattern)
		}
		return files[0]
	}
	shows(dir, nil, "manifest "+dir, "_dat_t", "the log begins with segment")
	shows(one("wal/*.log"), nil, "segment 1 of the log", " entries, ", "\n  ends ") // torn, or sealed once the log was idle
	entries := []string{
		`a\xff  f:q  2023-11-14T22:13:20.000000Z  i64:-5`, `a\xff  g:  2023-11-14T22:13:20.000000Z  f64:1.5`,
		"i32:-7", "boolean:true", "  text", "byte:9", "f32:0.5", "bytes:AP8=", "b  f:q  delete column",
	}
	shows(one("wal/*.log"), []string{"--entries"}, append(entries, "_dat_t  delete rows from c to before d")...)
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("code %d", code)
	}
	shows(dir, nil, "level 0: 1 files", "rows a\\xff to d")
	sorted := ""
	files, _ := filepath.Glob(filepath.Join(dir, "partitions/*/*.sst"))
	for _, name := range files {
		if got := runLine("", "inspect", name); strings.Contains(got.stdout, "families f, g") {
			sorted = name
		}
	}
	shows(sorted, nil, "3 rows from a\\xff to d", "10 entries, of these 1 tombstones")
	shows(sorted, []string{"--entries"}, entries...)

	data, err := os.ReadFile(sorted)
	if err != nil {
		t.Fatal(err)
	}
	data[3] ^= 1
	if err := os.WriteFile(sorted, data, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "00000001.log")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range []struct{ file, want string }{
		{sorted, "checksum mismatch"}, {elsewhere, "only where it is in its store"}, {filepath.Join(dir, "LOCK"), "no file of a store by its name"}, {filepath.Dir(dir), "holds no store"},
	} {
		if got := runLine("", "inspect", e.file, "--entries"); got.code != exitFailed || !strings.Contains(got.stderr, e.want) {
			t.Errorf("%s: %+v, want %s", e.file, got, e.want)
		}
	}
}
