package explain

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"
)

// recent are the lines that a SlowLog has written last, as JSON, the oldest first.
type recent struct {
	mu    sync.Mutex
	lines [][]byte
	bytes int // of them together
}

// What is kept is bounded in number and in bytes: the explanation of a table with many partitions is long.
const (
	maxRecent      = 100
	maxRecentBytes = 4 << 20
)

// add keeps a line, in place of the oldest ones if there is no room.
func (r *recent) add(ctx context.Context, begun time.Time, line []slog.Attr) {
	var text bytes.Buffer
	record := slog.NewRecord(begun, slog.LevelWarn, "", 0)
	record.AddAttrs(line...)
	if err := slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: inMicros}).Handle(ctx, record); err != nil {
		return // a buffer takes all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, bytes.TrimSpace(text.Bytes()))
	r.bytes += len(r.lines[len(r.lines)-1])
	for len(r.lines) > maxRecent || r.bytes > maxRecentBytes && len(r.lines) > 1 {
		r.bytes -= len(r.lines[0])
		r.lines[0] = nil
		r.lines = r.lines[1:]
	}
}

// inMicros leaves out what says the same of each line, and writes times as the HTTP interface does.
func inMicros(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.LevelKey, slog.MessageKey:
		return slog.Attr{}
	case slog.TimeKey:
		return slog.Int64(a.Key, a.Value.Time().UnixMicro())
	case "took":
		return slog.Int64("took_micros", a.Value.Duration().Microseconds())
	}
	return a
}

// newest returns the lines, the newest first. The caller must not change them.
func (r *recent) newest() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([][]byte, len(r.lines))
	for i, line := range r.lines {
		lines[len(lines)-1-i] = line
	}
	return lines
}
