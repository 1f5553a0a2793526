package kill9

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// build builds the program under test.
func build(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "colonnade")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/colonnade-db/colonnade/cmd/colonnade").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return func(args ...string) *exec.Cmd { return exec.Command(binary, args...) }
}

func TestServer(t *testing.T) {
	var s report.Section
	err := Run(context.Background(), Config{Program: build(t), Dir: t.TempDir(), Lives: 11, Seed: 1}, &s)
	if err != nil {
		t.Error(err)
	}
	for _, figure := range []string{"kills", "terminations", "acked_rows", "rows_verified", "reads", "intruders", "checks", "copies"} {
		if s.Figures()[figure].Value == 0 {
			t.Errorf("figure %s is 0 of %v", figure, s.Figures())
		}
	}
}

// journalServer returns a program that is a server with a flaw.
func journalServer(flaw string) func(args ...string) *exec.Cmd {
	return func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
		return cmd
	}
}

func TestSoundServerPasses(t *testing.T) {
	err := Run(context.Background(), Config{Program: journalServer("none"), Dir: t.TempDir(), Lives: 10, Seed: 1}, new(report.Section))
	if err != nil {
		t.Error(err)
	}
}

// The harness is worth what it finds.
func TestFlawsAreFound(t *testing.T) {
	for flaw, want := range map[string]string{
		"acknowledges before it writes": "lost: row",
		"shows before it writes":        "lost: row",
		"writes cell by cell":           "torn: ",
		"forgets deletes":               "possible are",
		"lets others in":                "a second server serves the directory",
		"ends badly":                    "ended badly after SIGTERM",
		"leaves its log":                "has not emptied its log",
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			err := Run(context.Background(), Config{Program: journalServer(flaw), Dir: t.TempDir(), Lives: 40, Seed: 1}, new(report.Section))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	err := Run(context.Background(), Config{Program: journalServer("does not start"), Dir: t.TempDir(), Lives: 1, Seed: 1}, new(report.Section))
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), "no reason") {
		t.Errorf("error %v, want one with what the server said", err)
	}
}
