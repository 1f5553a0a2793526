package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
)

// spans are what Options.Tracer follows of a request.
type spans struct {
	whole tracing.Span
	part  tracing.Span // in the Store; zero between two parts
}

// traceID returns the id of the trace, "" if there is none.
func (s *spans) traceID() string {
	if s == nil {
		return ""
	}
	return s.whole.TraceID()
}

// trace begins to follow a request, if it is sampled. Its parts are in the new context of x.r.
func (s *Server) trace(x *requestContext) {
	ctx, span := s.opt.Tracer.Request(x.ctx(), x.r.Header, x.pattern, x.start)
	if span.On() {
		x.spans = &spans{whole: span}
		x.r = x.r.WithContext(ctx)
	}
}

// beginPart begins a part of the request in the Store.
func (x *requestContext) beginPart(ctx context.Context, name string) context.Context {
	if x.spans != nil {
		ctx, x.spans.part = x.spans.whole.Part(ctx, name, x.server.opt.Now())
	}
	return ctx
}

// endPart ends the part under way, if there is one.
func (x *requestContext) endPart(attrs ...slog.Attr) {
	if x.spans != nil && x.spans.part.On() {
		x.spans.part.End(x.server.opt.Now(), attrs...)
		x.spans.part = tracing.Span{}
	}
}

// waited adds the wait for a slot, since begun.
func (x *requestContext) waited(begun time.Time) {
	_, wait := x.spans.whole.Part(x.ctx(), "wait for a slot", begun)
	wait.End(x.server.opt.Now())
}

// looked records what the queries of the request have looked at, which is the end of their part.
func (x *requestContext) looked(stats widecol.Stats) {
	x.stats = stats
	if x.spans != nil {
		x.endPart(slog.Int64("colonnade.rows_scanned", stats.RowsScanned), slog.Int64("colonnade.cells_scanned", stats.CellsScanned),
			slog.Int64("colonnade.bytes_scanned", stats.BytesScanned), slog.Int64("colonnade.partitions", stats.Partitions))
	}
}

// endTrace ends what is followed of the request, which took so long.
func (x *requestContext) endTrace(took time.Duration) {
	if x.spans == nil {
		return
	}
	x.endPart()
	whole := x.spans.whole
	switch {
	case x.status == metrics.Aborted:
		whole.Fail("broken off")
	case x.status >= 500:
		whole.Fail("")
	}
	whole.End(x.start.Add(took),
		slog.String("http.request.method", shorten(x.r.Method)), slog.String("http.route", x.pattern), slog.Int("http.response.status_code", x.status),
		slog.String("colonnade.table", x.table), slog.Int64("colonnade.rows", x.stats.Rows), slog.Int64("colonnade.cells", x.stats.Cells),
		slog.Int64("http.request.body.size", x.received), slog.Int64("http.response.body.size", x.written))
}
