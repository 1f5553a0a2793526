package bigtable

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prepared returns a directory of bin/.compat/, where nobody looks for code or documents, in which prepare has installed what the files of testdata/name ask for. It does
// so once, until they change.
func prepared(t *testing.T, name string, prepare func(dir string)) string {
	t.Helper()
	sum := sha256.New()
	err := fs.WalkDir(os.DirFS("testdata/"+name), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata", name, path))
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(fmt.Sprintf("../../bin/.compat/%s-%.8x", name, sum.Sum(nil)))
	if err != nil {
		t.Fatal(err)
	}
	done := filepath.Join(dir, "prepared")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	prepare(dir)
	if err := os.WriteFile(done, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command in a directory.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// succeeds runs the program of a client, which finds the emulator by a variable. It says at its end that every answer is
// the expected one.
func succeeds(t *testing.T, variable string, args []string, env ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment(append(env, variable+"="+emulator(t, "--backup-repository", t.TempDir()))...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "every answer is the expected one") {
		t.Errorf("%v\n%s", err, out)
	}
}
