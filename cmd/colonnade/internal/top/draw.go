package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/verbs"
)

// draw returns what a server has done in a span, as lines. routes bounds how many routes are shown, those with most
// requests first.
func draw(s span, routes int) []string {
	lines := requests(s, routes)
	batches := s.histogram("log_group_batches")
	lines = append(lines, "",
		row("COMMITS", "%s/s, %s in each sync, %s/s", number(s.rate("batches_total")), number(batches.mean()), sizeOf(s.rate("batch_bytes_total"))),
		row("", "sync p50 %s, p99 %s", latency(s.histogram("log_sync_duration_seconds"), 0.5), latency(s.histogram("log_sync_duration_seconds"), 0.99)),
		row("MEMTABLES", "%s of %s, %s flushes/s", sizeOf(s.to.sum("memtable_bytes")), sizeOf(s.to.sum("memtable_limit_bytes")), number(s.rate("flushes_total"))),
		row("COMPACTION", "%s merges/s, read %s/s, written %s/s", number(s.rate("compactions_total", label{"kind", "merge"})), sizeOf(s.rate("compaction_read_bytes_total")), sizeOf(s.rate("compaction_written_bytes_total"))),
		row("", "debt %s, %s sorted files of %s", sizeOf(s.to.sum("compaction_debt_bytes")), number(s.to.sum("level_files")), sizeOf(s.to.sum("level_bytes"))),
		stalls(s), cache(s))
	if n := s.to.sum("damage"); n > 0 {
		lines = append(lines, "", fmt.Sprintf("DAMAGE in %s places: the log of the server names them, and colonnade check finds all", number(n)))
	}
	return lines
}

func row(name, format string, args ...any) string {
	return fmt.Sprintf("%-12s", name) + fmt.Sprintf(format, args...)
}

// requests returns a line for all requests, and one for each of the busiest routes.
func requests(s span, most int) []string {
	lines := []string{
		fmt.Sprintf("%-40s %9s %9s %9s %9s", "REQUESTS", "/s", "P50", "P99", "FAILED/s"),
		request("all", s),
	}
	rates := map[string]float64{}
	var names []string
	for name := range s.to.values("requests_total", "route") {
		if rates[name] = s.rate("requests_total", label{"route", name}); rates[name] > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rates[b], rates[a]), strings.Compare(a, b))
	})
	for _, name := range names[:min(max(most, 0), len(names))] {
		lines = append(lines, request(name, s, label{"route", name}))
	}
	return lines
}

func request(name string, s span, labels ...label) string {
	h := s.histogram("request_duration_seconds", labels...)
	failed := 0.0
	for status := range s.to.values("requests_total", "status") {
		if strings.HasPrefix(status, "5") || status == "aborted" {
			failed += s.rate("requests_total", append(labels[:len(labels):len(labels)], label{"status", status})...)
		}
	}
	return fmt.Sprintf("  %-38s %9s %9s %9s %9s", name, number(s.rate("requests_total", labels...)), latency(h, 0.5), latency(h, 0.99), number(failed))
}

func stalls(s span) string {
	text := fmt.Sprintf("%s/s, %.0f %% of a second", number(s.rate("write_stalls_total")), 100*s.rate("write_stall_seconds_total"))
	for _, state := range []string{"slowed", "stopped"} {
		if n := s.to.sum("partitions", label{"writes", state}); n > 0 {
			text += fmt.Sprintf(", %s partitions %s", number(n), state)
		}
	}
	return row("STALLS", "%s", text)
}

func cache(s span) string {
	hits, all := s.grown("cache_requests_total", label{"result", "hit"}), s.grown("cache_requests_total")
	share := "nothing read"
	if all > 0 {
		share = fmt.Sprintf("%.1f %% of %s blocks/s", 100*hits/all, number(all/s.seconds()))
	}
	return row("CACHE", "%s, %s of %s", share, sizeOf(s.to.sum("cache_bytes")), sizeOf(s.to.sum("cache_limit_bytes")))
}

func sizeOf(n float64) string { return verbs.Bytes(int64(n)) }

// number formats a count or a rate with about three digits.
func number(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 10:
		return fmt.Sprintf("%.1f", n)
	case n < 10_000:
		return fmt.Sprintf("%.0f", n)
	case n < 1e7:
		return fmt.Sprintf("%.0fk", n/1e3)
	}
	return fmt.Sprintf("%.0fM", n/1e6)
}

// latency formats a quantile of times in seconds.
func latency(h histogram, q float64) string {
	seconds, some := h.quantile(q)
	switch {
	case !some:
		return "-"
	case seconds < 1e-3:
		return fmt.Sprintf("%.0f µs", seconds*1e6)
	case seconds < 1:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
