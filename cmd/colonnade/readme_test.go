package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of the README are run as they stand there, but for the address
// of the server and the number of generated rows.
func TestCommandsOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	t.Chdir("../..")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	commands := 0
	for _, block := range blocks {
		var input string // from the command before the pipe
		for _, words := range shellCommands(t, block[1]) {
			commands++
			switch words[0] {
			case "bin/colonnade":
				input = s.colonnade(input, words[1:])
			case "curl":
				s.curl(words[1:])
			default:
				t.Errorf("this test cannot run %q", words)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands were found in %d blocks", commands, len(blocks))
	}
}

// colonnade runs a command of the program and returns its output.
func (s *served) colonnade(input string, words []string) string {
	s.t.Helper()
	switch words[0] {
	case "import":
		words = append(words, "--url", s.url)
	case "generate":
		words = append(words, "--rows", "300") // the last one counts
	}
	got := runLine(input, words...)
	if got.code != 0 {
		s.t.Errorf("colonnade %q: code %d, %s", words, got.code, got.stderr)
	}
	return got.stdout
}

// curl does what curl does with these words. Only the request that shows a
// mistake may fail.
func (s *served) curl(words []string) {
	s.t.Helper()
	method, url, body := "", "", ""
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-d":
			i++
			body = words[i]
			if method == "" {
				method = http.MethodPost
			}
		default:
			url = strings.Replace(words[i], "localhost:9876", s.url, 1)
		}
	}
	req, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	mistake := strings.Contains(body, "titel")
	if mistake != (resp.StatusCode == http.StatusNotFound) || !mistake && resp.StatusCode/100 != 2 {
		s.t.Errorf("curl %q: status %d, %s", words, resp.StatusCode, answer)
	}
}

// shellCommands takes lines of shell apart: words, single quotes, pipes and line
// ends. It knows no more than the README uses.
func shellCommands(t *testing.T, text string) (commands [][]string) {
	t.Helper()
	var words []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		if strings.ContainsAny(part, "\"$`;&<>\\#") {
			t.Errorf("too much shell for this test: %s", part)
		}
		for _, piece := range regexp.MustCompile(`\||\n|[^\s|]+`).FindAllString(part, -1) {
			if piece != "|" && piece != "\n" {
				words = append(words, piece)
			} else if len(words) > 0 {
				commands = append(commands, words)
				words = nil
			}
		}
	}
	return commands
}
