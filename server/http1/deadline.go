package http1

import (
	"context"
	"net/http"
	"time"
)

// Most requests need the same deadlines as the request before, a moment later. Setting a deadline moves
// a timer of the runtime, which costs as much as checking a head. So a deadline is set a little late, and
// stays while it is late enough for the next requests. Without this, 8 clients read at 0.91 of the
// rate (docs/performance.md#machinery).

// slack is the part of its time by which a deadline may be late.
const slack = 16

// deadline is the deadline of a connection's reads, of its writes, or of a context.
type deadline struct {
	set func(time.Time) error
	at  time.Time // zero for none
}

// after sets the deadline to d from now, or up to a sixteenth of d later.
func (l *deadline) after(now time.Time, d time.Duration) error {
	by := now.Add(d)
	if late := l.at.Sub(by); 0 <= late && late <= d/slack {
		return nil
	}
	return l.exactly(by.Add(d / slack))
}

// exactly sets the deadline; the zero time is none.
func (l *deadline) exactly(t time.Time) error {
	l.at = t
	err := l.set(t)
	if err != nil {
		l.at = time.Time{} // so that the next call for the same time fails, too
	}
	return err
}

type connKey struct{}

// WithTimeout is context.WithTimeout for the context of a request. It is cheaper if a Server made that
// context. Then requests of the connection share the new context, it may end up to a sixteenth of d
// late, and the CancelFunc does nothing. Only the handler's goroutine may call it, once in a request:
// another call, or the next request, may end the context of the one before.
func WithTimeout(r *http.Request, d time.Duration) (context.Context, context.CancelFunc) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok || r.Context() != c.ctx {
		return context.WithTimeout(r.Context(), d)
	}
	_ = c.works.after(c.server.Now(), d)
	return c.timed, func() {}
}

// renewTimed makes the context that ends with the connection or at t.
func (c *conn) renewTimed(t time.Time) error {
	if c.timed != nil {
		c.endTimed()
	}
	c.timed, c.endTimed = context.WithDeadline(c.ctx, t)
	return nil
}
