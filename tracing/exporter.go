package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/proto"
)

// exporter posts spans to a collector. The library's own exporter brings gRPC and a gateway to it along, 5.7 MB of
// program; this one shares the encoder of protocol buffers with package metrics. Spans that cannot be sent are
// dropped: a collector that is down must not cost memory. The processor calls it from one goroutine.
type exporter struct {
	endpoint string
	client   *http.Client
	log      *slog.Logger
	lost     int // spans since the last that were sent
}

// postTimeout bounds one post. The processor makes the next one then.
const postTimeout = 10 * time.Second

// ExportSpans sends spans. It logs what keeps it from that, the first of several times, and returns no error, which would
// go to a log of its own.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.post(ctx, spans)
	switch {
	case err != nil:
		if e.lost == 0 {
			e.log.Warn("spans cannot be sent, and are dropped", "endpoint", e.endpoint, "cause", err)
		}
		e.lost += len(spans)
	case e.lost > 0:
		e.log.Info("spans are sent again", "endpoint", e.endpoint, "lost", e.lost)
		e.lost = 0
	}
	return nil
}

func (e *exporter) post(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := proto.Marshal(message(spans))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", answer.Status)
	}
	return nil
}

// Shutdown has nothing to do: each ExportSpans is whole.
func (e *exporter) Shutdown(context.Context) error { return nil }
