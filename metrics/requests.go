package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests are the metrics of requests, of all protocols.
type requests struct {
	total   *prometheus.CounterVec
	latency *prometheus.HistogramVec
	refused *prometheus.CounterVec
	sent    *prometheus.CounterVec
}

func newRequests(r *prometheus.Registry) *requests {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	q := &requests{
		total:   counter("colonnade_requests_total", "Requests that have ended, by the status of their answer. The status is aborted if the answer was broken off or the client has gone.", "protocol", "route", "status"),
		latency: prometheus.NewHistogramVec(Latency("colonnade_request_duration_seconds", "The time from the head of a request until its answer was handed to the connection."), []string{"protocol", "route"}),
		refused: counter("colonnade_requests_refused_total", "Requests answered with an error, by the code of the error.", "protocol", "reason"),
		sent:    counter("colonnade_response_bytes_total", "Bytes of answers, without their heads, before compression.", "protocol"),
	}
	r.MustRegister(q.total, q.latency, q.refused, q.sent)
	return q
}

// FrontEnd counts the requests of one protocol. It is safe for concurrent use.
type FrontEnd struct {
	protocol string
	requests *requests
	inFlight atomic.Int64
	sent     prometheus.Counter
}

// FrontEnd returns the FrontEnd of a protocol, such as "http". It is called once for each.
func (r *Registry) FrontEnd(protocol string) *FrontEnd {
	f := &FrontEnd{protocol: protocol, requests: r.requests, sent: r.requests.sent.WithLabelValues(protocol)}
	r.Add(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "colonnade_requests_in_flight", Help: "Requests under way, those that wait for their slot included.", ConstLabels: prometheus.Labels{"protocol": protocol},
	}, func() float64 { return float64(f.inFlight.Load()) }))
	return f
}

// Refused counts a request that is answered with an error. reason is one of the codes that the program has.
func (f *FrontEnd) Refused(reason string) {
	f.requests.refused.WithLabelValues(f.protocol, reason).Inc()
}

// Route counts the requests of one route.
type Route struct {
	f       *FrontEnd
	name    string
	usual   int // the status of most answers
	ok      prometheus.Counter
	latency prometheus.Observer
}

// Route returns the Route of a name, such as "GET /healthz": a pattern, never a path that a client has chosen. Most of
// its answers have the status usual.
func (f *FrontEnd) Route(name string, usual int) *Route {
	return &Route{
		f: f, name: name, usual: usual,
		ok:      f.requests.total.WithLabelValues(f.protocol, name, strconv.Itoa(usual)),
		latency: f.requests.latency.WithLabelValues(f.protocol, name),
	}
}

// Begin counts a request as under way, until its End.
func (f *FrontEnd) Begin() { f.inFlight.Add(1) }

// Aborted is the status of a request without a whole answer.
const Aborted = 0

// End counts a request that has ended with a status, after some time and an answer of n bytes.
func (r *Route) End(status int, took time.Duration, n int64) {
	r.f.inFlight.Add(-1)
	r.f.sent.Add(float64(n))
	r.latency.Observe(took.Seconds())
	switch status {
	case r.usual:
		r.ok.Inc()
	case Aborted:
		r.f.requests.total.WithLabelValues(r.f.protocol, r.name, "aborted").Inc()
	default:
		r.f.requests.total.WithLabelValues(r.f.protocol, r.name, strconv.Itoa(status)).Inc()
	}
}
