package tracing

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP receiver. It decodes what it gets with the definitions that OpenTelemetry publishes.
type receiver struct {
	*httptest.Server
	status int

	mu    sync.Mutex
	spans map[string]*wire.Span // by name; guarded by mu
	from  map[string]string     // the attributes of the resource; guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	c := &receiver{status: http.StatusOK, spans: map[string]*wire.Span{}, from: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m wire.TracesData // the same on the wire as an ExportTraceServiceRequest
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &m) != nil {
			t.Errorf("the collector got %s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		w.WriteHeader(c.status)
		if c.status == http.StatusOK {
			c.take(&m)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *receiver) take(m *wire.TracesData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range m.ResourceSpans {
		for _, a := range r.Resource.Attributes {
			c.from[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				c.spans[span.Name] = span
			}
		}
	}
}

func newTracer(c *receiver, ratio float64, log *slog.Logger) *Tracer {
	return New(Options{Endpoint: c.URL + "/v1/traces", Client: c.Client(), Ratio: ratio, Version: "v1", Log: log})
}

func header(traceparent string) http.Header {
	h := http.Header{}
	if traceparent != "" {
		h.Set("Traceparent", traceparent)
	}
	return h
}

var begun = time.Date(2026, 11, 28, 10, 0, 0, 123, time.UTC)

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
)

// TestSpans: spans arrive with their names, times, attributes, status, and their place in the trace of the client.
func TestSpans(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	c := newReceiver(t)
	tracer := newTracer(c, 0, nil)
	ctx, request := tracer.Request(context.Background(), header("00-"+parentTrace+"-"+parentSpan+"-01"), "request", begun)
	in, part := request.Part(ctx, "part", begun.Add(time.Second))
	deeper := tracer.Part(in, "over", begun.Add(time.Second), begun.Add(2*time.Second), slog.Int("n", 7), slog.Bool("b", true), slog.String("s", "x"), slog.Duration("d", time.Minute), slog.Float64("f", 0.5), slog.Uint64("u", 1))
	tracer.Part(deeper, "deep", begun, begun)
	part.End(begun.Add(3 * time.Second))
	part.End(begun.Add(time.Hour))
	request.Fail("why")
	request.End(begun.Add(4 * time.Second))
	if request.TraceID() != parentTrace {
		t.Errorf("the trace is %s", request.TraceID())
	}
	if err := tracer.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c.from["service.name"] != "colonnade" || c.from["service.version"] != "v1" || c.from["deployment.environment"] != "test" {
		t.Errorf("the resource is %v", c.from)
	}
	parent := map[string]string{"request": parentSpan, "part": id(c.spans["request"]), "over": id(c.spans["part"]), "deep": id(c.spans["over"])}
	if len(c.spans) != len(parent) {
		t.Fatalf("got %d spans", len(c.spans))
	}
	for name, want := range parent {
		if s := c.spans[name]; hex(s.TraceId) != parentTrace || hex(s.ParentSpanId) != want {
			t.Errorf("%s is of trace %x below %x", name, s.TraceId, s.ParentSpanId)
		}
	}
	r, p := c.spans["request"], c.spans["part"]
	if r.Kind != wire.Span_SPAN_KIND_SERVER || p.Kind != wire.Span_SPAN_KIND_INTERNAL || r.Status.GetCode() != wire.Status_STATUS_CODE_ERROR || r.Status.Message != "why" || p.Status.GetCode() != wire.Status_STATUS_CODE_UNSET {
		t.Errorf("kinds and status: %v, %v", r, p)
	}
	if r.StartTimeUnixNano != uint64(begun.UnixNano()) || r.EndTimeUnixNano-r.StartTimeUnixNano != 4e9 || p.EndTimeUnixNano-p.StartTimeUnixNano != 2e9 {
		t.Errorf("times: %v, %v", r, p)
	}
	var text []string
	for _, a := range c.spans["over"].Attributes {
		text = append(text, a.Key+"="+strings.TrimSpace(strings.ReplaceAll(a.Value.String(), "  ", " ")))
	}
	if got, want := strings.Join(text, " "), `n=int_value:7 b=bool_value:true s=string_value:"x" d=double_value:60 f=double_value:0.5 u=int_value:1`; got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
}

func id(s *wire.Span) string { return hex(s.GetSpanId()) }

func hex(b []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, x := range b {
		out = append(out, digits[x>>4], digits[x&15])
	}
	return string(out)
}

// TestSampling: the ratio decides where the client does not, and what is not followed has no parts.
func TestSampling(t *testing.T) {
	for _, test := range []struct {
		ratio       float64
		traceparent string
		want        bool
	}{
		{1, "", true}, {0, "", false}, {1, "broken", true},
		{0, "00-" + parentTrace + "-" + parentSpan + "-01", true},
		{1, "00-" + parentTrace + "-" + parentSpan + "-00", false},
	} {
		c := newReceiver(t)
		tracer := newTracer(c, 1-test.ratio, nil)
		tracer.SetRatio(test.ratio)
		ctx, s := tracer.Request(context.Background(), header(test.traceparent), "request", begun)
		in, part := s.Part(ctx, "part", begun)
		tracer.Part(in, "over", begun, begun)
		part.End(begun)
		s.Fail("")
		s.End(begun)
		if err := tracer.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := 0
		if test.want {
			want = 3
		}
		if s.On() != test.want || (s.TraceID() != "") != test.want || len(c.spans) != want {
			t.Errorf("%v: followed %v, %d spans", test, s.On(), len(c.spans))
		}
	}
}

// TestWork: background work is a trace of its own, also if the context of a request is near.
func TestWork(t *testing.T) {
	c := newReceiver(t)
	tracer := newTracer(c, 1, nil)
	tracer.Work("flush", begun, begun.Add(time.Second), slog.Int("files", 1))
	tracer.Part(context.Background(), "orphan", begun, begun)
	if err := tracer.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := c.spans["flush"]; len(c.spans) != 1 || s == nil || s.ParentSpanId != nil {
		t.Errorf("got %v", c.spans)
	}
}

// TestCollectorFails: the log says so once, and again when spans can be sent.
func TestCollectorFails(t *testing.T) {
	c := newReceiver(t)
	var log bytes.Buffer
	tracer := newTracer(c, 1, slog.New(slog.NewTextHandler(&log, nil)))
	for _, status := range []int{503, 400, 200, 200} {
		c.status = status
		tracer.Work("flush", begun, begun)
		if err := tracer.provider.ForceFlush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	text := log.String()
	if strings.Count(text, "\n") != 2 || strings.Count(text, "cannot be sent") != 1 || !strings.Contains(text, "503 Service Unavailable") || !strings.Contains(text, "lost=2") {
		t.Errorf("the log is\n%s", text)
	}
	c.Server.CloseClientConnections()
	c.Server.Close()
	tracer.Work("flush", begun, begun)
	if err := tracer.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the log is\n%s", &log)
	}
}

// TestNobodyFollows: a zero Span costs no memory.
func TestNobodyFollows(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		var s Span
		_, part := s.Part(ctx, "part", begun)
		part.End(begun)
		s.Fail("")
		s.End(begun)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
