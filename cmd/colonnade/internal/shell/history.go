package shell

import (
	"os"
	"path/filepath"
	"strings"
)

// history is the lines that were typed, in memory and in a file. That it cannot be read or written is no error: people
// can work without it.
type history struct {
	lines []string
	file  string // "" for none
}

// mostHistory bounds how many lines of the file are kept.
const mostHistory = 2000

func openHistory(file string) *history {
	h := &history{file: file}
	text, err := os.ReadFile(file)
	if err != nil {
		return h
	}
	h.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if n := len(h.lines); n > mostHistory {
		h.lines = h.lines[n-mostHistory/2:]
		_ = os.WriteFile(file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// remember adds a line, unless it is the one before again, or has an end of line in it.
func (h *history) remember(line string) {
	if n := len(h.lines); line == "" || strings.Contains(line, "\n") || n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" || os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}

// Add does nothing: the terminal would remember the lines of one command one by one.
func (h *history) Add(string) {}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At returns a line, 0 for the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// HistoryFile returns where the history of a user is kept, "" if that is not known.
func HistoryFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "colonnade", "history")
}
