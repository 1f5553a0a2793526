package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandsOfTheSecurityPage(t *testing.T) {
	needCommands(t, "bash", "curl", "openssl")
	dir, output := runPage(t, "../../docs/security.md", "trap 'kill $!; wait $!' EXIT\n", "9876", freePort(t), "0.0.0.0", "127.0.0.1")
	for _, want := range []string{"Table created successfully", `{"row_key":"a",`, "crawler"} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "audit.log")); err != nil || !strings.Contains(string(text), `"msg":"schema_change"`) {
		t.Errorf("the audit log has %q, %v", text, err)
	}
}
