package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds the file, in bytes: a larger one is some other file.
const maxFile = 1 << 20

// file is what a file sets.
type file struct {
	settings map[string]*setting // by option
	tables   map[*Table][]Entry
}

// readFile returns what the file sets. Without a file it is nothing.
func (s *Set) readFile() (set file, err error) {
	if s.path == "" && s.flags.Changed("config") { // as of an empty variable of a script
		return set, errors.New("--config: must name a file")
	}
	if s.path == "" {
		return set, nil
	}
	text, err := read(s.path)
	if err != nil {
		return set, fmt.Errorf("configuration: %w", err)
	}
	return s.parseFile(text)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, and must be a file", path)
	}
	if !info.Mode().IsRegular() { // a pipe could not be read again, or would block
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, err
}

// parseFile checks each key, and reports all mistakes together.
func (s *Set) parseFile(text []byte) (set file, err error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return set, fmt.Errorf("%s is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8", s.path)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		return set, s.syntaxError(text, err)
	}
	set = file{settings: make(map[string]*setting), tables: make(map[*Table][]Entry)}
	var all error
	var entry *Entry // the table that keys are of; nil before the first, and of a heading that is wrong
	below := false   // a heading
	for _, key := range keys(text) {
		var err error
		switch {
		case key.table:
			below = true
			if entry, err = s.begin(key); err == nil {
				set.tables[entry.table] = append(set.tables[entry.table], *entry)
			}
		case !below:
			var one *setting
			if one, err = s.takeKey(key, values[key.name]); err == nil {
				set.settings[key.name] = one
			}
		case entry != nil:
			err = entry.take(key, within(values, entry.path)[key.name], s.path)
		}
		all = errors.Join(all, err)
	}
	return set, all
}

// within returns the values of the table at a path, which is there.
func within(values map[string]any, path []string) map[string]any {
	for _, part := range path {
		values, _ = values[part].(map[string]any)
	}
	return values
}

// takeKey returns the setting of a key.
func (s *Set) takeKey(key key, value any) (*setting, error) {
	at := fmt.Sprintf("%s:%d", s.path, key.line)
	o := s.lookup(key.name)
	if o == nil {
		return nil, fmt.Errorf("%s: unknown key %q%s", at, key.name, didYouMean(key.name, s.names(), strings.Clone))
	}
	converted, ok := o.kind.convert(value)
	set := &setting{converted, at, fmt.Sprintf("%s: %s = %s", at, key.name, key.value)}
	if !ok {
		return nil, set.wrong("must be " + o.kind.rule() + o.kind.form())
	}
	return set, nil
}

// syntaxError says what is wrong with a file that is no TOML.
func (s *Set) syntaxError(text []byte, err error) error {
	var syntax *toml.DecodeError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	row, _ := syntax.Position()
	lines := strings.Split(string(text), "\n")
	why := strings.TrimPrefix(syntax.Error(), "toml: ")
	return fmt.Errorf("%s:%d: %s: %s", s.path, row, shorten(lines[min(row, len(lines))-1]), why)
}

// key is a key of a file, as it stands there.
type key struct {
	name  string // with dots between its parts
	parts []string
	value string
	line  int
	table bool // it is the heading of a table
	array bool // the same, of an array of tables
}

// keys returns the keys of a valid file, in its order. The values come from the other
// half of the library: this one alone knows the lines.
func keys(text []byte) (all []key) {
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		var k key
		for parts := e.Key(); parts.Next(); {
			part := parts.Node()
			if k.line == 0 {
				k.line = p.Shape(part.Raw).Start.Line
				k.value = valueOf(text[part.Raw.Offset:])
			} else {
				k.name += "."
			}
			k.name += string(part.Data)
			k.parts = append(k.parts, string(part.Data))
		}
		k.table, k.array = e.Kind != unstable.KeyValue, e.Kind == unstable.ArrayTable
		all = append(all, k)
	}
	return all
}

// valueOf returns what stands behind the key with which a text begins, up to the end of the line.
func valueOf(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	_, value, _ := bytes.Cut(line, []byte("="))
	return shorten(string(value))
}

// shorten returns a line for a message.
func shorten(line string) string {
	const most = 80
	line = strings.TrimSpace(line)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
