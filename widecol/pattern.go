package widecol

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Patterns are regular expressions of RE2 over bytes. Package regexp works on UTF-8, so pattern and text
// are both read as Latin-1 first: each byte becomes the character with its number.

// maxPatterns bounds the steps of the patterns of a filter, and so the memory of their compiled form and
// the time that a byte of text can take. A pattern of 20 bytes can have thousands: (?:abcdefghij){1000}.
const maxPatterns = 40_000

// CompilePattern compiles a regular expression of a RowFilter. The result is for texts whose bytes were
// turned into characters, one for each byte, and matches a text only as a whole. In the pattern \C stands
// for any byte.
func CompilePattern(pattern []byte) (*regexp.Regexp, *Error) {
	text, _, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	re, failed := regexp.Compile(`\A(?:` + text + `)\z`)
	if failed != nil {
		return nil, invalidPattern(failed)
	}
	return re, nil
}

func invalidPattern(err error) *Error {
	return Errorf(Invalid, "invalid_regex", "the regular expression is not one of RE2: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}

// parsePattern returns a pattern in the syntax of package regexp, and how many steps it has.
func parsePattern(pattern []byte) (text string, steps int, err *Error) {
	text = latin1Pattern(pattern)
	re, failed := syntax.Parse(text, syntax.Perl)
	if failed != nil {
		return "", 0, invalidPattern(failed)
	}
	if steps = patternSteps(re); steps > maxPatterns {
		return "", 0, Errorf(Invalid, "invalid_regex", "the regular expression has more than %d steps, with repetitions counted as often as they can occur", maxPatterns)
	}
	return text, steps, nil
}

// latin1Pattern reads a pattern as Latin-1. It replaces what package regexp does not know, \C, and quoted
// text, whose end may be missing.
func latin1Pattern(pattern []byte) string {
	var b strings.Builder
	class := 0 // where the characters of a class start, 0 outside of one
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			switch next := pattern[i]; {
			case next == 'C' && class == 0:
				b.WriteString(`(?s:.)`)
			case next == 'Q' && class == 0:
				quoted := pattern[i+1:]
				if end := strings.Index(string(quoted), `\E`); end >= 0 {
					quoted = quoted[:end]
					i += len(`\E`)
				}
				b.WriteString(quotedLatin1(quoted))
				i += len(quoted)
			default:
				b.WriteByte('\\')
				b.WriteRune(rune(next))
			}
			continue
		case class == 0 && c == '[':
			class = i + 1
			if class < len(pattern) && pattern[class] == '^' {
				class++
			}
		case class > 0 && c == ']' && i > class:
			class = 0
		case class > 0 && c == '[' && i+1 < len(pattern) && pattern[i+1] == ':':
			if end := strings.Index(string(pattern[i+2:]), ":]"); end >= 0 {
				b.Write(pattern[i : i+2+end+1])
				i += 2 + end + 1
			}
		}
		b.WriteRune(rune(pattern[i]))
	}
	return b.String()
}

// quotedLatin1 quotes a text for a pattern, each byte as one character.
func quotedLatin1(text []byte) string {
	runes := make([]rune, len(text))
	for i, c := range text {
		runes[i] = rune(c)
	}
	return regexp.QuoteMeta(string(runes))
}

// patternSteps returns about how many instructions a pattern is compiled to. It stops to count when there
// are too many.
func patternSteps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += 1 + patternSteps(sub); n > maxPatterns {
			return maxPatterns + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Max, re.Min+1, 1)
	}
	return min(n, maxPatterns+1)
}
