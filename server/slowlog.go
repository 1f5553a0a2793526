package server

import (
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/explain"
)

// logSlow writes a query that took Options.SlowQuery or longer to the server's log.
func (x *requestContext) logSlow(took time.Duration) {
	slow := x.server.slow
	if x.explain == nil || !slow.Slow(took) {
		return
	}
	slow.Add(x.ctx(), &x.explain.Read, &x.stats, explain.Call{
		Route: x.pattern, Table: x.table, Begun: x.start, Took: took, Status: slog.IntValue(x.status), Sent: x.written, Sender: x.appendSender(nil),
	})
}
