package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// report is the result of a run.
type report struct {
	o        options
	raw      int64  // bytes of the rows
	machine  string // as text
	others   float64
	results  results
	failures []error
}

// markdown returns the report as text.
func (r *report) markdown() string {
	var b strings.Builder
	r.head(&b)
	r.targets(&b)
	for _, t := range r.o.tables {
		r.table(&b, t)
	}
	return b.String()
}

func (r *report) head(b *strings.Builder) {
	fmt.Fprintf(b, "%s rows of ten cells, %.0f MB raw, %s; repeated operations for %v each. ",
		thousands(r.o.rows), float64(r.raw)/1e6, plural(r.o.runs, "run"), r.o.each)
	if r.o.runs > 1 {
		fmt.Fprint(b, "Medians; ± is by how much a run deviates from it at most. ")
	}
	fmt.Fprint(b, r.machine)
	if r.others > 0.02 {
		fmt.Fprintf(b, ", **on a machine that did other things**: %.0f %% of its CPUs went to other processes meanwhile", r.others*100)
	}
	fmt.Fprint(b, ".")
	if r.o.rows < 1_000_000 {
		fmt.Fprint(b, " Memtables, the small cache and the sizes of files and levels are to scale with a million rows, as far as an engine lets them.")
	}
	fmt.Fprint(b, "\n\n")
	for _, e := range r.o.engines {
		fmt.Fprintf(b, "- **%s**: %s\n", e.Name, e.About)
	}
	for _, err := range r.failures {
		fmt.Fprintf(b, "\n**Failed**: %s\n", err)
	}
}

func (r *report) targets(b *strings.Builder) {
	fmt.Fprint(b, "\n### Targets\n\nThe ratio by CPU time is of what the best of the same engines uses for one operation to what this one uses.\n\n"+
		"| # | figure | colonnade | compared with | ratio | by CPU time | target | met |\n|---|---|---|---|---|---|---|---|\n")
	for _, t := range targetList {
		v := r.results.judge(t)
		if !v.known {
			continue
		}
		against := format(v.theirs, v.what.Unit)
		if v.rival != "" {
			against = v.rival + " " + against
		}
		number := strconv.Itoa(v.number)
		if v.number == 0 {
			number = "–"
		}
		met := "yes"
		if !v.met() {
			met = "**no**"
		}
		fmt.Fprintf(b, "| %s | %s: %s | %s | %s | %s | %s | %s | %s |\n", number, v.title, v.what.What,
			format(v.ours, v.what.Unit), against, v.ratio(), v.work, v.wanted(), met)
	}
}

func (r *report) table(b *strings.Builder, t *Table) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n|  |", t.Title, t.About)
	var shown []*Engine
	for _, e := range r.o.engines {
		if !e.Ceiling || t.Ceilings {
			shown = append(shown, e)
			fmt.Fprintf(b, " %s |", e.Name)
		}
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(shown)))
	for _, f := range t.Figures {
		fmt.Fprintf(b, "| %s |", f.What)
		for _, e := range shown {
			value, spread, ok := r.results.median(t.Name, e.Name, f.Name)
			switch {
			case !ok:
				fmt.Fprint(b, " |")
			case r.o.runs > 1:
				fmt.Fprintf(b, " %s ±%.0f %% |", format(value, f.Unit), spread*100)
			default:
				fmt.Fprintf(b, " %s |", format(value, f.Unit))
			}
		}
		fmt.Fprint(b, "\n")
	}
	for _, p := range plotted {
		if p.table == t.Name {
			fmt.Fprintf(b, "\n![%s](%s/%s.svg)\n", p.title, plotsDir, p.file)
		}
	}
}

// format returns a figure with three digits and its unit.
func format(x float64, u unit) string {
	switch u {
	case perSecond:
		return scale(x, "", " k", " M")
	case millis:
		return scale(x*1e3, " µs", " ms", " s")
	case micros:
		return scale(x*1e3, " ns", " µs", " ms")
	case mega:
		return significant(x) + " MB"
	default:
		return significant(x)
	}
}

// scale returns x in the unit in which it is below 1,000.
func scale(x float64, units ...string) string {
	for len(units) > 1 && x >= 999.5 {
		x /= 1000
		units = units[1:]
	}
	return significant(x) + units[0]
}

// significant returns x with three digits.
func significant(x float64) string {
	switch {
	case x >= 99.95:
		return thousands(int(x + 0.5))
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// The marks in the document around the report.
const (
	beginMark = "<!-- bench/peers: begin -->\n"
	endMark   = "<!-- bench/peers: end -->\n"
)

// insert replaces the report in the document.
func insert(name, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(old, []byte(beginMark))
	_, after, ok2 := bytes.Cut(rest, []byte(endMark))
	if !ok || !ok2 {
		return fmt.Errorf("%s does not have the lines %q and %q, between which the report goes", name, strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	new := bytes.Join([][]byte{before, []byte(beginMark), []byte("\n" + text + "\n"), []byte(endMark), after}, nil)
	return os.WriteFile(name, new, 0o644)
}
