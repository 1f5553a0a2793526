package vfs

import "sync"

// Failure is a rule for Inject that makes one operation fail, or all from one on. A test runs its
// workload with At = 0, 1, 2 and so on, until Hits says that the workload ended before the failure.
// It is safe for concurrent use.
type Failure struct {
	At     int64 // the operation that fails, counted from 0 among the matching ones
	Fault  Fault
	Sticky bool          // all matching operations after it fail as well, until Heal
	Match  func(Op) bool // nil matches all

	mu     sync.Mutex
	seen   int64
	hits   int64
	healed bool
}

// Rule is the rule for Inject.
func (f *Failure) Rule(op Op) Fault {
	if f.Match != nil && !f.Match(op) {
		return Fault{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.seen
	f.seen++
	if f.healed || n < f.At || n > f.At && !f.Sticky {
		return Fault{}
	}
	f.hits++
	return f.Fault
}

// Heal ends the failure: no more operations fail.
func (f *Failure) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// Hits returns how many operations have failed.
func (f *Failure) Hits() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}
