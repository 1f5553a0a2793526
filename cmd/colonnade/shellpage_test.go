package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandsOfTheShellPage(t *testing.T) {
	needCommands(t, "bash")
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	before := `colonnade() { command colonnade "$1" --url=` + s.url + ` "${@:2}"; }` + "\n"
	_, output := runPage(t, "../../docs/shell.md", before)
	for _, want := range []string{
		"com.example/about  title:", `{"rows":2,"cells":4}`, "versions=5,ttl=90d,both", `\x00\xff`, `"value":-4`, "2026-11-29/1,data:ms,", "profile", `"value":10,`,
	} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
}
