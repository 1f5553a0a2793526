package verbs

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a key as people read it and Unescape takes it: what is printable as it is, a backslash as \\, and
// other bytes as \xff.
func Escape(key string) string { return escape(key, true) }

// printable is Escape, but with backslashes as they are: for text that is only to be looked at.
func printable(text string) string { return escape(text, false) }

func escape(text string, backslash bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\\' && backslash:
			b.WriteString(`\\`)
		case r == utf8.RuneError && n == 1 || !unicode.IsPrint(r):
			for _, c := range []byte(text[i : i+n]) {
				b.WriteString(`\x` + hex.EncodeToString([]byte{c}))
			}
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Unescape returns the key that Escape has printed.
func Unescape(text string) (string, error) {
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, `\`)
		b.WriteString(before)
		if !found {
			break
		}
		switch {
		case strings.HasPrefix(after, `\`):
			b.WriteByte('\\')
			rest = after[1:]
		case strings.HasPrefix(after, "x") && len(after) >= 3:
			c, err := hex.DecodeString(after[1:3])
			if err != nil {
				return "", usagef(`%s: \x takes two hexadecimal digits`, text)
			}
			b.Write(c)
			rest = after[3:]
		default:
			return "", usagef(`%s: in a key \xff is a byte and \\ a backslash; nothing else begins with one`, text)
		}
	}
	return b.String(), nil
}

// column is a column as people write it: family:qualifier, with the escapes of keys.
type column struct{ family, qualifier string }

func parseColumn(text string) (column, error) {
	key, err := Unescape(text)
	if err != nil {
		return column{}, err
	}
	family, qualifier, found := strings.Cut(key, ":")
	if !found {
		return column{}, usagef("%s is no column: FAMILY:QUALIFIER, or FAMILY: for the one without a qualifier", text)
	}
	return column{family, qualifier}, nil
}

// columnKeys returns what client.Columns takes of columns and families as people write them.
func columnKeys(texts []string) (keys []string, err error) {
	for _, text := range texts {
		key, err := Unescape(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
