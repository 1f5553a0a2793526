package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options configure a Tracer. Endpoint and Client are required.
type Options struct {
	// Endpoint is the URL to which spans are posted, such as http://127.0.0.1:4318/v1/traces.
	Endpoint string
	Client   *http.Client
	// Ratio is the part of the traces that are followed, from 0 to 1, among those whose client does not decide.
	Ratio float64
	// Version is that of the program, for the collector.
	Version string
	// Log gets what keeps spans from being sent. nil drops it.
	Log *slog.Logger
}

// Tracer makes spans and sends them from a goroutine of its own. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sampler  *sampler
	context  propagation.TraceContext
}

// New returns a Tracer. Close it, so that it sends what it has.
func New(o Options) *Tracer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tracer{sampler: new(sampler)}
	t.SetRatio(o.Ratio)
	t.provider = sdk.NewTracerProvider(
		sdk.WithBatcher(&exporter{endpoint: o.Endpoint, client: o.Client, log: o.Log}),
		sdk.WithSampler(sdk.ParentBased(t.sampler)),
		sdk.WithResource(describe(o.Version)),
	)
	t.tracer = t.provider.Tracer("colonnade")
	return t
}

// describe returns what all spans have in common. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES add to it, and win.
func describe(version string) *resource.Resource {
	r, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "colonnade"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil || r == nil { // of the environment; the rest is there
		return resource.NewSchemaless(attribute.String("service.name", "colonnade"), attribute.String("service.version", version))
	}
	return r
}

// SetRatio replaces Options.Ratio, for traces that begin from now on.
func (t *Tracer) SetRatio(ratio float64) {
	s := sdk.TraceIDRatioBased(ratio)
	t.sampler.now.Store(&s)
}

// Close sends what is left, until ctx is done.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Request begins the span of a request whose header is h. The context that it returns is for its parts. The Span is
// zero if nobody follows it.
func (t *Tracer) Request(ctx context.Context, h http.Header, name string, begun time.Time) (context.Context, Span) {
	in := t.context.Extract(ctx, propagation.HeaderCarrier(h))
	in, s := t.tracer.Start(in, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(begun))
	if !s.IsRecording() {
		return ctx, Span{}
	}
	return in, Span{s, t.tracer}
}

// Part adds a span that is over, within the one of ctx, if that is followed. The context that it returns is for its parts.
func (t *Tracer) Part(ctx context.Context, name string, begun, ended time.Time, attrs ...slog.Attr) context.Context {
	if !trace.SpanFromContext(ctx).SpanContext().IsSampled() {
		return ctx
	}
	return t.add(ctx, name, begun, ended, attrs)
}

// Work adds a span that is over and part of nothing, as a trace of its own.
func (t *Tracer) Work(name string, begun, ended time.Time, attrs ...slog.Attr) context.Context {
	return t.add(context.Background(), name, begun, ended, attrs)
}

func (t *Tracer) add(ctx context.Context, name string, begun, ended time.Time, attrs []slog.Attr) context.Context {
	ctx, s := t.tracer.Start(ctx, name, trace.WithTimestamp(begun))
	Span{s, t.tracer}.End(ended, attrs...)
	return ctx
}

// sampler is one whose ratio can change.
type sampler struct{ now atomic.Pointer[sdk.Sampler] }

func (s *sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	return (*s.now.Load()).ShouldSample(p)
}

func (s *sampler) Description() string { return (*s.now.Load()).Description() }
