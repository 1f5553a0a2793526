package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// latencyBuckets are bounds in seconds: from what a read from memory takes to the longest timeouts.
var latencyBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Latency returns the options of a histogram of seconds.
func Latency(name, help string) prometheus.HistogramOpts {
	return Histogram(name, help, latencyBuckets)
}

// Histogram returns the options of a histogram with fixed buckets, and native ones beside them, which are at most a
// tenth apart.
func Histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}
}
