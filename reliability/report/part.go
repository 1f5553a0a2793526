// Package report is what the parts of the harness have in common: what a part
// is, what it is told, and what it has to say in the end.
package report

import (
	"context"
	"time"
)

// Part is one way of looking for broken promises.
type Part struct {
	Name  string // one word, as in -part
	About string // one line
	// Minimum is what the figures of one round have to reach. A round that does
	// less says too little, whether or not it finds anything.
	Minimum map[string]int64
	// Limit ends a round that hangs: after it the process is told to print the
	// stacks of its goroutines and to end, which counts as a failure.
	Limit time.Duration
	// Run does one round. It notes figures and failures in s; the error is for
	// what keeps the part from working at all. It uses at most two cores.
	Run func(ctx context.Context, env Env, s *Section) error
}

// Env is what a round may use.
type Env struct {
	// Seed decides all that is random. The same seed does the same again, as far
	// as the scheduling of goroutines and processes allows.
	Seed uint64
	// Server is the path of the colonnade binary, for parts that run it.
	Server string
	// Dir is an empty directory for the round, removed afterwards.
	Dir string
	// First ends the round at the first failure: enough is known then.
	First bool
}
