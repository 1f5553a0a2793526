// Package mutants proves that the harness can fail. It plants bugs that storage engines have really had, one at a
// time, and requires that a part of the harness finds each.
//
// A bug is a change of the source, which the compiler gets in place of the file (go build -overlay). The code that
// users run has none of it. The harness and the server are both built with the bug, and the part that must catch
// it ends at its first failure.
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

// in returns the text with the bug in it. It fails unless the old text is there exactly once: then the code has
// changed without its mutant.
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
