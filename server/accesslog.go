package server

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/tracing"
)

// logAccess writes the line of a request to Options.AccessLog. It has names and sizes, nothing of a row, and of the path
// only the table: the rest may be anything.
func (x *requestContext) logAccess(took time.Duration) {
	var attrs [14]slog.Attr
	line := append(attrs[:0],
		slog.String("address", addressOf(x.r).String()),
		slog.String("method", shorten(x.r.Method)),
		slog.String("route", x.pattern))
	if x.table != "" {
		line = append(line, slog.String("table", shorten(x.table)))
	}
	line = append(line,
		slog.Int("status", x.status),
		slog.Int64("bytes_in", x.received),
		slog.Int64("bytes_out", x.written),
		slog.Int64("rows", x.stats.Rows),
		slog.Int64("cells", x.stats.Cells),
		slog.Duration("took", took.Round(time.Microsecond)))
	line = x.appendSender(line)
	x.server.opt.AccessLog.LogAttrs(context.WithoutCancel(x.ctx()), slog.LevelInfo, "request", line...)
}

// appendSender appends who sent a request, and the trace that it is part of, as far as they are known.
func (x *requestContext) appendSender(line []slog.Attr) []slog.Attr {
	line = x.token.AppendTo(line)
	if id := cmp.Or(x.spans.traceID(), tracing.IDOf(x.r.Header["Traceparent"])); id != "" {
		line = append(line, slog.String("trace_id", id))
	}
	return line
}
