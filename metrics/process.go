package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// AddProcess adds the metrics of this process: those of the Go runtime, of the operating system, and the version of
// the program.
func (r *Registry) AddProcess(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "colonnade_build_info", Help: "The version of the program, as labels. Always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	r.Add(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
