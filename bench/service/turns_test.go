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
	text := renderTurns(settings{rows: 5, runs: 3, time: time.Second}, []*contest{l})
	want := "| reads | 8 | 14.8 k | 23.2 k | 37.0 k | 0.40 (0.40 to 0.40) | 0.60 (0.60 to 0.60) | 0.40 | 0.90 | 1 ms | 2 ms | 1 ms | 2 ms |"
	if !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant a line\n%s", text, want)
	}
}
