package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Everything between the markers is replaced.
const (
	beginMarker = "<!-- bench/service: begin -->\n"
	endMarker   = "<!-- bench/service: end -->\n"
)

// median returns the middle of what f says of each sample; of two, the lower.
func median(samples []*sample, f func(*sample) float64) float64 {
	all := make([]float64, len(samples))
	for i, s := range samples {
		all[i] = f(s)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

func (s *sample) requestRate() float64 { return float64(s.requests) / s.elapsed.Seconds() }

func (s *sample) cellRate() float64 { return float64(s.cells) / s.elapsed.Seconds() }

// quantile returns a function for median: the latency that so many percent do not exceed.
func quantile(percent float64) func(*sample) float64 {
	return func(s *sample) float64 { return float64(s.latency.ValueAtQuantile(percent)) }
}

// perRequest is a time as one of each request.
func (s *sample) perRequest(d time.Duration) float64 { return float64(d) / float64(max(s.requests, 1)) }

// ratios returns the rate of the server as a part of that of the bare one, of each
// run, in order of size.
func (l *line) ratios() []float64 {
	all := make([]float64, len(l.real))
	for i := range all {
		all[i] = l.real[i].requestRate() / l.bare[i].requestRate()
	}
	slices.Sort(all)
	return all
}

// besideRatios is the same as a part of the rate of the line beside it.
func (l *line) besideRatios() []float64 {
	all := make([]float64, len(l.real))
	for i := range all {
		all[i] = l.real[i].requestRate() / l.beside.real[i].requestRate()
	}
	slices.Sort(all)
	return all
}

// refused returns how many requests the server has refused, in all runs.
func (l *line) refused() (n int64) {
	for _, s := range l.real {
		n += s.refused
	}
	return n
}

// cpuRatio is the same by CPU time, that of the client included. It hardly moves
// with what else the machine does.
func (l *line) cpuRatio() float64 {
	both := func(s *sample) float64 { return s.perRequest(s.server + s.client) }
	return median(l.bare, both) / median(l.real, both)
}

// render returns the tables as text.
func render(s settings, lines []*line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`make bench-service ROWS=%d RUNS=%d`, each repeated for %v, medians. *Bare* is a `net/http` handler that reads the same body and answers as many\nbytes; *ratio* the server's requests/s as a part of its, with the range of the runs; *by cpu* the same\nby CPU time of server and client together, which hardly moves with what else the machine does; *refused* the requests\nthat found no turn (503), in all runs.\n\n", s.rows, s.runs, s.time)
	b.WriteString("| workload | connections | requests/s | cells/s | p50 | p99 | p99.9 | max | cpu/request: server, bare, client | bare requests/s | ratio | by cpu | refused | memory |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		ratios := l.ratios()
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s, %s, %s | %s | %.2f (%.2f to %.2f) | %.2f | %d | %.0f MiB |\n", l.name, l.connections,
			number(median(l.real, (*sample).requestRate)), number(median(l.real, (*sample).cellRate)),
			duration(median(l.real, quantile(50))), duration(median(l.real, quantile(99))),
			duration(median(l.real, quantile(99.9))), duration(median(l.real, quantile(100))),
			duration(median(l.real, func(s *sample) float64 { return s.perRequest(s.server) })),
			duration(median(l.bare, func(s *sample) float64 { return s.perRequest(s.server) })),
			duration(median(l.real, func(s *sample) float64 { return s.perRequest(s.client) })),
			number(median(l.bare, (*sample).requestRate)),
			ratios[(len(ratios)-1)/2], ratios[0], ratios[len(ratios)-1], l.cpuRatio(), l.refused(),
			median(l.real, func(s *sample) float64 { return float64(s.anonymous) / (1 << 20) }))
	}
	b.WriteString("\n| target | workload | wanted | found | |\n|---|---|---|---|---|\n")
	for _, l := range lines {
		if l.target != nil {
			wanted, found, met := l.verdict()
			fmt.Fprintf(&b, "| %d | %s, %d connections | %s | %s | %s |\n", l.target.row, l.name, l.connections, wanted, found, met)
		}
	}
	return b.String()
}

// verdict says what the target of a line is, what was found, and whether that is enough.
func (l *line) verdict() (wanted, found, met string) {
	ratios, of := l.ratios(), "bare"
	if l.beside != nil {
		ratios, of = l.besideRatios(), l.beside.name
	}
	want, got := l.target.ratio, ratios[(len(ratios)-1)/2]
	wanted, found = fmt.Sprintf("%.2f of %s", want, of), fmt.Sprintf("%.2f", got)
	if l.target.cells > 0 {
		want, got = l.target.cells, median(l.real, (*sample).cellRate)
		wanted, found = number(want)+" cells/s", number(got)
	}
	if got < want {
		return wanted, found, "not met"
	}
	return wanted, found, "met"
}

// number writes a number with two or three digits that matter.
func number(f float64) string {
	switch {
	case f >= 1e6:
		return fmt.Sprintf("%.3g M", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.1f k", f/1e3)
	}
	return fmt.Sprintf("%.3g", f)
}

// duration writes nanoseconds with three digits.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.2f s", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g µs", ns/1e3)
}

// insert puts text between the markers of a file.
func insert(name, text string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok1 := bytes.Cut(old, []byte(beginMarker))
	_, after, ok2 := bytes.Cut(rest, []byte(endMarker))
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q to put the tables between", name, strings.TrimSpace(beginMarker), strings.TrimSpace(endMarker))
	}
	return os.WriteFile(name, slices.Concat(before, []byte(beginMarker), []byte(text), []byte(endMarker), after), 0o644)
}
