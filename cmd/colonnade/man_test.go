package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDir is where a release has its manual pages from. It is a flag of a test so that the program itself does without
// the library that writes them.
var manDir = flag.String("man", "", "directory to write the manual pages to")

// TestManPages: every command has a manual page, of its help, that man shows without complaints.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot()
	commands := prepareForManual(root)
	// A page's date is SOURCE_DATE_EPOCH.
	if err := doc.GenManTree(root, &doc.GenManHeader{Source: "Colonnade", Manual: "Colonnade"}, dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != commands {
		t.Fatalf("%d pages for %d commands, %v", len(pages), commands, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range []string{".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS"} {
			if !bytes.Contains(text, []byte(section)) {
				t.Errorf("%s has no %s", filepath.Base(page), section)
			}
		}
		lintManPage(t, page)
	}
}

// prepareForManual makes of a help's indented lines what pages, which are made by way of Markdown, show line by line, removes
// the line that says which library made a page, and returns the number of commands that help lists.
func prepareForManual(cmd *cobra.Command) int {
	cmd.Long = strings.ReplaceAll(cmd.Long, "\n  ", "\n      ")
	cmd.DisableAutoGenTag = true
	n := 1
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			n += prepareForManual(c)
		}
	}
	return n
}

func lintManPage(t *testing.T, page string) {
	t.Helper()
	for _, lint := range [][]string{{"mandoc", "-T", "lint", "-W", "error"}, {"groff", "-man", "-ww", "-z", "-K", "utf8"}} {
		if _, err := exec.LookPath(lint[0]); err != nil {
			continue
		}
		output, err := exec.Command(lint[0], append(lint[1:], page)...).CombinedOutput()
		if err != nil || len(output) > 0 {
			t.Errorf("%s: %v\n%s", strings.Join(lint, " "), err, output)
		}
	}
}
