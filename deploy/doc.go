// Package deploy has what watches a server: alert rules and a dashboard. Its test evaluates each of their expressions
// over the metrics of a live server, with Prometheus' own engine.
package deploy
