// Package deploy has what installs and watches a server. Its tests evaluate each expression of the alert rules and the dashboard
// over the metrics of a live server, with Prometheus' own engine, run the scripts of the packages among stand-ins, and read the
// files for Docker, Prometheus and Kubernetes with the types of those programs.
package deploy
