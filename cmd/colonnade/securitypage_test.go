package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCommandsOfTheSecurityPage runs the commands of docs/security.md in a shell, as they stand there but for the address.
func TestCommandsOfTheSecurityPage(t *testing.T) {
	for _, name := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the page's commands need %s", name)
		}
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\ntrap 'kill $!; wait $!' EXIT\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script += block[1]
	}
	script = strings.NewReplacer("9876", freePort(t), "0.0.0.0", "127.0.0.1").Replace(script)

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "colonnade"), fmt.Appendf(nil, "#!/bin/sh\nexec env %s=1 %s \"$@\"\n", mainVariable, os.Args[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "NO_PROXY=localhost", "no_proxy=localhost")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{"Table created successfully", `{"row_key":"a",`, "crawler"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "audit.log")); err != nil || !strings.Contains(string(text), `"msg":"schema_change"`) {
		t.Errorf("the audit log has %q, %v", text, err)
	}
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
