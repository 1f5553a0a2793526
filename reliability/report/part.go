// Package report defines a part of the harness, its environment and its report.
package report

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Part is one way to look for broken promises.
type Part struct {
	Name  string // one word, as in -part
	About string // one line
	// Minimum returns the least figures of a round. A round with less fails, even if it finds nothing.
	Minimum func(env Env) map[string]int64
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
	// Short asks for a short round: a share of what a round with the same seed does. The seed chooses which.
	Short bool
}

// Shares is how many short rounds, with successive seeds, do about as much as a full one.
const Shares = 8

// Share returns how many of n things a round does: all, or in a short round an eighth, rounded up.
func (e Env) Share(n int) int {
	if e.Short {
		return (n + Shares - 1) / Shares
	}
	return n
}

// Chosen reports whether a round does the i-th of some things. A short round does every eighth, from one on that the
// seed chooses.
func (e Env) Chosen(i int) bool { return !e.Short || uint64(i)%Shares == e.Seed%Shares }

// Repeat returns what to add to "go run ." to repeat the round of a part.
func (e Env) Repeat(part string) string {
	repeat := fmt.Sprintf("-part %s -seed %d", part, e.Seed)
	if e.Short {
		repeat += " -short"
	}
	return repeat
}

// Least returns a Part.Minimum: these figures, or in a short round half of its share of each, since chance weighs more
// in little work.
func Least(figures map[string]int64) func(Env) map[string]int64 {
	return func(env Env) map[string]int64 {
		least := maps.Clone(figures)
		if env.Short {
			for name := range least {
				least[name] /= 2 * Shares
			}
		}
		return least
	}
}
