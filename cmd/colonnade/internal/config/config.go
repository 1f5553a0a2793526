// Package config declares the options of a command once, and finds their values.
//
// An option has one name: --max-scans on the command line, COLONNADE_MAX_SCANS in the environment, max-scans in the
// file that --config names. The flag wins over the environment, that over the file, that over the default. All
// that is known of an option is declared with it, so the help, the file that WriteTOML prints and the page
// that WriteMarkdown prints cannot differ from what Load accepts.
package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Prefix begins the names of environment variables.
const Prefix = "COLONNADE_"

const fileVariable = Prefix + "CONFIG"

// Set is the options of a command: declare them, let the flags be parsed, then Load. It is for one goroutine.
//
// Load stores the values in the variables that were given at the declarations. Reload changes only variables of
// options that declared Reloads, so those are read in the goroutine of Reload alone, and all others by anyone.
type Set struct {
	flags   *pflag.FlagSet
	options []*Option
	tables  []*Table
	section string
	path    string // of the file, "" for none
	checks  []func() error
	hooks   []func()
}

// New returns a Set without options. It declares the flag --config.
func New(flags *pflag.FlagSet) *Set {
	flags.SortFlags = false
	s := &Set{flags: flags}
	flags.StringVar(&s.path, "config", "", "TOML file of further options; also "+fileVariable)
	return s
}

// Path returns the name of the file, "" for none.
func (s *Set) Path() string { return s.path }

// Section gives the options declared from here on a heading.
func (s *Set) Section(heading string) { s.section = heading }

// String declares a text. It may be empty if its default is.
func (s *Set) String(p *string, name, value, help string) *Option {
	return declare(s, p, name, value, text{filled: value != ""}, help)
}

// Choice declares one of some words.
func (s *Set) Choice(p *string, name, value string, words []string, help string) *Option {
	return declare(s, p, name, value, choice(words), help)
}

// Strings declares a list of texts, empty by default: a flag that may be repeated, a variable with commas.
func (s *Set) Strings(p *[]string, name, help string) *Option {
	return declare(s, p, name, nil, texts{}, help)
}

// Bool declares a switch that is off by default.
func (s *Set) Bool(p *bool, name, help string) *Option {
	o := declare(s, p, name, false, boolean{}, help)
	s.flags.Lookup(name).NoOptDefVal = "true"
	return o
}

// Range is what an Int64 may be. Unit is a plural, such as "MiB" or "connections".
type Range struct {
	Min, Max int64
	Unit     string
}

// Int64 declares a whole number.
func (s *Set) Int64(p *int64, name string, value int64, in Range, help string) *Option {
	return declare(s, p, name, value, in, help)
}

// Derived declares a whole number whose default follows from the machine, or from options declared before.
// rule says how.
func (s *Set) Derived(p *int64, name, rule string, value func() int64, in Range, help string) *Option {
	o := declare(s, p, name, 0, in, help)
	o.rule, o.derive = rule, func() any { return value() }
	s.flags.Lookup(name).DefValue = rule
	return o
}

// Fraction declares a number from 0 to 1.
func (s *Set) Fraction(p *float64, name string, value float64, help string) *Option {
	return declare(s, p, name, value, fraction{}, help)
}

// Span is what a Duration may be.
type Span struct{ Min, Max time.Duration }

// Duration declares a duration.
func (s *Set) Duration(p *time.Duration, name string, value time.Duration, in Span, help string) *Option {
	return declare(s, p, name, value, in, help)
}

// Check adds a check of options that depend on each other. Load and Reload fail with its error. It may use Wrong.
func (s *Set) Check(check func() error) { s.checks = append(s.checks, check) }

// Wrong returns an error that says where the value of an option came from.
func (s *Set) Wrong(name, format string, args ...any) error {
	return s.lookup(name).now.wrong(fmt.Sprintf(format, args...))
}

// Load finds the values. environ is as from os.Environ. The error has a line for each mistake. Warnings are
// about variables that look like options: they are no errors, because Kubernetes sets such variables in each
// container beside a service called colonnade.
func (s *Set) Load(environ []string) (warnings []string, err error) {
	warnings, err = s.readEnvironment(environ)
	file, fileErr := s.readFile()
	if err := errors.Join(err, fileErr); err != nil {
		return nil, err
	}
	for _, t := range s.tables {
		t.apply(file.tables[t])
	}
	for _, o := range s.options {
		o.inFile = file.settings[o.Name]
		o.now = o.explicit()
		o.store(o.now.value)
	}
	for _, o := range s.options {
		o.follow()
	}
	return warnings, s.check()
}

func (s *Set) check() error {
	var all error
	for _, check := range s.checks {
		all = errors.Join(all, check())
	}
	return all
}

func (s *Set) lookup(name string) *Option {
	for _, o := range s.options {
		if o.Name == name {
			return o
		}
	}
	return nil
}

func (s *Set) names() []string {
	names := make([]string, len(s.options))
	for i, o := range s.options {
		names[i] = o.Name
	}
	return names
}

// readEnvironment takes the values of variables. An empty variable is as none.
func (s *Set) readEnvironment(environ []string) (warnings []string, err error) {
	for _, entry := range environ {
		variable, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, Prefix) || text == "" {
			continue
		}
		if variable == fileVariable {
			if !s.flags.Changed("config") {
				s.path = text
			}
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, Prefix)), "_", "-")
		o := s.lookup(name)
		if o == nil || o.variable() != variable {
			warnings = append(warnings, fmt.Sprintf("the environment variable %s is no option%s", variable, didYouMean(name, s.names(), variableOf)))
			continue
		}
		value, ok := o.kind.parse(text)
		o.inEnvironment = &setting{value, variable, variable + "=" + text}
		if !ok {
			err = errors.Join(err, o.inEnvironment.wrong("must be "+o.kind.rule()))
		}
	}
	return warnings, err
}
