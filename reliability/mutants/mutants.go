// Package mutants proves that the harness can fail: it plants bugs that storage
// engines have had in earnest, one at a time, and requires that a part of the
// harness finds each.
//
// A bug is a change of the source, which the compiler is given in place of the
// file (go build -overlay); nothing of it is in the code that users run. Both the
// harness and the server are built with it, and the part that has to catch it
// then ends at its first failure.
package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is a planted bug.
type mutant struct {
	number int
	bug    string // what is wrong with it, in a few words
	part   string // of the harness, which has to catch it
	edits  []edit
}

// edit replaces the one place in a file that reads old.
type edit struct {
	file     string // below the root of the module
	old, new string
}

// in returns the text with the bug in it. It is an error if the old text is not
// there exactly once: the code has moved on without its mutant.
func (e edit) in(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s has the text to change %d times, not once:\n%s", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

// changed returns the changed files of the mutant, by their names below root.
func (m mutant) changed(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		text, ok := files[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		text, err := e.in(text)
		if err != nil {
			return nil, fmt.Errorf("mutant %d (%s): %w", m.number, m.bug, err)
		}
		files[e.file] = text
	}
	return files, nil
}
