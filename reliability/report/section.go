package report

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Section is what a part has to say: named figures and failures. It is safe for
// concurrent use.
type Section struct {
	mu       sync.Mutex
	figures  map[string]Figure
	failures []Failure
	more     int // failures beyond maxFailures
}

// Figure is one number of a report. Over several rounds sums add up, while of the
// others the largest stays.
type Figure struct {
	Value   int64 `json:"value"`
	Largest bool  `json:"largest,omitempty"`
}

// Failure is one broken promise.
type Failure struct {
	// Repeat is the command that makes it happen again.
	Repeat string `json:"repeat"`
	What   string `json:"what"`
}

// maxFailures bounds how many failures of a part a report tells in full.
const maxFailures = 20

// Add adds n to a figure that is a sum.
func (s *Section) Add(figure string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figure(figure, Figure{Value: n})
}

// Largest raises a figure to n if it is lower.
func (s *Section) Largest(figure string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figure(figure, Figure{Value: n, Largest: true})
}

func (s *Section) figure(name string, f Figure) {
	if s.figures == nil {
		s.figures = make(map[string]Figure)
	}
	have, ok := s.figures[name]
	switch {
	case !ok:
	case f.Largest:
		f.Value = max(f.Value, have.Value)
	default:
		f.Value += have.Value
	}
	s.figures[name] = f
}

// Fail notes a broken promise. repeat is what to add to "go run ." to make it
// happen again, such as "-part crash -seed 7".
func (s *Section) Fail(repeat, format string, args ...any) {
	s.fail(Failure{Repeat: "cd reliability && go run . " + repeat, What: fmt.Sprintf(format, args...)})
}

func (s *Section) fail(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) == maxFailures {
		s.more++
		return
	}
	s.failures = append(s.failures, f)
}

// Failed reports whether something is broken.
func (s *Section) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failures) > 0
}

// Figures returns the figures so far.
func (s *Section) Figures() map[string]Figure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.figures)
}

// Missing returns, in order, the figures that are below their least.
func (s *Section) Missing(least map[string]int64) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range least {
		if s.figures[name].Value < n {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
