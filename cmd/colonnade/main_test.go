package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// mainVariable, in the environment of the test binary, makes it the program.
const mainVariable = "TEST_COLONNADE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
	}
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0") // else under the race detector each process takes a second to end
	os.Exit(m.Run())
}

// program returns the command for a process of its own, to be started.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

// result is what a command line has done.
type result struct {
	code           int
	stdout, stderr string
}

// runLine runs a command line within the test.
func runLine(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		line string
		want string
	}{
		{"frobnicate", `unknown command "frobnicate"`},
		{"serve --frobnicate", "unknown flag: --frobnicate"},
		{"serve here", `unknown command "here"`},
		{"serve --cache-mib much", "invalid argument"},
		{"serve --cache-mib 0", "must be a whole number from 1 to"},
		{"serve --cash-mib 1", "unknown flag: --cash-mib, did you mean --cache-mib?"},
		{"config --cash-mib 1", "unknown flag: --cash-mib, did you mean --cache-mib?"},
		{"config --listen :0", "--listen :0: the address can be reached from other machines"},
		{"serve --config ../colonnade", "../colonnade is a directory, and must be a file"},
		{"serve --config no.toml", "no.toml: no such file"},
		{"serve --listen 9876", "--listen 9876: must be HOST:PORT"},
		{"serve --listen :0", "can be reached from other machines"},
		{"serve --listen 0.0.0.0:0", "--insecure"},
		{"serve --listen [::]:0", "needs tokens, tls-cert and tls-key"},
		{"serve --listen 192.0.2.1:0", "can be reached from other machines"},
		{"import", "--table is missing"},
		{"import a b --table t", "it has 2 arguments, and takes: colonnade import [SOURCE]"},
		{"import --table t --parallel 0", "--parallel must be"},
		{"import --table t --batch-cells 0", "--batch-cells must be"},
		{"import --table t --time -5", "--time must not"},
		{"import --table t --retry-for -1s", "--retry-for must not"},
		{"backup create", "it has 0 arguments, and takes: colonnade backup create REPOSITORY"},
		{"backup restore", "takes: colonnade backup restore REPOSITORY DIR"},
		{"backup crate /backup", `unknown command "crate" of backup, did you mean create?`},
		{"backup frobnicate", "which has create, list, prune, restore or verify"},
		{"token lst", "did you mean list?"},
		{"completion bsh", "did you mean bash or fish or zsh?"},
		{"generate --rows -1", "rows must be"},
		{"check here", "unknown command"},
		{"version 1", "unknown command"},
	}
	for _, test := range tests {
		got := runLine("", strings.Fields(test.line)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
			t.Errorf("colonnade %s: %+v, want code %d and %q", test.line, got, exitUsage, test.want)
		}
	}
}

// TestDiskAdvice: what any command may meet on a disk comes with what to do.
func TestDiskAdvice(t *testing.T) {
	for cause, want := range map[error]string{syscall.EROFS: "remount,rw", syscall.ENOSPC: "", syscall.EIO: ""} {
		got := diskAdvice(fmt.Errorf("open store: %w", &fs.PathError{Op: "open", Path: "/x", Err: cause}))
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%v: %q", cause, got)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for line, want := range map[string]string{
		"":                "serve",
		"help":            "serve",
		"serve --help":    "listening on http://127.0.0.1:9876",
		"import --help":   "--skip-bad",
		"generate --help": "--shuffle",
		"check --help":    "--data",
		"config --help":   "--cache-mib",
		"version":         "colonnade ",
	} {
		if got := runLine("", strings.Fields(line)...); got.code != 0 || !strings.Contains(got.stdout, want) || got.stderr != "" {
			t.Errorf("colonnade %s: %+v, want %q", line, got, want)
		}
	}
}

// Every command shows how it is used.
func TestCommandsHaveExamples(t *testing.T) {
	for _, cmd := range newRoot().Commands() {
		if !strings.Contains(cmd.Example, "colonnade ") || cmd.Short == "" {
			t.Errorf("%s has no example or no short text", cmd.Name())
		}
	}
}
