package explain

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// SlowLog writes the reads that took long to a log, and keeps the last ones. It is safe for concurrent use. All front ends of a Store share one.
type SlowLog struct {
	log   *slog.Logger
	limit atomic.Int64 // nanoseconds; 0 is for none
	kept  recent
}

// NewSlowLog returns a SlowLog for reads that take limit or longer, 0 for none.
func NewSlowLog(log *slog.Logger, limit time.Duration) *SlowLog {
	l := &SlowLog{log: log}
	l.Set(limit)
	return l
}

// Set replaces the limit, for reads that begin from now on.
func (l *SlowLog) Set(limit time.Duration) { l.limit.Store(int64(limit)) }

// Limit returns how long a read must take, 0 for none.
func (l *SlowLog) Limit() time.Duration { return time.Duration(l.limit.Load()) }

// Recent returns the last lines, the newest first: at most 100, and 4 MiB. Each is a JSON object with the fields of the
// line, times in microseconds. The caller must not change them.
func (l *SlowLog) Recent() [][]byte { return l.kept.newest() }

// On reports whether there is a limit, so that a read is to be explained. A nil SlowLog has none.
func (l *SlowLog) On() bool { return l != nil && l.limit.Load() != 0 }

// Slow reports whether a read that took so long is one for the log.
func (l *SlowLog) Slow(took time.Duration) bool {
	limit := l.limit.Load()
	return limit != 0 && int64(took) >= limit
}

// Call is what a line says of the call whose read was slow.
type Call struct {
	Route, Table string
	Begun        time.Time
	Took         time.Duration
	Status       slog.Value // as in the access log
	Sent         int64      // bytes
	Sender       []slog.Attr
}

// Add writes a line for a read that is Slow. stats is what it has looked at.
func (l *SlowLog) Add(ctx context.Context, r *Read, stats *widecol.Stats, c Call) {
	line := append([]slog.Attr{
		slog.String("route", c.Route),
		slog.String("table", c.Table),
		slog.Duration("took", c.Took.Round(time.Microsecond)),
		{Key: "status", Value: c.Status},
		slog.Int64("bytes_out", c.Sent),
	}, c.Sender...)
	if r.Items > 0 {
		line = append(line, slog.Int("items", r.Items))
	}
	line = append(line,
		slog.Attr{Key: "query", Value: slog.GroupValue(queryShape(&r.Query)...)},
		slog.Any("explain", json.RawMessage(r.Append(nil, stats, c.Took))))
	l.kept.add(ctx, c.Begun, line)
	l.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "slow query", line...)
}
