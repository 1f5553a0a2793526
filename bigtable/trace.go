package bigtable

import (
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// trace begins to follow a call, if it is sampled. Its parts are in the new context.
func (c *caller) trace() {
	if c.server.opt.Tracer == nil {
		return
	}
	header := make(http.Header)
	for _, name := range []string{"Traceparent", "Tracestate"} {
		if values := metadata.ValueFromIncomingContext(c.ctx, name); values != nil {
			header[name] = values
		}
	}
	c.ctx, c.span = c.server.opt.Tracer.Request(c.ctx, header, c.service+"/"+c.method, c.begun)
}

// waited adds the wait for a slot, since begun.
func (c *caller) waited(begun time.Time) {
	if c.span.On() {
		_, wait := c.span.Part(c.ctx, "wait for a slot", begun)
		wait.End(c.server.time())
	}
}

// endTrace ends what is followed of the call.
func (c *caller) endTrace(code codes.Code, took time.Duration) {
	if !c.span.On() {
		return
	}
	switch code {
	case codes.Canceled:
		c.span.Fail("broken off")
	case codes.Unknown, codes.Internal, codes.Unavailable, codes.DataLoss, codes.DeadlineExceeded:
		c.span.Fail("")
	}
	c.span.End(c.begun.Add(took),
		slog.String("rpc.system", "grpc"), slog.String("rpc.service", c.service), slog.String("rpc.method", c.method), slog.Int("rpc.grpc.status_code", int(code)),
		slog.String("colonnade.table", c.table), slog.Int64("colonnade.rows", c.stats.Rows), slog.Int64("colonnade.cells", c.stats.Cells),
		slog.Int64("rpc.request.size", c.received), slog.Int64("rpc.response.size", c.sent))
}
