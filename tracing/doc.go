// Package tracing follows requests, and what the store does for them, and sends what it has seen to a collector, by
// OpenTelemetry's protocol over HTTP (OTLP). It stands beside package metrics, below every front end.
//
//	Tracer.Request     begins the span of a request, in the trace of its client if it names one (W3C Trace Context)
//	Span.Part          begins a span within it
//	Tracer.Part        adds a span that is over, and Tracer.Work one of background work: a Tracer is an engine.Tracer
//
// A zero Span is followed by nobody and costs a comparison. The same is true of the spans of requests that are not
// sampled.
//
// Names and sizes are attributes of spans. Keys, qualifiers and values never are.
package tracing
