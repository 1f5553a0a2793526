package tracing

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is something that takes its time. The zero Span is followed by nobody; its methods do nothing. It is for one
// goroutine.
type Span struct {
	span   trace.Span
	tracer trace.Tracer
}

// On reports whether somebody follows the span.
func (s Span) On() bool { return s.span != nil }

// TraceID returns the id of its trace in hexadecimal digits, "" if nobody follows it.
func (s Span) TraceID() string {
	if s.span == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// Part begins a span within this one, whose context ctx is or comes from.
func (s Span) Part(ctx context.Context, name string, begun time.Time) (context.Context, Span) {
	if s.span == nil {
		return ctx, Span{}
	}
	ctx, part := s.tracer.Start(ctx, name, trace.WithTimestamp(begun))
	return ctx, Span{part, s.tracer}
}

// Fail marks the span as failed, for a reason that says nothing of data.
func (s Span) Fail(why string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, why)
	}
}

// End ends the span. Another End does nothing.
func (s Span) End(ended time.Time, attrs ...slog.Attr) {
	if s.span == nil || !s.span.IsRecording() {
		return
	}
	list := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		list[i] = attributeOf(a)
	}
	s.span.SetAttributes(list...)
	s.span.End(trace.WithTimestamp(ended))
}

// attributeOf turns an attribute of package slog into one of OpenTelemetry. Durations are in seconds.
func attributeOf(a slog.Attr) attribute.KeyValue {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindInt64:
		return attribute.Int64(a.Key, v.Int64())
	case slog.KindUint64:
		return attribute.Int64(a.Key, int64(v.Uint64()))
	case slog.KindFloat64:
		return attribute.Float64(a.Key, v.Float64())
	case slog.KindBool:
		return attribute.Bool(a.Key, v.Bool())
	case slog.KindDuration:
		return attribute.Float64(a.Key, v.Duration().Seconds())
	default:
		return attribute.String(a.Key, v.String())
	}
}
