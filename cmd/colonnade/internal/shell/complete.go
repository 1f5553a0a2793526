package shell

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// candidates returns what the last word of a line can be completed to, whether a blank follows a single one, and where
// that word begins. It asks the commands, as the completion of bash does.
func (s *Shell) candidates(line string) (list []string, blank bool, start int) {
	words, open := split(line)
	start = len(line)
	last := ""
	if n := len(words); n > 0 && (open || !strings.HasSuffix(line, " ") && !strings.HasSuffix(line, ",")) {
		last, start = words[n-1].text, words[n-1].start
		words = words[:n-1]
	}
	var out bytes.Buffer
	root := s.root()
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, texts(words)...), last))
	root.SetOut(&out)
	root.SetErr(new(bytes.Buffer))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if root.ExecuteContext(ctx) != nil {
		return nil, false, start
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	n, _ := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-1], ":"))
	directive := cobra.ShellCompDirective(n)
	for _, candidate := range lines[:len(lines)-1] {
		if strings.HasPrefix(candidate, last) {
			list = append(list, candidate)
		}
	}
	if len(list) == 0 && directive&(cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveError) == 0 && len(words) > 0 {
		list = files(last)
	}
	blank = directive&cobra.ShellCompDirectiveNoSpace == 0 && (len(list) != 1 || !strings.HasSuffix(list[0], "/"))
	return list, blank, start
}

// files returns the files whose name begins with a word.
func files(word string) []string {
	list, _ := filepath.Glob(word + "*")
	for i, name := range list {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			list[i] += "/"
		}
	}
	return list
}

// common returns what all candidates begin with.
func common(list []string) string {
	prefix := list[0]
	for _, candidate := range list[1:] {
		for !strings.HasPrefix(candidate, prefix) {
			r := []rune(prefix)
			prefix = string(r[:len(r)-1])
		}
	}
	return prefix
}
