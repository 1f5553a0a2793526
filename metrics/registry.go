package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds the metrics of one server and its store. It is an http.Handler that answers a scrape. It is safe for
// concurrent use.
type Registry struct {
	registry *prometheus.Registry
	handler  http.Handler
	requests *requests
}

// New returns a Registry with the metrics of requests.
func New() *Registry {
	r := prometheus.NewRegistry()
	return &Registry{registry: r, requests: newRequests(r), handler: promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true})}
}

// Add adds metrics. It panics if there are some of the same name: that is a mistake in the program.
func (r *Registry) Add(more ...prometheus.Collector) { r.registry.MustRegister(more...) }

// Gather returns all metrics as they are now.
func (r *Registry) Gatherer() prometheus.Gatherer { return r.registry }

// ServeHTTP answers with all metrics, in the format and compression that the request accepts: Prometheus' text, which
// is the default, OpenMetrics, or protocol buffers, which alone have native histograms.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.handler.ServeHTTP(w, request)
}
