package storemetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
)

// LogSynced adds the metrics of syncs of the log, and returns what records them: engine.Options.LogSynced. It is called
// before the store is opened.
func LogSynced(r *metrics.Registry) func(engine.LogSync) {
	latency := prometheus.NewHistogram(metrics.Latency("colonnade_log_sync_duration_seconds",
		"The time in which a group of batches was written to the log and became durable."))
	batches := prometheus.NewHistogram(metrics.Histogram("colonnade_log_group_batches",
		"Batches that one sync of the log made durable.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024}))
	bytes := prometheus.NewHistogram(metrics.Histogram("colonnade_log_group_bytes",
		"Bytes of the log that one sync made durable.", prometheus.ExponentialBuckets(256, 4, 10)))
	r.Add(latency, batches, bytes)
	return func(s engine.LogSync) {
		latency.Observe(s.Took.Seconds())
		batches.Observe(float64(s.Batches))
		bytes.Observe(float64(s.Bytes))
	}
}
