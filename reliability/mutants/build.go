package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	for path, source := range map[string]string{p.harness: "colonnade/reliability", p.server: "colonnade/cmd/colonnade"} {
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
	replace := map[string]string{}
	for i, e := range m.edits {
		original := filepath.Join(root, e.file)
		if _, ok := replace[original]; ok {
			return "", fmt.Errorf("mutant %d changes %s twice: make it one edit", m.number, e.file)
		}
		data, err := e.edited(root)
		if err != nil {
			return "", fmt.Errorf("mutant %d (%s): %w", m.number, m.bug, err)
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(changed, data, 0o600); err != nil {
			return "", err
		}
		replace[original] = changed
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}
