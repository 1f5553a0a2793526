package kill9

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// journalServer returns the command for a server with a flaw.
func journalServer(t *testing.T, flaw string) func() *exec.Cmd {
	file := filepath.Join(t.TempDir(), "journal")
	return func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), journalVariable+"="+file, flawVariable+"="+flaw)
		return cmd
	}
}

func TestSoundServerPasses(t *testing.T) {
	_, err := Run(context.Background(), Config{Server: journalServer(t, ""), Lives: 10, Seed: 1, Log: t.Logf})
	if err != nil {
		t.Error(err)
	}
}

// The harness is worth what it finds.
func TestFlawsAreFound(t *testing.T) {
	for flaw, want := range map[string]string{
		"acknowledges before it writes": "has version",
		"shows before it writes":        "has version",
		"writes cell by cell":           "row",
		"forgets deletes":               "possible are",
	} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			_, err := Run(context.Background(), Config{Server: journalServer(t, flaw), Lives: 20, Seed: 1, Log: t.Logf})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "acknowledgements in") {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	server := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), journalVariable+"="+filepath.Join(t.TempDir(), "none", "journal"))
		return cmd
	}
	_, err := Run(context.Background(), Config{Server: server, Lives: 1, Seed: 1, Log: t.Logf})
	if err == nil || !strings.Contains(err.Error(), "ended before it was ready") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v, want one with what the server said", err)
	}
}
