package bigtable

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/colonnade-db/colonnade/tracing"
)

// logAccess writes the line of a call to Options.AccessLog. It has names and sizes, and nothing of a row.
func (c *caller) logAccess(code codes.Code, took time.Duration) {
	if c.server.opt.AccessLog == nil {
		return
	}
	line := []slog.Attr{
		slog.String("address", addressOf(c.ctx).String()),
		slog.String("method", "gRPC"),
		slog.String("route", c.method),
	}
	if c.table != "" {
		line = append(line, slog.String("table", c.table))
	}
	line = append(line,
		slog.String("status", code.String()),
		slog.Int64("bytes_in", c.received),
		slog.Int64("bytes_out", c.sent),
		slog.Int64("rows", c.stats.Rows),
		slog.Int64("cells", c.stats.Cells),
		slog.Duration("took", took.Round(time.Microsecond)))
	line = c.appendSender(line)
	c.server.opt.AccessLog.LogAttrs(context.WithoutCancel(c.ctx), slog.LevelInfo, "request", line...)
}

// appendSender appends who sent a call, and the trace that it is part of, as far as they are known.
func (c *caller) appendSender(line []slog.Attr) []slog.Attr {
	line = c.token.AppendTo(line)
	if id := cmp.Or(c.span.TraceID(), tracing.IDOf(metadata.ValueFromIncomingContext(c.ctx, "traceparent"))); id != "" {
		line = append(line, slog.String("trace_id", id))
	}
	return line
}
