package tracing

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// message returns the request that exports spans. All of them are of one Tracer.
func message(spans []sdk.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	scope := &wire.ScopeSpans{}
	all := &wire.ResourceSpans{ScopeSpans: []*wire.ScopeSpans{scope}}
	for i, s := range spans {
		if i == 0 {
			all.Resource = &resource.Resource{Attributes: keyValues(s.Resource().Attributes())}
			scope.Scope = &common.InstrumentationScope{Name: s.InstrumentationScope().Name}
		}
		scope.Spans = append(scope.Spans, encode(s))
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*wire.ResourceSpans{all}}
}

func encode(s sdk.ReadOnlySpan) *wire.Span {
	id, span := s.SpanContext().TraceID(), s.SpanContext().SpanID()
	w := &wire.Span{
		TraceId:                id[:],
		SpanId:                 span[:],
		TraceState:             s.SpanContext().TraceState().String(),
		Flags:                  uint32(s.SpanContext().TraceFlags()),
		Name:                   s.Name(),
		Kind:                   wire.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano:      uint64(s.StartTime().UnixNano()),
		EndTimeUnixNano:        uint64(s.EndTime().UnixNano()),
		Attributes:             keyValues(s.Attributes()),
		DroppedAttributesCount: uint32(s.DroppedAttributes()),
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		w.ParentSpanId = parent[:]
	}
	if s.SpanKind() == trace.SpanKindServer {
		w.Kind = wire.Span_SPAN_KIND_SERVER
	}
	if status := s.Status(); status.Code == codes.Error {
		w.Status = &wire.Status{Code: wire.Status_STATUS_CODE_ERROR, Message: status.Description}
	}
	return w
}

// keyValues encodes attributes: those that attributeOf makes, and strings of the environment.
func keyValues(list []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, len(list))
	for i, a := range list {
		v := new(common.AnyValue)
		switch a.Value.Type() {
		case attribute.INT64:
			v.Value = &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		case attribute.FLOAT64:
			v.Value = &common.AnyValue_DoubleValue{DoubleValue: a.Value.AsFloat64()}
		case attribute.BOOL:
			v.Value = &common.AnyValue_BoolValue{BoolValue: a.Value.AsBool()}
		default:
			v.Value = &common.AnyValue_StringValue{StringValue: a.Value.String()}
		}
		out[i] = &common.KeyValue{Key: string(a.Key), Value: v}
	}
	return out
}
