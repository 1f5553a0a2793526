package shell

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		"get t r":                    "get|t|r",
		"  put t 'a b' \"c d\" # no": "put|t|a b|c d",
		"put 't','r','cf:q','v'":     "put|t|r|cf:q|v",
		"put 't', 'r' , 'v'":         "put|t|r|,|v",
		`get t \xff 'a\\' 'it\'s'`:   `get|t|\xff|a\\|it's`,
		"put t a#b v,w":              "put|t|a#b|v,w",
		"put t '' x'y z'":            "put|t||xy z",
		"# only a comment":           "",
		"put t r 'two\nlines'":       "put|t|r|two\nlines",
	} {
		words, open := split(line)
		if got := strings.Join(texts(words), "|"); got != want || open {
			t.Errorf("%s: got %q, want %q, open %v", line, got, want, open)
		}
	}
	for _, text := range []string{"a", "a b", `\xff`, `it's`, `"`, `a\\ b`, "#", "", "a,b"} {
		if words, open := split(quote(text)); open || len(words) != 1 || words[0].text != text {
			t.Errorf("%q is quoted %s, which is %v", text, quote(text), words)
		}
	}
	for text, more := range map[string]bool{"get 'a": true, `get t \`: true, `get t \\`: false, "get": false, `get "a'"`: false, `\`: true} {
		if _, got := unfinished(text); got != more {
			t.Errorf("%s goes on: %v", text, got)
		}
	}
}

// newTest returns a shell of two commands, and what they print.
func newTest(script string) (*Shell, *strings.Builder) {
	out := new(strings.Builder)
	return &Shell{
		Commands: func() []*cobra.Command {
			say := &cobra.Command{
				Use: "say WORD...", Example: "  colonnade say it",
				ValidArgs: []string{"hello", "help", "a b", "a c"},
				RunE:      func(cmd *cobra.Command, args []string) error { fmt.Fprintf(out, "%q\n", args); return nil },
			}
			fail := &cobra.Command{Use: "fail", RunE: func(*cobra.Command, []string) error { return errors.New("failed") }}
			return []*cobra.Command{say, fail}
		},
		Explain: func(err error) (error, bool) { return err, Unknown(err) },
		In:      strings.NewReader(script), Out: out, Err: out,
	}, out
}

func TestScript(t *testing.T) {
	for script, want := range map[string]string{
		"say a\n\n# no\nsay 'b\nc' \\\nd": `["a"] ["b\nc" "d"] `,
		"say a\nexit\nsay b\n":            `["a"] `,
		"say a\n\nfail\nsay b\n":          `["a"] line 3: failed`,
		"say 'a\nb'\nfail":                `["a\nb"] line 3: failed`,
		"sya a\n":                         `line 1: unknown command "sya"`,
		"say 'a":                          `line 1 goes on, and nothing follows`,
		"say a\r\nsay b\r\n":              `["a"] ["b"] `,
		"help say\nexit":                  "Examples:   say it",
	} {
		s, out := newTest(script)
		err := s.Run(context.Background())
		got := strings.ReplaceAll(out.String(), "\n", " ")
		if err != nil {
			got += err.Error()
		}
		if got != want && !(strings.HasPrefix(script, "help") && strings.Contains(got, want)) {
			t.Errorf("%q: got %s, want %s", script, got, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	s, _ := newTest("")
	for line, want := range map[string]string{"sa": "say", "say hel": "hello help", "say 'a": "a b|a c", "say x": "", "nope x": "", "help f": "fail", "say 'he": "hello help"} {
		list, _, _ := s.candidates(line)
		sep := " "
		if strings.Contains(want, "|") {
			sep = "|"
		}
		if got := strings.Join(list, sep); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
	e := &editor{candidates: s.candidates}
	for line, want := range map[string]string{"sa": "say ", "say he": "say hel", "say hello": "say hello ", "say a": "say 'a ", "say 'a b": "say 'a b' "} {
		if got, pos, ok := e.complete(line, len(line)); got != want || pos != len(want) || !ok {
			t.Errorf("%s is completed to %q, %d, want %q", line, got, pos, want)
		}
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "history")
	h := openHistory(file)
	for _, line := range []string{"one", "two", "two", "", "with\nend", "three"} {
		h.remember(line)
	}
	again := openHistory(file)
	if want := []string{"one", "two", "three"}; !slices.Equal(again.lines, want) || again.At(0) != "three" {
		t.Errorf("got %q, want %q", again.lines, want)
	}
	e := &editor{history: again}
	first, _, _ := e.search("o")
	second, _, _ := e.search(first)
	if first != "two" || second != "one" {
		t.Errorf("Ctrl-R finds %s and then %s", first, second)
	}
	for i := range mostHistory + 10 {
		again.remember(fmt.Sprint(i))
	}
	if n := openHistory(file).Len(); n != mostHistory/2 {
		t.Errorf("%d lines are left", n)
	}
}
