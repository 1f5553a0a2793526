package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// contest is a line of the comparison: a workload, and what each server has shown in
// each round.
type contest struct {
	workload
	connections         int
	before, after, bare []*sample
}

// duel is two programs of the server and the bare one, that take turns: for each line, in
// each round, one after the other, in every second round the other way round. What one
// still does in the background after its turn falls into those of the others.
type duel struct {
	settings
	operations          operations
	before, after, bare *node
	lines               []*contest
}

// turnsTime returns how long all turns take: three for each of the lines, with a fifth
// more that is not measured.
func (s *settings) turnsTime() time.Duration {
	var o operations
	lines := len(connections) * (len(o.writing()) + len(o.reading()))
	return time.Duration(3*lines*s.runs) * (s.time + s.time/5)
}

// compare starts the servers, with data of their own below dir, and has them take turns.
func compare(ctx context.Context, set settings, dir string) ([]*contest, error) {
	data, err := newDataset(set.rows)
	if err != nil {
		return nil, err
	}
	d := &duel{settings: set, operations: newOperations(data)}
	if d.before, err = startFilled(set.before, filepath.Join(dir, "before"), data); err != nil {
		return nil, err
	}
	defer d.before.Kill()
	if d.after, err = startFilled(set.server, filepath.Join(dir, "after"), data); err != nil {
		return nil, err
	}
	defer d.after.Kill()
	if d.bare, err = startBare(); err != nil {
		return nil, err
	}
	defer d.bare.Kill()
	for round := range set.runs {
		if err := d.round(ctx, round); err != nil {
			return nil, err
		}
	}
	return d.lines, errors.Join(d.before.Terminate(0), d.after.Terminate(0))
}

// round is one turn of each at every line: first what writes, to tables that are dropped
// again, then what reads.
func (d *duel) round(ctx context.Context, round int) error {
	at := 0
	lines := func(list []workload) error {
		for _, w := range list {
			for _, n := range connections {
				if round == 0 {
					d.lines = append(d.lines, &contest{workload: w, connections: n})
				}
				at++
				if err := d.turns(ctx, d.lines[at-1], round%2 == 1); err != nil {
					return fmt.Errorf("%s with %d connections: %w", w.name, n, err)
				}
			}
		}
		return nil
	}
	if err := d.each(func(c *client) error { return c.create(written) }); err != nil {
		return err
	}
	if err := lines(d.operations.writing()); err != nil {
		return err
	}
	if err := d.each(func(c *client) error { return c.drop(written) }); err != nil {
		return err
	}
	if err := errors.Join(settle(d.before.PID(), patient), settle(d.after.PID(), patient)); err != nil {
		return err
	}
	return lines(d.operations.reading())
}

// each has a client of each of the two programs do something.
func (d *duel) each(do func(*client) error) error {
	for _, n := range []*node{d.before, d.after} {
		c := newClient(n.address)
		err := do(c)
		c.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// turns has each take its turn at a line.
func (d *duel) turns(ctx context.Context, l *contest, backwards bool) error {
	turns := []turn{{d.before, false, &l.before}, {d.after, false, &l.after}, {d.bare, true, &l.bare}}
	if backwards {
		slices.Reverse(turns)
	}
	for _, t := range turns {
		if err := t.take(ctx, load{connections: l.connections, pick: l.pick, time: d.time}); err != nil {
			return err
		}
	}
	return nil
}

// turn is that of one server at one line.
type turn struct {
	n       *node
	bare    bool
	samples *[]*sample
}

// take makes the requests, a few unmeasured ones first.
func (t turn) take(ctx context.Context, work load) error {
	if err := t.warm(ctx, work); err != nil {
		return err
	}
	return t.measure(ctx, work)
}

// warm makes some of the requests, unmeasured, of those that can be made over again.
func (t turn) warm(ctx context.Context, work load) error {
	if work.requests > 0 {
		return nil
	}
	work.time /= 5
	_, err := drive(ctx, t.n, work, t.bare)
	return err
}

// measure makes the requests.
func (t turn) measure(ctx context.Context, work load) error {
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

// sides returns what each of the two programs has shown beside the bare server.
func (l *contest) sides() []*line {
	return []*line{{real: l.before, bare: l.bare}, {real: l.after, bare: l.bare}}
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
	fmt.Fprintf(&b, "`service -before OLD -rows %d -runs %d -time %v`: each program is asked for that time in turn. Rates are means of the rounds,\nthe rest medians; *of bare* the rates as a part of the bare server's in the same round, with the range of half of the rounds; *by\ncpu* the same by CPU time of server and client together; *refused* the requests that found no turn (503), in all\nrounds.\n\n", set.rows, set.runs, set.time)
	b.WriteString("| workload | connections | requests/s: before | after | bare | of bare: before | after | by cpu: before | after | p99: before | after | p99.9: before | after | refused: before | after |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |", l.name, l.connections, number(meanRate(l.before)), number(meanRate(l.after)), number(meanRate(l.bare)))
		sides := l.sides()
		for _, side := range sides {
			r := side.ratios()
			fmt.Fprintf(&b, " %.2f (%.2f to %.2f) |", r[(len(r)-1)/2], r[len(r)/4], r[len(r)-1-len(r)/4])
		}
		for _, side := range sides {
			fmt.Fprintf(&b, " %.2f |", side.cpuRatio())
		}
		for _, percent := range []float64{99, 99.9} {
			for _, side := range sides {
				fmt.Fprintf(&b, " %s |", duration(median(side.real, quantile(percent))))
			}
		}
		for _, side := range sides {
			fmt.Fprintf(&b, " %d |", side.refused())
		}
		b.WriteString("\n")
	}
	return b.String()
}
