package server

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// audit writes a line about a request that may have changed a schema or was for a checkpoint, or that was refused for its token, to
// Options.Audit. It has names, and nothing of a row.
func (s *Server) audit(x *requestContext, err error) {
	var f *failure
	if err != nil && !errors.Is(err, errGone) {
		f = failureOf(err)
	}
	event := x.event
	switch {
	case f != nil && f.access:
		event = "refused"
	case event == "", s.opt.Access != nil && x.token == nil: // the second breaks a rule, whoever sent it
		return
	}
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("address", addressOf(x.r).String()), slog.String("method", shorten(x.r.Method)), slog.String("path", shorten(x.r.URL.Path)))
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("table", x.table)
	add("family", x.family)
	if x.token != nil {
		add("token", x.token.ID)
		add("token_name", x.token.Name)
	}
	if f != nil {
		attrs = append(attrs, slog.Int("status", f.status), slog.String("code", f.code))
	} else {
		attrs = append(attrs, slog.Int("status", x.status))
	}
	attrs = append(attrs, slog.Duration("took", x.elapsed().Round(time.Microsecond)))
	s.opt.Audit.LogAttrs(context.WithoutCancel(x.ctx()), slog.LevelInfo, event, attrs...)
}
