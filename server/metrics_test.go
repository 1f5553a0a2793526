package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// scraped returns all metrics of a server, by name and labels: of a histogram the number of observations.
func scraped(t *testing.T, h http.Handler) map[string]float64 {
	t.Helper()
	w := sendTo(h, "GET", "/metrics", "")
	if w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			all[name+labelsOf(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func labelsOf(m *dto.Metric) (text string) {
	for _, l := range m.GetLabel() {
		if l.GetName() != "protocol" {
			text += " " + l.GetValue()
		}
	}
	return text
}

// TestMetrics: requests count by their route and status, refusals by their reason, and names that a client has chosen are in no label.
func TestMetrics(t *testing.T) {
	c := newClient(t)
	c.webtable()
	before := scraped(t, c)
	for range 3 {
		c.must(200, "GET", "/v1/table/t/row?key=org.a", "")
	}
	c.send("GET", "/v1/table/nope/row?key=a", "")
	c.send("GET", "/v1/table/nope/row?key=a", "")
	c.send("HEAD", "/v1/table/t", "")
	c.send("POST", "/v1/table/t/scan", `{"x":1}`)
	c.send("GET", "/chosen/by/the/client", "")
	after := scraped(t, c)
	for name, up := range map[string]float64{
		"colonnade_requests_total GET /v1/table/{table}/row 200":       3,
		"colonnade_requests_total GET /v1/table/{table}/row 404":       2,
		"colonnade_request_duration_seconds GET /v1/table/{table}/row": 5,
		"colonnade_requests_total GET /v1/table/{table} 200":           1,
		"colonnade_requests_total POST /v1/table/{table}/scan 400":     1,
		"colonnade_requests_total POST /v1/table/{table}/scan 200":     0,
		"colonnade_requests_total unknown 404":                         1,
		"colonnade_requests_total GET /metrics 200":                    1,
		"colonnade_requests_refused_total unknown_table":               2,
		"colonnade_requests_refused_total unknown_route":               1,
		"colonnade_requests_refused_total " + unknownField:             1,
		"colonnade_requests_in_flight":                                 0,
		"colonnade_request_memory_bytes":                               0,
	} {
		if got := after[name] - before[name]; got != up {
			t.Errorf("%s went up by %v, want %v", name, got, up)
		}
	}
	if after["colonnade_requests_in_flight"] != 1 {
		t.Errorf("%v requests are in flight, want the scrape", after["colonnade_requests_in_flight"])
	}
	if n := after["colonnade_response_bytes_total"] - before["colonnade_response_bytes_total"]; n < 3*float64(len(orgA)) {
		t.Errorf("the answers have %v bytes", n)
	}
	for name := range after {
		if strings.Contains(name, "nope") || strings.Contains(name, "chosen") {
			t.Errorf("a client has made %s", name)
		}
	}
}

// TestMetricsFormats: the answer is in the format and the compression that the client accepts, and none breaks a rule.
func TestMetricsFormats(t *testing.T) {
	c := newClient(t)
	for accept, kind := range map[string]string{
		"": "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
		"application/openmetrics-text;version=1.0.0":                                                 "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; escaping=underscores",
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		c.Server.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != kind || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("Accept %q: got %d %q", accept, w.Code, got)
		}
		if strings.Contains(kind, "openmetrics") != strings.HasSuffix(w.Body.String(), "# EOF\n") {
			t.Errorf("Accept %q: the answer ends with %q", accept, w.Body.String()[w.Body.Len()-20:])
		}
		r.Header.Set("Accept-Encoding", "gzip")
		zipped := httptest.NewRecorder()
		c.Server.ServeHTTP(zipped, r)
		if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Body.Len() > w.Body.Len()/2 {
			t.Errorf("Accept %q with gzip: got %q, %d of %d bytes", accept, zipped.Header().Get("Content-Encoding"), zipped.Body.Len(), w.Body.Len())
		}
	}
	problems, err := promlint.New(c.send("GET", "/metrics", "").Body).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if w := c.send("HEAD", "/metrics", ""); w.Code != 200 {
		t.Errorf("HEAD: got %d", w.Code)
	}
	if e := c.call("GET", "/metrics?x=1", ""); e.Status != 400 {
		t.Errorf("with a parameter: got %d", e.Status)
	}
}

// TestMetricsOfConnections: they count while they are open, and metrics are answered during a shutdown.
func TestMetricsOfConnections(t *testing.T) {
	c, w, release := held(t)
	m := scraped(t, c)
	if m["colonnade_connections"] != 1 || m["colonnade_connections_accepted_total"] != 1 || m["colonnade_requests_in_flight"] != 2 {
		t.Errorf("with a write under way: got %v connections of %v, %v requests", m["colonnade_connections"], m["colonnade_connections_accepted_total"], m["colonnade_requests_in_flight"])
	}
	done := make(chan error)
	go func() { done <- c.Shutdown(context.Background()) }()
	eventually(t, "the server is not ready any more", func() bool { return c.send("GET", "/readyz", "").Code == 503 })
	if m := scraped(t, c); m["colonnade_requests_total GET /readyz 503"] == 0 {
		t.Error("what happens during a shutdown does not count")
	}
	close(release)
	w.answer()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, "the connection does not count any more", func() bool { return scraped(t, c)["colonnade_connections"] == 0 })
}

// TestMetricsOfAborted: a request whose answer is broken off counts as that.
func TestMetricsOfAborted(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	store.onWrite = func(context.Context) error { return context.Canceled }
	func() {
		defer func() { _ = recover() }()
		c.send("POST", "/v1/table/t/write", cellOf("i64", "1"))
	}()
	m := scraped(t, c)
	if m["colonnade_requests_total POST /v1/table/{table}/write aborted"] != 1 || m["colonnade_requests_in_flight"] != 1 {
		t.Errorf("got %v aborted, %v in flight", m["colonnade_requests_total POST /v1/table/{table}/write aborted"], m["colonnade_requests_in_flight"])
	}
}
