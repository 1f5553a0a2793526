package branches

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
)

const source = `package p

import "errors"

func plain(n int) (int, error) {
	if n == 0 {
		return 0, errors.New("zero")
	}
	if n == 1 {
		return 1, nil
	}
	switch {
	case n < 0:
		return 0, errors.New("negative")
	}
	f := func() int {
		if n == 2 {
			return 2
		}
		return 3
	}
	return f(), nil
}

func other(n int) int {
	if n < 0 {
		panic("negative")
	}
	return n
}
`

// lines returns where the branches of the source are.
func lines(t *testing.T) []branch {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := find(dir, "m/p")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFind(t *testing.T) {
	var got []int
	for _, b := range lines(t) {
		got = append(got, b.line)
	}
	if want := []int{7, 14, 27}; !slices.Equal(got, want) {
		t.Errorf("error branches in lines %v, want %v", got, want)
	}
}

// TestBranchThatHasNotRun: a branch counts only if its own block has run.
func TestBranchThatHasNotRun(t *testing.T) {
	p, err := readProfile(strings.NewReader("mode: set\nm/p/p.go:5.33,6.12 1 1\nm/p/p.go:6.12,8.3 1 1\nm/p/p.go:13.13,14.35 1 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	var s report.Section
	all := lines(t)
	judge(&s, p, all)
	if f := s.Figures(); f["error_branches"].Value != 3 || f["error_branches_run"].Value != 1 || !s.Failed() {
		t.Errorf("figures are %+v, failed: %v", f, s.Failed())
	}
	if _, err := readProfile(strings.NewReader("p.go:1.1 nonsense")); err == nil {
		t.Error("a profile that makes no sense was accepted")
	}
}
