package bigtable

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "compat")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "colonnade")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/colonnade")
	build.Dir, build.Stdout, build.Stderr = "../..", os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program cannot be built:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// long leaves a test out of a short run.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long run has it: make compat")
	}
}

// emulator starts the emulator, in memory, and returns its address. The test fails if it does not end as it should.
func emulator(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, append([]string{"emulator", "--port", "0"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the emulator ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "export BIGTABLE_EMULATOR_HOST=")
	if !ok {
		t.Fatalf("the emulator says %q, %v", line, err)
	}
	return address
}

// environment is that of the test, with variables in place of those that name an emulator, a project or credentials.
func environment(set ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "BIGTABLE_") && !strings.HasPrefix(v, "GOOGLE_") && !strings.HasPrefix(v, "GCLOUD_") {
			env = append(env, v)
		}
	}
	return append(env, set...)
}
