package main

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"colonnade/cmd/colonnade/internal/kill9"
)

// Both repeat a run: its clients then do the same things, though not at the
// same time.
var (
	kill9Seed  = flag.Uint64("kill9.seed", 0, "seed of TestKill9 (0: one that the time decides)")
	kill9Lives = flag.Int("kill9.lives", 50, "how often TestKill9 ends the server (fewer with -short)")
)

func TestKill9(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c := kill9.Config{
		Server: func() *exec.Cmd { return program("serve", "--data", dir, "--listen", "127.0.0.1:0") },
		Lives:  *kill9Lives,
		Seed:   *kill9Seed,
		Log:    t.Logf,
	}
	if testing.Short() {
		c.Lives = min(c.Lives, 8)
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	if _, err := kill9.Run(context.Background(), c); err != nil {
		t.Fatalf("%v\nrepeat with -kill9.seed %d", err, c.Seed)
	}
	if got := runLine("", "check", "--data", dir); got.code != 0 || !strings.Contains(got.stdout, "no damage") {
		t.Errorf("seed %d: check says %+v", c.Seed, got)
	}
}
