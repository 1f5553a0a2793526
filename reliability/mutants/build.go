package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are what a mutant was built into.
type programs struct{ harness, server string }

// build builds the harness and the server with the bug in them, into dir.
func (m mutant) build(ctx context.Context, root, dir string) (programs, error) {
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return programs{}, err
	}
	p := programs{harness: filepath.Join(dir, "harness"), server: filepath.Join(dir, "server")}
	for path, source := range map[string]string{p.harness: "github.com/colonnade-db/colonnade/reliability", p.server: "github.com/colonnade-db/colonnade/cmd/colonnade"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", path, source)
		cmd.Dir = filepath.Join(root, "reliability")
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("mutant %d cannot be built: %w\n%s", m.number, err, out)
		}
	}
	return p, nil
}

// overlay writes the changed files, and the file that tells the compiler of them.
func (m mutant) overlay(root, dir string) (string, error) {
	files, err := m.changed(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}
