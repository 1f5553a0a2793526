package config

import (
	"fmt"
	"slices"
	"strings"
)

// Table is a declared kind of tables of the file, such as [quota.table."web*"]: any number of them, each with a key and
// whole numbers. They have neither flags nor variables, and a reload takes them.
type Table struct {
	name   string // before the last dot, such as quota.table
	key    string // what stands behind it, such as PATTERN
	help   string
	fields []Field
	store  func([]Entry)
	check  func(key string) error

	now []Entry // in force, in the order of the file
}

// Field is a number of a Table.
type Field struct {
	Name string
	Range
	Help string
}

// Entry is one table of the file.
type Entry struct {
	Key    string
	Values map[string]int64 // by the names of fields; those that are not there are left out

	table *Table
	path  []string // in the file
	from  string   // FILE:LINE
}

// Table declares a kind of tables. check says what is wrong with a key.
func (s *Set) Table(p *[]Entry, name, key, help string, check func(key string) error, fields ...Field) {
	s.tables = append(s.tables, &Table{name: name, key: key, help: help, fields: fields, check: check, store: func(e []Entry) { *p = e }})
}

// heading returns how the table of a key begins.
func (t *Table) heading(key string) string { return "[" + t.name + "." + key + "]" }

func (t *Table) field(name string) *Field {
	for i := range t.fields {
		if t.fields[i].Name == name {
			return &t.fields[i]
		}
	}
	return nil
}

func (t *Table) names() []string {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.Name
	}
	return names
}

// tableOf returns the declared table of a heading, nil if there is none.
func (s *Set) tableOf(path []string) *Table {
	for _, t := range s.tables {
		if n := len(path) - 1; n > 0 && strings.Join(path[:n], ".") == t.name {
			return t
		}
	}
	return nil
}

// begin takes the heading of a table.
func (s *Set) begin(k key) (*Entry, error) {
	at := fmt.Sprintf("%s:%d", s.path, k.line)
	t := s.tableOf(k.parts)
	if t == nil || k.array {
		return nil, fmt.Errorf("%s: [%s] begins a table, and options stand outside of tables%s", at, k.name, s.headings())
	}
	key := k.parts[len(k.parts)-1]
	if err := t.check(key); err != nil {
		return nil, fmt.Errorf("%s: [%s]: %w", at, k.name, err)
	}
	return &Entry{Key: key, Values: map[string]int64{}, table: t, path: k.parts, from: at}, nil
}

// headings returns what a message says of the tables that there may be.
func (s *Set) headings() (text string) {
	for i, t := range s.tables {
		text += []string{", but for ", " and "}[min(i, 1)] + t.heading(t.key)
	}
	return text
}

// take takes a key of a table.
func (e *Entry) take(k key, value any, file string) error {
	t := e.table
	at := fmt.Sprintf("%s:%d", file, k.line)
	f := t.field(k.name)
	if f == nil {
		return fmt.Errorf("%s: unknown key %q in %s%s", at, k.name, t.heading(quote(e.Key)), didYouMean(k.name, t.names(), strings.Clone))
	}
	n, ok := f.convert(value)
	if !ok {
		return fmt.Errorf("%s: %s = %s: must be %s", at, k.name, k.value, f.rule())
	}
	e.Values[k.name] = n.(int64)
	return nil
}

// toml returns tables as they stand in a file.
func (t *Table) toml(entries []Entry, sources bool) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(t.heading(quote(e.Key)))
		if sources {
			b.WriteString("  # from " + e.from + "; reload")
		}
		b.WriteByte('\n')
		for _, f := range t.fields {
			if n, ok := e.Values[f.Name]; ok {
				fmt.Fprintf(&b, "%s = %d", f.Name, n)
				if sources {
					b.WriteString("  # " + f.limits())
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// apply stores the tables of the file, and returns the change if there is one.
func (t *Table) apply(entries []Entry) (Change, bool) {
	from, to := t.toml(t.now, false), t.toml(entries, false)
	t.now = entries
	t.store(slices.Clone(entries))
	return Change{t.heading(t.key), oneLine(from), oneLine(to), true}, from != to
}

func oneLine(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\n", " ")) }
