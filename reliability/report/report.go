package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Report is a run of the harness, as it is written to reliability.json.
type Report struct {
	Commit  string            `json:"commit"`
	Go      string            `json:"go"`
	Cores   int               `json:"cores"`
	Seed    uint64            `json:"seed"` // of the first round, the next has the next
	Short   bool              `json:"short"`
	Begin   time.Time         `json:"begin"`
	Seconds float64           `json:"seconds"`
	Green   bool              `json:"green"`
	Parts   map[string]*Entry `json:"parts"`
}

// Entry is a part's place in a report: the sum of its rounds.
type Entry struct {
	About    string            `json:"about"`
	Rounds   int               `json:"rounds"`
	Seconds  float64           `json:"seconds"`
	Figures  map[string]Figure `json:"figures"`
	Minimum  map[string]int64  `json:"minimum,omitempty"` // of the first round
	Failures []Failure         `json:"failures"`
	More     int               `json:"more_failures,omitempty"`
}

// Add adds the round of a part in env. Each figure below its minimum becomes a failure.
func (r *Report) Add(p Part, env Env, s *Section, took time.Duration) {
	if r.Parts == nil {
		r.Parts = make(map[string]*Entry)
	}
	least := p.Minimum(env)
	e := r.Parts[p.Name]
	if e == nil {
		e = &Entry{About: p.About, Figures: map[string]Figure{}, Minimum: least, Failures: []Failure{}}
		r.Parts[p.Name] = e
	}
	for _, name := range s.Missing(least) {
		s.Fail(env.Repeat(p.Name), "too little was done to say anything: %s is %d, and has to be at least %d", name, s.figures[name].Value, least[name])
	}
	e.Rounds++
	e.Seconds += took.Seconds()
	total := Section{figures: e.Figures}
	for name, f := range s.figures {
		total.figure(name, f)
	}
	room := max(0, maxFailures-len(e.Failures))
	e.More += s.more + max(0, len(s.failures)-room)
	e.Failures = append(e.Failures, s.failures[:min(room, len(s.failures))]...)
}

// Finish settles the verdict.
func (r *Report) Finish(now time.Time) {
	r.Seconds = now.Sub(r.Begin).Seconds()
	r.Green = len(r.Parts) > 0
	for _, e := range r.Parts {
		r.Green = r.Green && len(e.Failures) == 0
	}
}

// String shows the report to a person: what was found comes last, where it is seen
// and where the end of a log still has it.
func (r *Report) String() string {
	text, found := "", ""
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		e := r.Parts[name]
		text += fmt.Sprintf("%s (%s), rounds: %d, seconds: %.0f\n", name, e.About, e.Rounds, e.Seconds)
		for _, figure := range slices.Sorted(maps.Keys(e.Figures)) {
			text += fmt.Sprintf("  %-36s %12d", figure, e.Figures[figure].Value)
			if least, ok := e.Minimum[figure]; ok {
				text += fmt.Sprintf("  at least %d a round", least)
			}
			text += "\n"
		}
		for _, f := range e.Failures {
			found += fmt.Sprintf("FAILED %s: %s\n  repeat: %s\n", name, f.What, f.Repeat)
		}
		if e.More > 0 {
			found += fmt.Sprintf("FAILED %s: %d more failures\n", name, e.More)
		}
	}
	verdict := "RED"
	if r.Green {
		verdict = "green"
	}
	return text + found + fmt.Sprintf("%s after %.0f s, commit %s\n", verdict, r.Seconds, r.Commit)
}

// sectionJSON is a Section on its way from the process of a part.
type sectionJSON struct {
	Figures  map[string]Figure `json:"figures"`
	Failures []Failure         `json:"failures"`
	More     int               `json:"more"`
}

// MarshalJSON writes a section.
func (s *Section) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(sectionJSON{s.figures, s.failures, s.more})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Section) UnmarshalJSON(data []byte) error {
	var j sectionJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures, s.failures, s.more = j.Figures, j.Failures, j.More
	return nil
}
