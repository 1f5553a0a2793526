package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// line is a line of the table: what one workload has shown, run by run.
type line struct {
	name        string
	connections int
	target      *target   // nil for none
	real, bare  []*sample // of each run
	beside      *line     // whose rate target.ratio is about, nil for that of the bare server
}

// target is what a line has to reach: a number of cells in a second, or a part of
// what the bare server does, or of another workload with as many connections.
type target struct {
	row    int // of docs/performance.md
	cells  float64
	ratio  float64
	beside string // the name of the other workload, if any
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
	if s.real, err = startFilled(set.server, filepath.Join(dir, "data"), data); err != nil {
		return nil, err
	}
	defer s.real.Kill()
	if s.bare, err = startBare(); err != nil {
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

// startFilled starts a server with the table that is read, all of which is in sorted
// files.
func startFilled(program, dir string, data *dataset) (*node, error) {
	serve := func() (*node, error) {
		return start(exec.Command(program, "serve", "--data", dir, "--listen", "127.0.0.1:0"))
	}
	n, err := serve()
	if err != nil {
		return nil, err
	}
	defer n.Kill()
	c := newClient(n.address)
	defer c.close()
	if err := data.load(c, pages); err != nil {
		return nil, err
	}
	// A server that ends leaves everything in sorted files.
	if err := n.Terminate(0); err != nil {
		return nil, err
	}
	return serve()
}

func startBare() (*node, error) {
	cmd, err := bareCommand()
	if err != nil {
		return nil, err
	}
	return start(cmd)
}

// connections are how many each workload is tried with.
var connections = []int{1, 8, 64}

// workload is requests that can be made over again for as long as one likes.
type workload struct {
	name   string
	target *target // with 64 connections, nil for none
	pick   func(*rand.Rand) *operation
}

func always(o *operation) func(*rand.Rand) *operation {
	return func(*rand.Rand) *operation { return o }
}

// writing returns the workloads that write.
func (o *operations) writing() []workload {
	return []workload{
		{"row write", &target{row: 17, ratio: 0.6}, always(o.write)},
		{"9 reads, 1 write", nil, func(rnd *rand.Rand) *operation {
			if rnd.IntN(10) == 0 {
				return o.write
			}
			return o.read
		}},
	}
}

// updating returns those that read a row before they write it. They come right after the writing ones, and in
// the same table.
func (o *operations) updating() []workload {
	goal := &target{row: 19, ratio: 0.6, beside: "row write"}
	return []workload{
		{"increment", goal, always(o.increment)},
		{"increment of one row", nil, always(o.incrementOne)},
		{"check-and-mutate", goal, always(o.check)},
		{"check-and-mutate of one row", nil, always(o.checkOne)},
	}
}

// reading returns those that only read.
func (o *operations) reading() []workload {
	return []workload{
		{"row read", &target{row: 17, ratio: 0.8}, always(o.read)},
		{"100-row scan", nil, always(o.page)},
	}
}

// round measures everything once: first what writes, to a table that is dropped
// again, then what reads.
func (s *suite) round(ctx context.Context, run int) error {
	c := newClient(s.real.address)
	defer c.close()
	o, at := &s.operations, 0
	try := func(name string, t *target, l load) error {
		if run == 0 {
			s.lines = append(s.lines, &line{name: name, connections: l.connections, target: t, beside: s.beside(t, l.connections)})
		}
		at++
		return s.pair(ctx, s.lines[at-1], l)
	}
	many := func(list []workload) error {
		for _, w := range list {
			for _, n := range connections {
				reached := w.target
				if n < 64 {
					reached = nil
				}
				if err := try(w.name, reached, load{connections: n, pick: w.pick, time: s.time}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	steps := []func() error{
		func() error { return c.create(written) },
		func() error {
			return try("bulk write", &target{row: 15, cells: 1e6}, load{connections: 4, pick: always(o.bulk), requests: len(s.data.lines) / bulkRows})
		},
		func() error { return many(slices.Concat(o.writing(), o.updating())) },
		func() error { return c.drop(written) },
		func() error { return many(o.reading()) },
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

// beside returns the line that a target is about, nil for none.
func (s *suite) beside(t *target, connections int) *line {
	for _, l := range s.lines {
		if t != nil && l.name == t.beside && l.connections == connections {
			return l
		}
	}
	return nil
}

// pair measures one line: the server, and then the bare one. What can be done over
// again is done for a moment first, unmeasured.
func (s *suite) pair(ctx context.Context, l *line, work load) error {
	for _, t := range []turn{{s.real, false, &l.real}, {s.bare, true, &l.bare}} {
		err := t.warm(ctx, work)
		if err == nil {
			err = settle(s.real.PID(), patient)
		}
		if err == nil {
			err = t.measure(ctx, work)
		}
		if err != nil {
			return fmt.Errorf("%s with %d connections: %w", l.name, l.connections, err)
		}
	}
	return nil
}
