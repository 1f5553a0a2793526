package metrics_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/colonnade-db/colonnade/metrics"
)

// TestRequests: each request counts where it belongs.
func TestRequests(t *testing.T) {
	m := metrics.New()
	f := m.FrontEnd("http")
	get, unknown := f.Route("GET /t", 200), f.Route("unknown", 404)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				f.Begin()
				get.End(200, time.Millisecond, 10)
			}
		})
	}
	all.Wait()
	f.Begin()
	get.End(503, time.Second, 5)
	f.Refused("overloaded")
	f.Begin()
	get.End(metrics.Aborted, time.Second, 1)
	f.Begin()
	unknown.End(404, time.Second, 0)
	f.Begin()
	want := `
# HELP colonnade_requests_in_flight Requests under way, those that wait for their slot included.
# TYPE colonnade_requests_in_flight gauge
colonnade_requests_in_flight{protocol="http"} 1
# HELP colonnade_requests_refused_total Requests answered with an error, by the code of the error.
# TYPE colonnade_requests_refused_total counter
colonnade_requests_refused_total{protocol="http",reason="overloaded"} 1
# HELP colonnade_requests_total Requests that have ended, by the status of their answer. The status is aborted if the answer was broken off or the client has gone.
# TYPE colonnade_requests_total counter
colonnade_requests_total{protocol="http",route="GET /t",status="200"} 400
colonnade_requests_total{protocol="http",route="GET /t",status="503"} 1
colonnade_requests_total{protocol="http",route="GET /t",status="aborted"} 1
colonnade_requests_total{protocol="http",route="unknown",status="404"} 1
# HELP colonnade_response_bytes_total Bytes of answers, without their heads, before compression.
# TYPE colonnade_response_bytes_total counter
colonnade_response_bytes_total{protocol="http"} 4006
`
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(want), "colonnade_requests_in_flight", "colonnade_requests_refused_total", "colonnade_requests_total", "colonnade_response_bytes_total"); err != nil {
		t.Error(err)
	}
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "colonnade_request_duration_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 402 || h.GetSampleSum() < 2.39 || h.GetSampleSum() > 2.41 || len(h.GetPositiveSpan()) == 0 {
			t.Errorf("got a latency of %d requests, %v s, native buckets %v", h.GetSampleCount(), h.GetSampleSum(), h.GetPositiveSpan())
		}
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// TestRequestsAllocateNothing of an answer with the usual status.
func TestRequestsAllocateNothing(t *testing.T) {
	f := metrics.New().FrontEnd("http")
	r := f.Route("GET /t", 200)
	one := func() {
		f.Begin()
		r.End(200, 123*time.Microsecond, 10)
	}
	one() // makes the bucket
	if n := testing.AllocsPerRun(100, one); n > 0 {
		t.Errorf("a request allocates %v times", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	f := metrics.New().FrontEnd("http")
	r := f.Route("GET /t", 200)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for took := time.Duration(0); pb.Next(); took = (took + 7*time.Microsecond) % time.Millisecond {
			f.Begin()
			r.End(200, took, 100)
		}
	})
}
