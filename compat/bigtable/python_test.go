package bigtable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const pythonClient = "google-cloud-bigtable==2.50.2"

// TestPython runs testdata/client.py with the Python client, which is installed into bin/ once.
func TestPython(t *testing.T) {
	python := installed(t)
	cmd := exec.Command(python, "-W", "ignore", "testdata/client.py")
	cmd.Env = environment("BIGTABLE_EMULATOR_HOST=" + emulator(t))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "every answer is the expected one") {
		t.Errorf("%v\n%s", err, out)
	}
}

// installed returns the interpreter of a virtual environment that has the client.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin/" + strings.ReplaceAll(pythonClient, "==", "-"))
	if err != nil {
		t.Fatal(err)
	}
	python, done := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return python
	}
	for _, args := range [][]string{{"python3", "-m", "venv", dir}, {python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pythonClient}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.WriteFile(done, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return python
}
