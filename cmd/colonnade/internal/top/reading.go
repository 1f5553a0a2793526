package top

import (
	"bytes"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// reading is the metrics of a server at a time.
type reading struct {
	at       time.Time
	families map[string]*dto.MetricFamily
}

func parse(text []byte, at time.Time) (*reading, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return &reading{at, families}, nil
}

// label is a label that a metric must have.
type label struct{ name, value string }

// metrics returns the metrics of a name that have these labels.
func (r *reading) metrics(name string, labels ...label) (list []*dto.Metric) {
	family := r.families["colonnade_"+name]
	for _, m := range family.GetMetric() {
		if has(m, labels) {
			list = append(list, m)
		}
	}
	return list
}

func has(m *dto.Metric, labels []label) bool {
	for _, l := range labels {
		if labelOf(m, l.name) != l.value {
			return false
		}
	}
	return true
}

func labelOf(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// sum adds up counters or gauges.
func (r *reading) sum(name string, labels ...label) (sum float64) {
	for _, m := range r.metrics(name, labels...) {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// values returns the values of a label, with the sum of the counters of each.
func (r *reading) values(name, of string) map[string]float64 {
	sums := map[string]float64{}
	for _, m := range r.metrics(name) {
		sums[labelOf(m, of)] += m.GetCounter().GetValue()
	}
	return sums
}

// span is two readings of one server, the newer one second.
type span struct{ from, to *reading }

func (s span) seconds() float64 { return max(s.to.at.Sub(s.from.at).Seconds(), 1e-3) }

// grown returns how much counters have grown. After a restart of the server they begin at 0.
func (s span) grown(name string, labels ...label) float64 {
	before, after := s.from.sum(name, labels...), s.to.sum(name, labels...)
	if after < before {
		return after
	}
	return after - before
}

// rate returns by how much counters grow in a second.
func (s span) rate(name string, labels ...label) float64 {
	return s.grown(name, labels...) / s.seconds()
}

// histogram is what histograms have counted in a span.
type histogram struct {
	bounds []float64 // ascending, the last one infinite
	counts []float64 // up to each bound
	sum    float64
}

func (s span) histogram(name string, labels ...label) histogram {
	h := s.to.histogram(name, labels...)
	before := s.from.histogram(name, labels...)
	if len(before.counts) != len(h.counts) || before.count() > h.count() {
		return h
	}
	for i := range h.counts {
		h.counts[i] -= before.counts[i]
	}
	h.sum -= before.sum
	return h
}

func (r *reading) histogram(name string, labels ...label) (h histogram) {
	for _, m := range r.metrics(name, labels...) {
		h.sum += m.GetHistogram().GetSampleSum()
		for i, b := range m.GetHistogram().GetBucket() {
			if i == len(h.counts) {
				h.bounds, h.counts = append(h.bounds, b.GetUpperBound()), append(h.counts, 0)
			}
			h.counts[i] += float64(b.GetCumulativeCount())
		}
	}
	return h
}

func (h histogram) count() float64 {
	if len(h.counts) == 0 {
		return 0
	}
	return h.counts[len(h.counts)-1]
}

// mean returns the mean of what was counted, 0 for nothing.
func (h histogram) mean() float64 {
	if h.count() == 0 {
		return 0
	}
	return h.sum / h.count()
}

// quantile returns what a part q of what was counted is at most, estimated within its bucket as Prometheus does, and
// false if nothing was counted.
func (h histogram) quantile(q float64) (float64, bool) {
	rank := q * h.count()
	if rank == 0 {
		return 0, false
	}
	for i, count := range h.counts {
		if count < rank {
			continue
		}
		low, below := 0.0, 0.0
		if i > 0 {
			low, below = h.bounds[i-1], h.counts[i-1]
		}
		if math.IsInf(h.bounds[i], 1) {
			return low, true
		}
		return low + (h.bounds[i]-low)*(rank-below)/(count-below), true
	}
	return 0, false
}
