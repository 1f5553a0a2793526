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

// runPage runs the commands of a document, its sh blocks, in one bash, in a directory of their own, after some of the
// test's. They are run as they stand there but for replace, pairs of old and new. It returns the directory and what was
// printed.
func runPage(t *testing.T, page, before string, replace ...string) (dir, output string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\n" + before
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		script += block[1]
	}
	script = strings.NewReplacer(replace...).Replace(script)

	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), programInPath(t, dir), "NO_PROXY=localhost", "no_proxy=localhost")
	combined, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, combined)
	}
	return dir, string(combined)
}

// programInPath makes dir/colonnade, which runs the program, and returns the variable that lets a shell find it.
func programInPath(t *testing.T, dir string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "colonnade"), fmt.Appendf(nil, "#!/bin/sh\nexec env %s=1 %s \"$@\"\n", mainVariable, os.Args[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

// needCommands skips a test where a command is missing.
func needCommands(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("this test needs %s", name)
		}
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
