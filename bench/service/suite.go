package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"time"
)

// line is a line of the table: what one workload has shown, run by run.
type line struct {
	name        string
	connections int
	target      *target   // nil for none
	real, bare  []*sample // of each run
}

// target is what a line has to reach: a number of cells in a second, or a part of
// what the bare server does.
type target struct {
	row   int // of ../shared/performance.md
	cells float64
	ratio float64
}

// suite is everything that is measured, on two servers that run all the time.
type suite struct {
	settings
	data       *dataset
	operations operations
	real, bare *node
	lines      []*line
}

// patient is how long background work may go on before a measurement.
const patient = time.Minute

// measure starts the servers with their data below dir and measures everything.
func measure(ctx context.Context, set settings, dir string) ([]*line, error) {
	data, err := newDataset(set.rows)
	if err != nil {
		return nil, err
	}
	s := &suite{settings: set, data: data, operations: newOperations(data)}
	serve := func() (*node, error) {
		return start(exec.Command(set.server, "serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"))
	}
	if s.real, err = serve(); err != nil {
		return nil, err
	}
	defer func() { s.real.Kill() }()
	if err := s.fill(); err != nil {
		return nil, err
	}
	// A server that ends leaves everything in sorted files: that is what will be read.
	if err := s.real.Terminate(0); err != nil {
		return nil, err
	}
	again, err := serve()
	if err != nil {
		return nil, err
	}
	s.real = again
	cmd, err := bareCommand()
	if err != nil {
		return nil, err
	}
	if s.bare, err = start(cmd); err != nil {
		return nil, err
	}
	defer s.bare.Kill()
	for run := range set.runs {
		if err := s.round(ctx, run); err != nil {
			return nil, err
		}
	}
	return s.lines, s.real.Terminate(0)
}

// fill writes the table that is read.
func (s *suite) fill() error {
	c := newClient(s.real.address)
	defer c.close()
	return s.data.load(c, pages)
}

// round measures everything once: first what writes, to a table that is dropped
// again, then what reads.
func (s *suite) round(ctx context.Context, run int) error {
	c := newClient(s.real.address)
	defer c.close()
	o, at := &s.operations, 0
	try := func(name string, t *target, l load) error {
		if run == 0 {
			s.lines = append(s.lines, &line{name: name, connections: l.connections, target: t})
		}
		at++
		return s.compare(ctx, s.lines[at-1], l)
	}
	always := func(o *operation) func(*rand.Rand) *operation { return func(*rand.Rand) *operation { return o } }
	many := func(name string, t *target, pick func(*rand.Rand) *operation) error {
		for _, n := range []int{1, 8, 64} {
			reached := t
			if n < 64 {
				reached = nil
			}
			if err := try(name, reached, load{connections: n, pick: pick, time: s.time}); err != nil {
				return err
			}
		}
		return nil
	}
	steps := []func() error{
		func() error { return c.create(written) },
		func() error {
			return try("bulk write", &target{row: 15, cells: 1e6}, load{connections: 4, pick: always(o.bulk), requests: len(s.data.lines) / bulkRows})
		},
		func() error { return many("row write", &target{row: 17, ratio: 0.6}, always(o.write)) },
		func() error {
			return many("9 reads, 1 write", nil, func(rnd *rand.Rand) *operation {
				if rnd.IntN(10) == 0 {
					return o.write
				}
				return o.read
			})
		},
		func() error { return c.drop(written) },
		func() error { return many("row read", &target{row: 17, ratio: 0.8}, always(o.read)) },
		func() error { return many("100-row scan", nil, always(o.page)) },
		func() error {
			return try("full scan", &target{row: 16, cells: 8e6}, load{connections: 1, pick: always(o.scan), time: s.time})
		},
		func() error {
			return try("filtered count", &target{row: 16, cells: 50e6}, load{connections: 1, pick: always(o.count), time: s.time})
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// compare measures one line: the server, and then the bare one. What can be done over
// again is done for a moment first, unmeasured.
func (s *suite) compare(ctx context.Context, l *line, work load) error {
	for _, side := range []struct {
		n       *node
		samples *[]*sample
	}{{s.real, &l.real}, {s.bare, &l.bare}} {
		if work.requests == 0 {
			warm := work
			warm.time /= 5
			if _, err := drive(ctx, side.n, warm, side.n == s.bare); err != nil {
				return err
			}
		}
		if err := settle(s.real.PID(), patient); err != nil {
			return err
		}
		got, err := drive(ctx, side.n, work, side.n == s.bare)
		if err != nil {
			return err
		}
		if got.errors > 0 {
			return fmt.Errorf("%s with %d connections: %d errors, the first of them: %w", l.name, l.connections, got.errors, got.first)
		}
		*side.samples = append(*side.samples, got)
	}
	return nil
}
