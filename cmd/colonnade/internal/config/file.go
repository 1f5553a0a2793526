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

// readFile returns what the file sets, by option. Without a file it is nothing.
func (s *Set) readFile() (map[string]*setting, error) {
	if s.path == "" && s.flags.Changed("config") { // as of an empty variable of a script
		return nil, errors.New("--config: must name a file")
	}
	if s.path == "" {
		return nil, nil
	}
	text, err := read(s.path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
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
func (s *Set) parseFile(text []byte) (map[string]*setting, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s is UTF-16: convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8", s.path)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, s.syntaxError(text, err)
	}
	settings := make(map[string]*setting)
	var all error
	for _, key := range keys(text) {
		set, err := s.takeKey(key, values[key.name])
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		settings[key.name] = set
	}
	return settings, all
}

// takeKey returns the setting of a key.
func (s *Set) takeKey(key key, value any) (*setting, error) {
	at := fmt.Sprintf("%s:%d", s.path, key.line)
	if key.table {
		return nil, fmt.Errorf("%s: [%s] begins a table, and options stand outside of tables", at, key.name)
	}
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
	value string
	line  int
	table bool // it is the heading of a table
}

// keys returns the keys of a valid file, up to the heading of the first table. The values come from the other
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
		}
		k.table = e.Kind != unstable.KeyValue
		all = append(all, k)
		if k.table {
			break
		}
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
