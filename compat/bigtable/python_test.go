package bigtable

import (
	"path/filepath"
	"testing"
)

// TestPython runs testdata/python/client.py with the Python client of testdata/python/requirements.txt, which is installed
// into bin/ once.
func TestPython(t *testing.T) {
	t.Parallel()
	dir := prepared(t, "python", func(dir string) {
		requirements, err := filepath.Abs("testdata/python/requirements.txt")
		if err != nil {
			t.Fatal(err)
		}
		run(t, dir, "python3", "-m", "venv", dir)
		run(t, dir, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements)
	})
	succeeds(t, "BIGTABLE_EMULATOR_HOST", []string{filepath.Join(dir, "bin", "python"), "-W", "ignore", "testdata/python/client.py"})
}
