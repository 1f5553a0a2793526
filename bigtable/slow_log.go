package bigtable

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/widecol"
)

// explains makes a query explain itself, if slow ones are logged. It is called when the call may work.
func (c *caller) explains(q *widecol.Query) {
	if !c.server.opt.Slow.On() {
		return
	}
	c.explained = &explain.Read{Query: *q, Receiving: c.server.time().Sub(c.begun)}
	q.Explain = &c.explained.Explain
}

// open opens the view of the call's table.
func (c *call) open(ctx context.Context) (widecol.View, error) {
	read := c.caller.explained
	if read == nil {
		return c.server.store.View(ctx, c.table)
	}
	begun := c.server.time()
	defer func() { read.Opening = c.server.time().Sub(begun) }()
	return c.server.store.View(ctx, c.table)
}

// scan starts a query.
func (c *call) scan(ctx context.Context, view widecol.View, q *widecol.Query) (widecol.Rows, error) {
	read := c.caller.explained
	if read == nil {
		return view.Scan(ctx, q)
	}
	begun := c.server.time()
	rows, err := view.Scan(ctx, q)
	read.Reading += c.server.time().Sub(begun)
	if err != nil {
		return nil, err
	}
	return read.Timed(rows, c.server.time), nil
}

// logSlow writes a read that took long to Options.Slow. What is neither for the request nor the Store's is for the
// answer: making it, and waiting for the client.
func (c *caller) logSlow(code codes.Code, took time.Duration) {
	slow, r := c.server.opt.Slow, c.explained
	if r == nil || !slow.Slow(took) {
		return
	}
	r.Writing = took - r.Receiving - r.Opening - r.Reading
	slow.Add(c.ctx, r, &c.stats, explain.Call{
		Route: c.method, Table: c.table, Begun: c.begun, Took: took, Status: slog.StringValue(code.String()), Sent: c.sent, Sender: c.appendSender(nil),
	})
}
