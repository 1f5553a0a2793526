package config

import (
	"fmt"
	"strings"
)

// Option is a declared option.
type Option struct {
	Name string
	help string

	kind    kind
	section string
	rule    string     // of a derived default, in words
	derive  func() any // nil if the default is a constant
	initial any        // the constant
	reloads bool
	store   func(any)

	// The sources that name a value, nil for those that do not.
	inFlags, inEnvironment, inFile *setting

	now setting // in force
}

// setting is a value and where it came from.
type setting struct {
	value any
	from  string // "default", "--data", "COLONNADE_DATA" or "FILE:LINE"
	text  string // the same with the value, as it was written
}

func (s *setting) wrong(why string) error { return fmt.Errorf("%s: %s", s.text, why) }

const fromDefault = "default"

// declare adds an option. T is what its kind's values are.
func declare[T any](s *Set, p *T, name string, value T, k kind, help string) *Option {
	*p = value
	o := &Option{Name: name, help: help, kind: k, section: s.section, initial: value, store: func(v any) { *p = v.(T) }}
	s.options = append(s.options, o)
	usage := help
	if limits := k.limits(); limits != "" {
		usage += " (" + limits + ")"
	}
	s.flags.VarPF(&flag{option: o}, name, "", usage)
	return o
}

// Reloads says that the option can be changed while the program runs. Whoever uses it asks Set.OnReload to be told.
func (o *Option) Reloads() *Option {
	o.reloads = true
	return o
}

// variable returns the name of the option in the environment.
func (o *Option) variable() string { return variableOf(o.Name) }

func variableOf(name string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// explicit returns the value of the source that wins. That of a derived default is open.
func (o *Option) explicit() setting {
	for _, s := range []*setting{o.inFlags, o.inEnvironment, o.inFile} {
		if s != nil {
			return *s
		}
	}
	return setting{o.initial, fromDefault, o.Name}
}

// follow sets a derived default.
func (o *Option) follow() {
	if o.derive != nil && o.now.from == fromDefault {
		o.now.value = o.derive()
		o.store(o.now.value)
	}
}

// isDerived reports whether the value in force follows from something else.
func (o *Option) isDerived() bool { return o.derive != nil && o.now.from == fromDefault }

// defaultText returns the default as the documentation shows it.
func (o *Option) defaultText() string {
	if o.derive != nil {
		return o.rule
	}
	return o.kind.show(o.initial)
}

// flag is an option as pflag sees it.
type flag struct{ option *Option }

func (f *flag) Type() string { return f.option.kind.name() }

// String returns the default, for the help.
func (f *flag) String() string {
	if f.option == nil || f.option.derive != nil { // pflag makes a zero one
		return ""
	}
	return f.option.kind.show(f.option.initial)
}

// Set takes one occurrence of the flag.
func (f *flag) Set(word string) error {
	o := f.option
	value, ok := o.kind.parseFlag(word, o.inFlags)
	if !ok {
		return fmt.Errorf("must be %s", o.kind.rule())
	}
	o.inFlags = &setting{value, "--" + o.Name, "--" + o.Name + " " + word}
	return nil
}
