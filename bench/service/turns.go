package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// contest is a line of the comparison: a workload, and what each server has shown in
// each round.
type contest struct {
	workload
	connections         int
	before, after, bare []*sample
}

// compare starts two programs of the server and the bare one, each with data of its own
// below dir, and has them take turns: for each line, in each round, one after the other, in
// every second round the other way round.
func compare(ctx context.Context, set settings, dir string) ([]*contest, error) {
	data, err := newDataset(set.rows)
	if err != nil {
		return nil, err
	}
	o := newOperations(data)
	before, err := startFilled(set.before, filepath.Join(dir, "before"), data)
	if err != nil {
		return nil, err
	}
	defer before.Kill()
	after, err := startFilled(set.server, filepath.Join(dir, "after"), data)
	if err != nil {
		return nil, err
	}
	defer after.Kill()
	bare, err := startBare()
	if err != nil {
		return nil, err
	}
	defer bare.Kill()
	for _, n := range []*node{before, after} {
		c := newClient(n.address)
		err := c.create(written)
		c.close()
		if err != nil {
			return nil, err
		}
	}
	var lines []*contest
	for _, w := range slices.Concat(o.writing(), o.reading()) {
		for _, n := range connections {
			lines = append(lines, &contest{workload: w, connections: n})
		}
	}
	for round := range set.runs {
		for _, l := range lines {
			turns := []turn{{before, false, &l.before}, {after, false, &l.after}, {bare, true, &l.bare}}
			if round%2 == 1 {
				slices.Reverse(turns)
			}
			for _, t := range turns {
				if err := t.take(ctx, load{connections: l.connections, pick: l.pick, time: set.time}); err != nil {
					return nil, fmt.Errorf("%s with %d connections: %w", l.name, l.connections, err)
				}
			}
		}
	}
	for _, n := range []*node{before, after} {
		if err := n.Terminate(0); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// turn is that of one server at one line.
type turn struct {
	n       *node
	bare    bool
	samples *[]*sample
}

// take makes the requests, a few unmeasured ones first.
func (t turn) take(ctx context.Context, work load) error {
	warm := work
	warm.time /= 5
	if _, err := drive(ctx, t.n, warm, t.bare); err != nil {
		return err
	}
	got, err := drive(ctx, t.n, work, t.bare)
	if err != nil {
		return err
	}
	if got.errors > 0 {
		return fmt.Errorf("%d errors, the first of them: %w", got.errors, got.first)
	}
	*t.samples = append(*t.samples, got)
	return nil
}

// ofBare returns the rates as parts of those of the bare server in the same rounds, in
// order of size.
func (l *contest) ofBare(samples []*sample) []float64 {
	return (&line{real: samples, bare: l.bare}).ratios()
}

// meanRate returns the requests in a second of all rounds.
func meanRate(samples []*sample) (mean float64) {
	for _, s := range samples {
		mean += s.requestRate() / float64(len(samples))
	}
	return mean
}

// renderTurns returns the table as text.
func renderTurns(set settings, lines []*contest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`service -before OLD -rows %d -runs %d -time %v`: each program is asked for that time in turn. Rates are means of the rounds,\nthe rest medians; *of bare* the rates as a part of the bare server's in the same round, with the range of half of the rounds; *by\ncpu* the same by processor time of server and client together.\n\n", set.rows, set.runs, set.time)
	b.WriteString("| workload | connections | requests/s: before | after | bare | of bare: before | after | by cpu: before | after | p99: before | after | p99.9: before | after |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |", l.name, l.connections, number(meanRate(l.before)), number(meanRate(l.after)), number(meanRate(l.bare)))
		sides := [][]*sample{l.before, l.after}
		for _, side := range sides {
			r := l.ofBare(side)
			fmt.Fprintf(&b, " %.2f (%.2f to %.2f) |", r[(len(r)-1)/2], r[len(r)/4], r[(len(r)-1)*3/4])
		}
		for _, side := range sides {
			fmt.Fprintf(&b, " %.2f |", (&line{real: side, bare: l.bare}).cpuRatio())
		}
		for _, percent := range []float64{99, 99.9} {
			for _, side := range sides {
				fmt.Fprintf(&b, " %s |", duration(median(side, quantile(percent))))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
