// Package metrics shows what the process does, in the formats of Prometheus and OpenMetrics.
//
//	front end ──► FrontEnd, Route    requests, as they end        (requests.go)
//	store     ──► storemetrics       a snapshot at each scrape, and syncs of the log as they end
//	process   ──► Registry.AddProcess                             (process.go)
//	                   └──► Registry ──► GET /metrics             (registry.go)
//
// What a front end records takes less than a microsecond and allocates nothing. All else is asked for when somebody
// scrapes. Labels have values from the program alone; those of tables are bounded in number (storemetrics).
//
// docs/metrics.md says what each metric means.
package metrics
