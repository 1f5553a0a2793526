// Package report defines a part of the harness, its environment and its report.
package report

import (
	"context"
	"time"
)

// Part is one way to look for broken promises.
type Part struct {
	Name  string // one word, as in -part
	About string // one line
	// Minimum has the least figures of a round. A round with less fails, even if it finds nothing.
	Minimum map[string]int64
	// Limit bounds a round that hangs. Then the process prints the stacks of its goroutines and ends, which counts
	// as a failure.
	Limit time.Duration
	// Run runs one round, with at most two cores. It adds figures and failures to s. The error says why the part
	// could not work at all.
	Run func(ctx context.Context, env Env, s *Section) error
}

// Env is the environment of a round.
type Env struct {
	// Seed decides everything random. The same seed repeats a round, as far as the scheduling of goroutines and
	// processes allows.
	Seed uint64
	// Server is the path of the colonnade binary, for parts that run it.
	Server string
	// Dir is an empty directory for the round, removed afterwards.
	Dir string
	// First ends the round at the first failure.
	First bool
}
