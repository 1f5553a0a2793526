package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol/lsmstore/lsmtest"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

// TestDocumentedCommands runs the curl commands of docs/api.md, in order, against one server with the store that the
// program has. Each must succeed, except those whose error the page shows: it must be that error. A result that the page
// shows must be that result.
func TestDocumentedCommands(t *testing.T) {
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	now := steppingClock()
	subject, err := lsmtest.Open(&storetest.Env{Now: func() int64 { return now().UnixMicro() }, MaxValue: 1 << 20, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer subject.Store.Close()
	c := clientOf(t, subject.Store, Options{})
	ran := 0
	for _, d := range documented(string(page)) {
		ran++
		w := httptest.NewRecorder()
		c.ServeHTTP(w, d.request(t))
		for more := true; more; { // families that move arrive
			if more, err = subject.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if w.Header().Get("Content-Type") == linesType {
			if got, want := linesWithoutTimes(w.Body.String()), linesWithoutTimes(d.answer); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", d.text, got, want)
			}
			continue
		}
		var got, want envelope
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %q", d.text, err, w.Body)
		}
		if d.answer == "" {
			if w.Code/100 != 2 {
				t.Errorf("%s: got %d %s, want success", d.text, w.Code, got.Message)
			}
			continue
		}
		if err := json.Unmarshal([]byte(d.answer), &want); err != nil {
			t.Fatalf("the page shows %q: %v", d.answer, err)
		}
		if want.Error == nil {
			if got, want := withoutCommitTimes(w.Body.String()), withoutCommitTimes(d.answer); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", d.text, got, want)
			}
			continue
		}
		if got.Status != want.Status || got.Message != want.Message || got.Error == nil || *got.Error != *want.Error {
			t.Errorf("%s:\ngot  %s\nwant %s", d.text, w.Body, d.answer)
		}
	}
	if ran < 20 {
		t.Errorf("only %d commands were found on the page", ran)
	}
}

// withoutCommitTimes returns the text of an answer without what depends on the clock.
func withoutCommitTimes(text string) string {
	return regexp.MustCompile(`"time": ?[0-9]+`).ReplaceAllString(stripTimes([]byte(text)), `"time":0`)
}

// linesWithoutTimes is withoutCommitTimes for each line.
func linesWithoutTimes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(withoutCommitTimes(line) + "\n")
	}
	return b.String()
}

// documentedCommand is a curl command of a page, with the answer that the page shows behind it.
type documentedCommand struct{ text, answer string }

// documented returns the curl commands of the page's sh blocks. Behind a prompt, the rest of the block is
// the answer.
func documented(page string) (commands []documentedCommand) {
	for i, block := range strings.Split(page, "```") {
		body, ok := strings.CutPrefix(block, "sh\n")
		if i%2 == 0 || !ok {
			continue
		}
		if strings.HasPrefix(body, "$ ") {
			commands = append(commands, prompted(body)...)
			continue
		}
		var lines []string
		for line := range strings.Lines(body) {
			if lines = append(lines, line); strings.Count(strings.Join(lines, ""), "'")%2 == 1 {
				continue // in the middle of a body
			}
			if command := strings.Join(lines, ""); strings.HasPrefix(command, "curl ") {
				commands = append(commands, documentedCommand{text: strings.TrimSpace(command)})
			}
			lines = nil
		}
	}
	return commands
}

// prompted returns the commands of a block that shows a prompt before each, and the answer behind it.
func prompted(body string) (commands []documentedCommand) {
	text, answer := "", ""
	inCommand := false
	for line := range strings.Lines(body + "$ ") {
		if command, ok := strings.CutPrefix(line, "$ "); ok && !inCommand {
			if text != "" {
				commands = append(commands, documentedCommand{strings.TrimSpace(text), answer})
			}
			text, answer, line = "", "", command
			inCommand = true
		}
		if inCommand {
			text += line
			inCommand = strings.Count(text, "'")%2 == 1
		} else {
			answer += line
		}
	}
	return commands
}

// request returns the request that curl would send.
func (d documentedCommand) request(t *testing.T) *http.Request {
	t.Helper()
	method, url, header := "", "", http.Header{}
	var body io.Reader
	args := slices.DeleteFunc(shellWords(d.text), func(word string) bool { return word == "curl" })
	for i := 0; i < len(args); i++ {
		option := args[i]
		if !strings.HasPrefix(option, "-") {
			url = strings.ReplaceAll(option, "$T", "/v1/table")
			continue
		}
		i++
		switch option {
		case "-X":
			method = args[i]
		case "-d", "--data-binary":
			body = bytes.NewBufferString(args[i])
		case "-H":
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
		default:
			t.Fatalf("%s: the test does not know the option %s", d.text, option)
		}
	}
	if method == "" {
		method = http.MethodGet
		if body != nil {
			method = http.MethodPost
		}
	}
	r := httptest.NewRequest(method, url, body)
	r.Header = header
	return r
}

// shellWords splits a command at blanks outside quotes. It knows no escapes.
func shellWords(command string) (words []string) {
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, c := range command + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	return words
}
