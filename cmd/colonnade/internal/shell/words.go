package shell

import "strings"

// word is a word of a line, and where it begins.
type word struct {
	text  string
	start int
}

// split divides a line into words. Blanks stand between words, and a comma behind a quote, as the HBase shell has it.
// Quotes, ' or ", hold words together; within them a backslash before the same quote makes it a part of the word. All
// other backslashes stay: keys have escapes of their own. A # begins a comment. open is true if a quote does not end.
func split(line string) (words []word, open bool) {
	var w *word
	begin := func(i int) {
		if w == nil {
			words = append(words, word{start: i})
			w = &words[len(words)-1]
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			w = nil
		case c == '#' && w == nil:
			end := strings.IndexByte(line[i:], '\n')
			if end < 0 {
				return words, false
			}
			i += end
		case c == ',' && i > 0 && (line[i-1] == '\'' || line[i-1] == '"'):
			w = nil
		case c == '\'' || c == '"':
			begin(i)
			var ended bool
			if i, ended = quoted(line, i, w); !ended {
				return words, true
			}
		default:
			begin(i)
			w.text += string(c)
		}
	}
	return words, false
}

// quoted adds what a quote at i holds to a word, and returns where it ends.
func quoted(line string, i int, w *word) (end int, ended bool) {
	quote := line[i]
	for i++; i < len(line); i++ {
		switch {
		case line[i] == quote:
			return i, true
		case line[i] == '\\' && i+1 < len(line):
			if line[i+1] != quote {
				w.text += `\`
			}
			i++
			w.text += line[i : i+1]
		default:
			w.text += line[i : i+1]
		}
	}
	return i, false
}

// quote returns a word as split takes it.
func quote(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n\r'\"#,") {
		return text
	}
	if !strings.Contains(text, "'") {
		return "'" + text + "'"
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
}

// unfinished reports whether a text goes on on the next line: a quote is open, or it ends with a backslash behind a
// blank. It returns the text without that backslash.
func unfinished(text string) (string, bool) {
	if rest, ok := strings.CutSuffix(text, `\`); ok && (rest == "" || strings.HasSuffix(rest, " ")) {
		return rest, true
	}
	_, open := split(text)
	return text + "\n", open
}
