package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/tracing"
)

// checkTraces checks the URL of the collector.
func (o *serveOptions) checkTraces() error {
	if o.traceEndpoint == "" {
		return nil
	}
	u, err := url.Parse(o.traceEndpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return o.config.Wrong("trace-endpoint", "must be a URL such as http://127.0.0.1:4318 (OTLP over HTTP; the port of gRPC, 4317, does not take it)")
	}
	return nil
}

// tracesPath is where a collector takes traces, unless the option has a path of its own.
const tracesPath = "/v1/traces"

// newTracer returns what follows requests, or nil.
func (o *serveOptions) newTracer(log *slog.Logger) *tracing.Tracer {
	if o.traceEndpoint == "" {
		return nil
	}
	endpoint := strings.TrimSuffix(o.traceEndpoint, "/")
	if u, err := url.Parse(endpoint); err == nil && u.Path == "" { // it was checked
		endpoint += tracesPath
	}
	return tracing.New(tracing.Options{Endpoint: endpoint, Client: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, Ratio: o.traceRatio, Version: version(), Log: log})
}

// closeTracer sends the spans that are left, for a moment: a collector that does not answer must not hold up the end.
func closeTracer(t *tracing.Tracer, log *slog.Logger) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		log.Warn("the last spans were not sent", "cause", err)
	}
}
