package storetest

import (
	"slices"
	"time"
)

const (
	// shrinkRuns bounds the work of shrinking, as operations run per operation in the list.
	shrinkRuns = 100

	// shrinkTime bounds it too, for slow failures such as a call that waits for its deadline. It
	// does not decide whether a test fails.
	shrinkTime = 10 * time.Second
)

// shrink looks for a short list of operations for which fails is true, as it is for ops. It removes
// ever smaller pieces of the list while the rest fails, then makes single operations simpler, and
// repeats this while it helps.
func shrink(ops []op, fails func([]op) bool) []op {
	s := &shrinker{ops: ops, fails: fails, budget: shrinkRuns * (len(ops) + 10), end: time.Now().Add(shrinkTime)}
	for {
		for size := (len(s.ops) + 1) / 2; size > 0; size /= 2 {
			s.cut(size)
		}
		if !s.simplify() {
			return s.ops
		}
	}
}

type shrinker struct {
	ops    []op // the shortest list that fails
	fails  func([]op) bool
	budget int
	end    time.Time
}

// try keeps a list if it fails.
func (s *shrinker) try(ops []op) bool {
	if s.budget < len(ops) || time.Now().After(s.end) {
		return false
	}
	s.budget -= len(ops)
	if !s.fails(ops) {
		return false
	}
	s.ops = ops
	return true
}

// cut removes pieces of a size.
func (s *shrinker) cut(size int) {
	for i := 0; i+size <= len(s.ops); {
		if !s.try(slices.Delete(slices.Clone(s.ops), i, i+size)) {
			i += size
		}
	}
}

// simplify replaces operations by simpler ones. It reports whether it replaced any.
func (s *shrinker) simplify() (better bool) {
	for i := 0; i < len(s.ops); {
		if s.simplifyOne(i) {
			better = true
		} else {
			i++
		}
	}
	return better
}

func (s *shrinker) simplifyOne(i int) bool {
	for _, simpler := range reductions(s.ops[i]) {
		ops := slices.Clone(s.ops)
		ops[i] = simpler
		if s.try(ops) {
			return true
		}
	}
	return false
}
