package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/metrics"
)

var metricsOperation = operation{
	does:   "Answers with the metrics of the server and its store, in Prometheus' text or the format that Accept asks for.",
	answer: answer{status: http.StatusOK, texts: []string{"text/plain", "application/openmetrics-text"}},
}

// metrics is GET /metrics. It answers during a shutdown, too.
func (s *Server) metrics(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	h := x.w.Header()
	for i := range fixedHeader {
		h[fixedHeader[i].name] = fixedHeader[i].values
	}
	delete(h, "Vary") // the Registry says on what its answer depends
	_ = http.NewResponseController(x.w).SetWriteDeadline(s.opt.Now().Add(s.timeouts.Progress))
	s.opt.Metrics.ServeHTTP(scrape{x.w, x}, x.r)
	return nil
}

// scrape is the answer to a scrape, whose status and bytes count as those of other answers.
type scrape struct {
	http.ResponseWriter
	x *requestContext
}

func (s scrape) WriteHeader(status int) {
	s.x.status, s.x.sent = status, true
	s.ResponseWriter.WriteHeader(status)
}

func (s scrape) Write(b []byte) (int, error) {
	if !s.x.sent {
		s.WriteHeader(http.StatusOK)
	}
	s.x.written += int64(len(b))
	return s.ResponseWriter.Write(b)
}

// meters count the requests of each route.
type meters struct {
	*metrics.FrontEnd
	routes  []*metrics.Route // as in routes
	console *metrics.Route   // of the pages of the console
	unknown *metrics.Route   // of requests that have none
}

func newMeters(f *metrics.FrontEnd) meters {
	m := meters{FrontEnd: f, console: f.Route(consoleRoute, http.StatusOK), unknown: f.Route(unknownRoute, http.StatusNotFound)}
	for i := range routes {
		r := &routes[i]
		m.routes = append(m.routes, f.Route(r.pattern, r.answer.status))
	}
	return m
}

// addMetrics adds what the server itself has: connections, also those of other front ends, and the limits of package admission.
func (s *Server) addMetrics() {
	gauge := func(name, help string, labels prometheus.Labels, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value()) })
	}
	counter := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	memory, scans := s.admission.Memory(), s.admission.Scans()
	s.opt.Metrics.Add(
		gauge("colonnade_connections", "Open connections.", nil, s.connections.Open),
		gauge("colonnade_connections_limit", "Connections that may be open.", nil, s.connections.Limit),
		counter("colonnade_connections_accepted_total", "Connections that were accepted and got a place.", s.connections.Accepted),
		counter("colonnade_connections_refused_total", "Connections closed at once, or before their first request, because all places were taken.", s.connections.Refused),
		gauge("colonnade_request_memory_bytes", "Memory that bodies of requests and what is made of them hold.", nil, func() int64 { return memory.Size() - memory.Free() }),
		gauge("colonnade_request_memory_limit_bytes", "Memory that bodies of requests and what is made of them may hold together.", nil, memory.Size),
		gauge("colonnade_scans_open", "Scans, counts and aggregates under way.", nil, func() int64 { return scans.Size() - scans.Free() }),
	)
	for class, name := range map[admission.Class]string{admission.Write: "write", admission.Read: "read", admission.Scan: "scan"} {
		l, labels := s.admission.Limiter(class), prometheus.Labels{"class": name}
		s.opt.Metrics.Add(
			gauge("colonnade_requests_waiting", "Requests that wait for a slot of their class.", labels, func() int64 { return int64(l.Waiting()) }),
			gauge("colonnade_request_slots_free", "Slots of a class that no request holds.", labels, func() int64 { return int64(l.Free()) }),
		)
	}
}
