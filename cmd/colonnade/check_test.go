package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCheckFindsDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	if got := runLine("", "import", "../../examples/webtable.ndjson", "--table", "t", "--create-table", "--create-families", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
	s.stop(syscall.SIGTERM)
	if got := runLine("", "check", "--data", dir); got.code != 0 || !strings.Contains(got.stdout, "no damage") || !strings.Contains(got.stdout, "2 partitions") {
		t.Fatalf("check of a good directory: %+v", got)
	}
	file := damage(t, dir)
	if got := runLine("", "check", "--data", dir); got.code != exitFailed || !strings.Contains(got.stdout, filepath.Base(file)+", offset ") || !strings.Contains(got.stderr, "is damaged (places found: 1)") {
		t.Errorf("check of a damaged directory: %+v, want code 1 and the name of %s", got, file)
	}
}

// damage flips a bit in the middle of what the fullest file holds. Zeros at its
// end do not count: a segment of the log has room to be filled.
func damage(t *testing.T, dir string) (name string) {
	t.Helper()
	var fullest []byte
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if used := bytes.TrimRight(content, "\x00"); len(used) > len(bytes.TrimRight(fullest, "\x00")) {
			name, fullest = path, content
		}
		return err
	})
	if err != nil || name == "" {
		t.Fatalf("no file below %s: %v", dir, err)
	}
	fullest[len(bytes.TrimRight(fullest, "\x00"))/2] ^= 1
	if err := os.WriteFile(name, fullest, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCheckOfNothing(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if got := runLine("", "check", "--data", none); got.code != exitFailed || !strings.Contains(got.stderr, none) {
		t.Errorf("check of a directory that is not there: %+v", got)
	}
	empty := t.TempDir()
	if got := runLine("", "check", "--data", empty); got.code != exitFailed || !strings.Contains(got.stderr, "holds no store") {
		t.Errorf("check of an empty directory: %+v", got)
	}
}
