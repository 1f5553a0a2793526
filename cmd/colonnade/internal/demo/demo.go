// Package demo loads tables into a server and walks through them, step by step.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/examples"
)

// Walk is a walk through the tables of a server.
type Walk struct {
	URL string
	// Verb runs a verb of the program, and returns what it prints, and whether its code was 0.
	Verb func(stdin io.Reader, words []string) (output string, ok bool)
	Out  io.Writer
	// Enter has the next line that was typed; nil goes on without.
	Enter io.Reader
}

// tables are those of the walk, in the order in which they are made.
var tables = []string{"webtable", metricsTable, flatTable}

// Load makes the tables of the walk, unless all of them are there. It refuses a server that has others without them: the
// walk changes rows and settings of webtable, which may be somebody's own.
func (w *Walk) Load(ctx context.Context) error {
	c, err := client.New(w.URL, client.Options{UserAgent: "colonnade"})
	if err != nil {
		return err
	}
	defer c.Close()
	there, err := c.Tables(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, t := range there {
		if slices.Contains(tables, t.Name) {
			found++
		}
	}
	switch {
	case found == len(tables):
		return nil
	case len(there) > 0:
		return fmt.Errorf("there are tables already, and not those of a demo (%s), which changes what is in them: name a directory of its own", strings.Join(tables, ", "))
	}
	output, ok := w.Verb(bytes.NewReader(examples.Webtable), []string{
		"import", "--table", "webtable", "--create-table", "--create-families", "--locality-group", "title,language", "--url", w.URL,
	})
	if !ok {
		return errors.New(strings.TrimSpace(output))
	}
	return loadMetrics(ctx, c)
}

// Run takes the steps, and reports whether it has taken all: it ends early when the context does, or when Enter has no
// more lines.
func (w *Walk) Run(ctx context.Context) (all bool, err error) {
	for i, s := range steps {
		fmt.Fprintf(w.Out, "\n%d of %d. %s\n\n%s\n", i+1, len(steps), s.title, indent(s.text))
		for _, a := range s.run {
			fmt.Fprintf(w.Out, "\n$ %s\n", w.line(a))
			output, err := w.do(ctx, a)
			if err != nil {
				return false, fmt.Errorf("step %q: %w", s.title, err)
			}
			fmt.Fprintf(w.Out, "%s\n", strings.TrimRight(output, "\n"))
		}
		if !w.Wait(ctx, "Enter goes on, Ctrl-C ends. ") {
			return false, nil
		}
	}
	return true, nil
}

// Wait asks for Enter, if somebody can press it. It returns false when the context ends before.
func (w *Walk) Wait(ctx context.Context, prompt string) bool {
	if w.Enter == nil {
		return ctx.Err() == nil
	}
	fmt.Fprintf(w.Out, "\n%s", prompt)
	pressed := make(chan bool, 1)
	go func() {
		pressed <- readLine(w.Enter) == nil
	}()
	select {
	case ok := <-pressed:
		return ok
	case <-ctx.Done():
		return false
	}
}

// readLine reads up to the end of a line, and nothing behind it.
func readLine(r io.Reader) error {
	for one := make([]byte, 1); one[0] != '\n'; {
		if _, err := r.Read(one); err != nil {
			return err
		}
	}
	return nil
}

// do runs an action and returns what came of it.
func (w *Walk) do(ctx context.Context, a action) (string, error) {
	if a.verb != nil {
		output, ok := w.Verb(nil, append(slices.Clone(a.verb), "--url", w.URL))
		if !ok {
			return "", fmt.Errorf("colonnade %s failed: %s", a.verb[0], output)
		}
		return output, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+a.post, strings.NewReader(a.body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return readable(body), err
}

// line returns an action as somebody types it.
func (w *Walk) line(a action) string {
	if a.verb == nil {
		return "curl -s " + w.URL + a.post + " -d '" + a.body + "'"
	}
	words := []string{"colonnade"}
	for _, word := range a.verb {
		if !plain.MatchString(word) {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	if w.URL != defaultURL {
		words = append(words, "--url", w.URL)
	}
	return strings.Join(words, " ")
}

// defaultURL is where commands look for a server.
const defaultURL = "http://127.0.0.1:9876"

// plain matches a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[-A-Za-z0-9_./:=]+$`)

// leaf matches an object or list without others in it, of several lines.
var leaf = regexp.MustCompile(`([\[{])\n([^\[\]{}]*)\n\s*([\]}])`)

// readable returns JSON with an object on each line, as far as there is room.
func readable(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return leaf.ReplaceAllStringFunc(b.String(), func(s string) string {
		joined := strings.Join(strings.Fields(s), " ")
		if len(joined) > 110 {
			return s
		}
		return joined
	})
}

// indented matches the beginning of a line that is not empty.
var indented = regexp.MustCompile(`(?m)^(.)`)

func indent(text string) string { return indented.ReplaceAllString(text, "  $1") }
