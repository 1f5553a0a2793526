package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Archive is what the archive of the log has done since the start.
type Archive struct {
	Segments, Bytes, Failures, Gaps int64 // see the metrics
	Stopped                         bool
	Lag                             time.Duration
}

// AddArchive adds the metrics of the archive of the log. get is called at each scrape.
func (r *Registry) AddArchive(get func() Archive) {
	counter := func(name, help string, value func(Archive) int64) {
		r.Add(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(get())) }))
	}
	gauge := func(name, help string, value func(Archive) float64) {
		r.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(get()) }))
	}
	counter("colonnade_archive_segments_total", "Segments of the log that were written to the archive.", func(a Archive) int64 { return a.Segments })
	counter("colonnade_archive_bytes_total", "Bytes of these, compressed.", func(a Archive) int64 { return a.Bytes })
	counter("colonnade_archive_failures_total", "Attempts to archive the log that failed and are made again.", func(a Archive) int64 { return a.Failures })
	counter("colonnade_archive_gaps_total", "Places where segments of the log are missing in the archive, also while it cannot be reached.", func(a Archive) int64 { return a.Gaps })
	gauge("colonnade_archive_stopped", "1 if the log is not archived any more, because another server writes to the same place.", func(a Archive) float64 {
		if a.Stopped {
			return 1
		}
		return 0
	})
	gauge("colonnade_archive_lag_seconds", "Age of the oldest commit that is not in the archive. 0 without an archive.", func(a Archive) float64 { return a.Lag.Seconds() })
}
