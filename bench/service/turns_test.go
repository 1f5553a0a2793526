package main

import (
	"strings"
	"testing"
	"time"
)

// TestRenderTurns: neighbours are compared, not the rounds of one with the medians of
// the other.
func TestRenderTurns(t *testing.T) {
	l := &contest{workload: workload{name: "reads"}, connections: 8}
	for _, speed := range []int64{1, 10, 100} { // of the machine
		l.before = append(l.before, sampleOf(400*speed, time.Millisecond))
		l.after = append(l.after, sampleOf(600*speed, 2*time.Millisecond))
		l.bare = append(l.bare, sampleOf(1000*speed, time.Microsecond))
	}
	l.after[1] = sampleOf(9000, 2*time.Millisecond) // 0.9 once
	l.after[2].refused = 7
	text := renderTurns(settings{rows: 5, runs: 3, time: time.Second}, []*contest{l})
	want := "| reads | 8 | 14.8 k | 23.2 k | 37.0 k | 0.40 (0.40 to 0.40) | 0.60 (0.60 to 0.90) | 0.40 | 0.90 | 1 ms | 2 ms | 1 ms | 2 ms | 0 | 7 |"
	if !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant a line\n%s", text, want)
	}
}

func TestSettings(t *testing.T) {
	good := settings{rows: leastRows, runs: 40, time: 200 * time.Millisecond, before: "old"}
	if got, want := good.turnsTime(), 40*12*3*240*time.Millisecond; got != want {
		t.Errorf("turns take %v, want %v", got, want)
	}
	if err := good.check(0); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*settings){
		"rows":     func(s *settings) { s.rows = leastRows - 1 },
		"no runs":  func(s *settings) { s.runs = 0 },
		"runs":     func(s *settings) { s.runs = 101 },
		"no time":  func(s *settings) { s.time = 0 },
		"time":     func(s *settings) { s.time = 2 * time.Minute },
		"docs":     func(s *settings) { s.docs = "doc.md" },
		"too long": func(s *settings) { s.time = 2 * time.Second },
	} {
		s := good
		if spoil(&s); s.check(0) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if good.check(1) == nil {
		t.Error("an argument: no error")
	}
	good.before, good.time = "", 2*time.Second
	if err := good.check(0); err != nil {
		t.Errorf("without turns: %v", err)
	}
}
