package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// text returns metrics of a server that has answered n requests to a route, half of them in 1 ms and half in 100 ms.
func text(n int) []byte {
	return fmt.Appendf(nil, `# TYPE colonnade_requests_total counter
colonnade_requests_total{route="scan",status="200"} %d
colonnade_requests_total{route="scan",status="503"} %d
colonnade_requests_total{route="write",status="200"} %d
# TYPE colonnade_request_duration_seconds histogram
colonnade_request_duration_seconds_bucket{route="scan",le="0.001"} %d
colonnade_request_duration_seconds_bucket{route="scan",le="0.1"} %d
colonnade_request_duration_seconds_bucket{route="scan",le="+Inf"} %d
colonnade_request_duration_seconds_sum{route="scan"} 1
colonnade_request_duration_seconds_count{route="scan"} %d
# TYPE colonnade_cache_requests_total counter
colonnade_cache_requests_total{result="hit"} %d
colonnade_cache_requests_total{result="miss"} %d
# TYPE colonnade_damage gauge
colonnade_damage 2
`, n, n/10, 2*n, n/2, n, n, n, 3*n, n)
}

func spanOf(t *testing.T, before, after int) span {
	t.Helper()
	start := time.Unix(1000, 0)
	from, err := parse(text(before), start)
	if err != nil {
		t.Fatal(err)
	}
	to, err := parse(text(after), start.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return span{from, to}
}

func TestDraw(t *testing.T) {
	lines := draw(spanOf(t, 1000, 3000), 5)
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		"  all                                         3100    1.0 ms   98.0 ms       100\n",
		"  write                                       2000         -         -         0\n  scan                                        1100    1.0 ms   98.0 ms       100\n",
		"75.0 % of 4000 blocks/s", "DAMAGE in 2.0 places", "STALLS      0/s, 0 % of a second",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if lines := draw(spanOf(t, 1000, 3000), 1); strings.Contains(strings.Join(lines, "\n"), "  scan") {
		t.Error("there is no room for a second route")
	}
	if all := strings.Join(draw(spanOf(t, 3000, 1000), 5), "\n"); !strings.Contains(all, "1550") {
		t.Errorf("after a restart counters begin at 0:\n%s", all)
	}
}

// TestScreen: the screen reads, draws, shows failures, fits, and ends with q.
func TestScreen(t *testing.T) {
	failure := errors.New("gone")
	n, fail := 0, false
	o := Options{Server: "there", Every: time.Second, Metrics: func(context.Context) ([]byte, error) {
		if fail {
			return nil, failure
		}
		n += 1000
		return text(n), nil
	}}
	var m tea.Model = screen{Options: o, ctx: t.Context(), height: 24}
	sees := func(want string) {
		t.Helper()
		if content := m.View().Content; !strings.Contains(content, want) {
			t.Errorf("no %q in\n%s", want, content)
		}
	}
	read := func() { m, _ = m.Update(m.(screen).fetch()) }
	read()
	sees("reading…")
	read()
	sees("Colonnade at there, every 1s. q quits")
	sees("  scan")
	fail = true
	read()
	sees("no answer: gone")
	sees("  scan") // what was there stays
	m, _ = m.Update(tea.WindowSizeMsg{Width: 20, Height: 15})
	for line := range strings.Lines(m.View().Content) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 20 {
			t.Errorf("too wide: %s", line)
		}
	}
	if _, quit := m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); quit == nil || quit() != tea.Quit() {
		t.Error("q does not quit")
	}
	m = screen{Options: o, ctx: t.Context()}
	if _, quit := m.Update(m.(screen).fetch()); quit == nil || quit() != tea.Quit() {
		t.Error("without a server it does not quit")
	}
}
