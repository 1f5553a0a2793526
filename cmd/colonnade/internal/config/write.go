package config

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTOML writes the values in force as a file that gives them again, with a comment for each. A default that
// follows from something else is commented out: as a value it would no longer follow.
func (s *Set) WriteTOML(w io.Writer) error {
	fmt.Fprintf(w, "# Options of colonnade serve. Behind each value: where it comes from; what it may be; whether a\n# change of it in the file of --config takes a reload (SIGHUP) or a restart.\n")
	section := ""
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range s.options {
		if o.section != section {
			section = o.section
			fmt.Fprintf(t, "\n# %s\n", section)
		}
		mark := ""
		if o.isDerived() {
			mark = "# "
		}
		fmt.Fprintf(t, "%s%s = %s\t# %s\n", mark, o.Name, o.kind.toml(o.now.value), o.comment())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, t := range s.tables {
		fmt.Fprintf(w, "\n# %s: %s\n", t.heading(t.key), t.help)
		for _, f := range t.fields {
			fmt.Fprintf(w, "#   %s: %s; %s\n", f.Name, f.Help, f.limits())
		}
		if _, err := io.WriteString(w, t.toml(t.now, true)); err != nil {
			return err
		}
	}
	return nil
}

// comment returns all but the value of an option.
func (o *Option) comment() string {
	parts := []string{"from " + o.now.from}
	switch {
	case o.isDerived():
		parts[0] = "default, " + o.rule
	case o.now.from == fromDefault:
		parts[0] = fromDefault
	}
	if limits := o.kind.limits(); limits != "" {
		parts = append(parts, limits)
	}
	return strings.Join(append(parts, o.taken()), "; ")
}

// taken says when a change of the option takes effect.
func (o *Option) taken() string {
	if o.reloads {
		return "reload"
	}
	return "restart"
}

// WriteMarkdown writes the documentation of the options: a table for each section.
func (s *Set) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	section := ""
	for _, o := range s.options {
		if o.section != section {
			section = o.section
			fmt.Fprintf(&b, "\n## %s\n\n| option | default | range | change takes | |\n|---|---|---|---|---|\n", section)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", o.Name, o.markdownDefault(), o.kind.limits(), o.taken(), o.help)
	}
	for _, t := range s.tables {
		fmt.Fprintf(&b, "\n## `%s`\n\nTables of the file, behind all other options: %s. A reload takes them.\n\n| key | default | range | |\n|---|---|---|---|\n", t.heading(t.key), t.help)
		for _, f := range t.fields {
			fmt.Fprintf(&b, "| `%s` | none | %s | %s |\n", f.Name, f.limits(), f.Help)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Option) markdownDefault() string {
	text := o.defaultText()
	if text == "" || o.derive != nil {
		return text
	}
	return "`" + text + "`"
}
