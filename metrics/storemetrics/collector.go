// Package storemetrics shows the metrics of an lsmstore and its engine.
package storemetrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// Add adds the metrics of a store. now is the time in microseconds since the Unix epoch.
func Add(r *metrics.Registry, store *lsmstore.Store, now func() int64) {
	r.Add(&collector{store: store, now: now, tables: newTables()})
}

// collector asks the store for a snapshot at each scrape.
type collector struct {
	store *lsmstore.Store
	now   func() int64

	mu     sync.Mutex // held during a scrape
	tables *tables    // guarded by mu
}

// snapshot is what metrics are made of.
type snapshot struct {
	*lsmstore.Metrics
	now    int64
	tables map[string]*shownTable
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for i := range all {
		to <- all[i].desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &snapshot{Metrics: c.store.Metrics(), now: c.now()}
	s.tables = c.tables.show(s.Tables)
	for i := range all {
		m := &all[i]
		m.values(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
		})
	}
}
