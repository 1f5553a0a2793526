package shell

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// errInterrupted is a line that was given up with Ctrl-C.
var errInterrupted = errors.New("interrupted")

const (
	ctrlC = 3
	ctrlR = 18
)

// editor reads lines from a terminal, which is raw only meanwhile.
type editor struct {
	in, out    *os.File
	terminal   *term.Terminal
	history    *history
	candidates func(line string) (list []string, blank bool, start int)

	interrupted bool   // Ctrl-C was read
	sought      string // what Ctrl-R looks for, while it is pressed again
	found       string // what it has found, "" if another key was pressed since
	from        int    // where it goes on
}

func newEditor(in, out *os.File, historyFile string, candidates func(string) ([]string, bool, int)) *editor {
	e := &editor{in: in, out: out, history: openHistory(historyFile), candidates: candidates}
	e.renew()
	return e
}

// renew makes a terminal without what was typed.
func (e *editor) renew() {
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e, e.out}, "")
	e.terminal.History = e.history
	e.terminal.AutoCompleteCallback = e.key
	e.interrupted = false
}

// Read reads what is typed, for the terminal, and sees the Ctrl-C that it takes for an end.
func (e *editor) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	if bytes.IndexByte(p[:n], ctrlC) >= 0 {
		e.interrupted = true
	}
	return n, err
}

// read reads a line.
func (e *editor) read(prompt string) (string, error) {
	before, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(e.in.Fd()), before)
	if width, height, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 && height > 0 {
		_ = e.terminal.SetSize(width, height)
	}
	e.terminal.SetBracketedPasteMode(true)
	defer e.terminal.SetBracketedPasteMode(false)
	e.terminal.SetPrompt(prompt)
	line, err := e.terminal.ReadLine()
	if err == io.EOF {
		end := "\r\n"
		if e.interrupted {
			end, err = "^C\r\n", errInterrupted
			e.renew()
		}
		_, _ = io.WriteString(e.out, end)
	}
	if err == term.ErrPasteIndicator {
		err = nil
	}
	return line, err
}

// key does what TAB and Ctrl-R do.
func (e *editor) key(line string, pos int, key rune) (string, int, bool) {
	switch key {
	case '\t':
		return e.complete(line, pos)
	case ctrlR:
		return e.search(line)
	}
	return "", 0, false
}

// complete completes the word before pos as far as it can, or else shows what it can become.
func (e *editor) complete(line string, pos int) (string, int, bool) {
	list, blank, start := e.candidates(line[:pos])
	if len(list) == 0 {
		return line, pos, true
	}
	word := common(list)
	typed, open := split(line[start:pos])
	switch {
	case len(list) == 1:
		word = quote(word)
		if blank {
			word += " "
		}
	case len(typed) == 0 && word != "" || len(typed) > 0 && word != typed[0].text:
		if quoted := quote(word); quoted != word || open {
			word = strings.TrimSuffix(quoted, quoted[:1]) // more follows
		}
	default:
		e.list(list)
		return line, pos, true
	}
	return line[:start] + word + line[pos:], start + len(word), true
}

// list shows candidates, in as many columns as fit.
func (e *editor) list(list []string) {
	width, _, err := term.GetSize(int(e.out.Fd()))
	if err != nil {
		width = 80
	}
	widest := 0
	for _, c := range list {
		widest = max(widest, uniseg.StringWidth(c))
	}
	columns := max(width/(widest+2), 1)
	lines := (len(list) + columns - 1) / columns
	var b strings.Builder
	for line := range lines {
		for i := line; i < len(list); i += lines {
			b.WriteString(list[i])
			if i+lines < len(list) {
				b.WriteString(strings.Repeat(" ", widest+2-uniseg.StringWidth(list[i])))
			}
		}
		b.WriteByte('\n')
	}
	_, _ = e.terminal.Write([]byte(b.String()))
}

// search returns the newest line of the history that has what was typed, or when it is pressed again an older one.
func (e *editor) search(line string) (string, int, bool) {
	if e.found == "" || line != e.found {
		e.sought, e.from = line, 0
	}
	for i := e.from; i < e.history.Len(); i++ {
		if entry := e.history.At(i); strings.Contains(entry, e.sought) && entry != line {
			e.found, e.from = entry, i+1
			return entry, len(entry), true
		}
	}
	return line, len(line), true
}
