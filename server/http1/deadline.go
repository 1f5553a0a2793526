package http1

import (
	"context"
	"net/http"
	"time"
)

// Most requests need the deadlines that the one before had, a moment later. To set one is
// to move a timer of the runtime, which costs as much as to check a head; so it is set a
// little later than it has to be, and left as long as it serves.

// slack is by what part of its time a deadline is late at most.
const slack = 16

// deadline is that of a connection's reads, of its writes, or of a context.
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

// exactly sets the deadline; zero is none.
func (l *deadline) exactly(t time.Time) error {
	l.at = t
	err := l.set(t)
	if err != nil {
		l.at = time.Time{} // whoever wants the same is told too
	}
	return err
}

type connKey struct{}

// WithTimeout is context.WithTimeout for the context of a request, which costs less if
// that is as a Server has made it. Then the context is shared by requests of the connection,
// ends up to a sixteenth of d later, and the CancelFunc does nothing. It is for the
// goroutine of the handler, and for once in a request: another call may end what the one
// before has returned, and so may the next request, if it has not ended by then.
func WithTimeout(r *http.Request, d time.Duration) (context.Context, context.CancelFunc) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok || r.Context() != c.ctx {
		return context.WithTimeout(r.Context(), d)
	}
	_ = c.works.after(c.server.Now(), d)
	return c.timed, func() {}
}

// renewTimed makes the context that ends with the connection, or at t.
func (c *conn) renewTimed(t time.Time) error {
	if c.timed != nil {
		c.endTimed()
	}
	c.timed, c.endTimed = context.WithDeadline(c.ctx, t)
	return nil
}
