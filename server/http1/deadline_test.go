package http1

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestDeadline: it is never early, a sixteenth late at most, and not set more often than
// that makes necessary.
func TestDeadline(t *testing.T) {
	var set []time.Time
	l := deadline{set: func(at time.Time) error { set = append(set, at); return nil }}
	now := time.Unix(1000, 0)
	const d = 16 * time.Second
	for step := range 64 { // of a quarter of a second, so d/slack is four
		l.after(now, d)
		if late := l.at.Sub(now) - d; late < 0 || late > d/slack {
			t.Fatalf("step %d: late by %v", step, late)
		}
		now = now.Add(time.Second / 4)
	}
	if want := (64 + 4) / 5; len(set) != want {
		t.Errorf("set %d times, want %d", len(set), want)
	}
	if last := set[len(set)-1]; last != l.at {
		t.Errorf("the last was %v, but is taken to be %v", last, l.at)
	}

	for _, other := range []time.Duration{time.Second, time.Hour, d} { // shorter, longer, shorter again
		if n := len(set); l.after(now, other) != nil || len(set) != n+1 {
			t.Errorf("%v: another deadline was not set", other)
		}
	}
	for _, at := range []time.Time{{}, time.Unix(1, 0)} {
		l.exactly(at)
		if set[len(set)-1] != at {
			t.Errorf("set %v, want %v", set[len(set)-1], at)
		}
		if n := len(set); l.after(now, d) != nil || len(set) != n+1 {
			t.Errorf("after %v: no deadline was set", at)
		}
	}
}

// TestDeadlineFails: whoever sets one is told.
func TestDeadlineFails(t *testing.T) {
	failure := errors.New("no such connection")
	l := deadline{set: func(time.Time) error { return failure }}
	if err := l.after(time.Unix(1000, 0), time.Second); err != failure {
		t.Errorf("got %v", err)
	}
}

// TestWithTimeout: requests of a connection share a context for as long as it serves.
func TestWithTimeout(t *testing.T) {
	var seen []context.Context
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := WithTimeout(r, time.Hour)
		defer cancel()
		seen = append(seen, ctx)
		if ctx.Err() != nil {
			t.Errorf("request %d: the context has ended: %v", len(seen), ctx.Err())
		}
	})
	var ahead atomic.Int64 // of the machine's time
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s.Now = now
	address := start(t, s)
	c := dial(t, address)
	ask := func() context.Context {
		t.Helper()
		c.send(get)
		c.answer("GET")
		return seen[len(seen)-1]
	}
	first := ask()
	at, _ := first.Deadline()
	if late := at.Sub(now()) - time.Hour; late <= 0 || late > time.Hour/slack {
		t.Errorf("the context ends late by %v", late)
	}
	ahead.Store(int64(time.Minute))
	if ask() != first {
		t.Error("a minute later: another context")
	}
	ahead.Store(int64(5 * time.Minute))
	if ask() == first || first.Err() == nil {
		t.Error("after more than a sixteenth of its time: the same context, or the first has not ended")
	}
	other := dial(t, address)
	other.send(get)
	other.answer("GET")
	if seen[len(seen)-1] == seen[len(seen)-2] {
		t.Error("another connection: the same context")
	}
}

// TestTimeoutEnds with its time, and with the connection.
func TestTimeoutEnds(t *testing.T) {
	ended, waits := make(chan error, 1), make(chan time.Duration, 1)
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := WithTimeout(r, <-waits)
		defer cancel()
		<-ctx.Done()
		ended <- ctx.Err()
	}))
	c := dial(t, address)
	for range 2 { // the second cannot have the context of the first
		waits <- time.Millisecond
		c.send(get)
		if err := <-ended; err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		c.answer("GET")
	}
	waits <- patience
	c.send(get)
	c.Close()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the client has gone: got %v", err)
	}
}

// TestTimeoutElsewhere: a handler need not know who serves it.
func TestTimeoutElsewhere(t *testing.T) {
	ctx, cancel := WithTimeout(httptest.NewRequest("GET", "/", nil), time.Hour)
	if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
		t.Errorf("no deadline, or an error: %v", ctx.Err())
	}
	cancel()
	if ctx.Err() != context.Canceled {
		t.Errorf("canceled: got %v", ctx.Err())
	}
}

// TestDate is made once a second.
func TestDate(t *testing.T) {
	var c conn
	now := time.Date(2026, 11, 23, 19, 5, 6, 999_000_000, time.FixedZone("", 3600))
	if got := string(c.date(now)); got != "Mon, 23 Nov 2026 18:05:06 GMT" {
		t.Errorf("got %q", got)
	}
	if got := string(c.date(now.Add(time.Millisecond))); got != "Mon, 23 Nov 2026 18:05:07 GMT" {
		t.Errorf("a millisecond later: got %q", got)
	}
	if n := testing.AllocsPerRun(10, func() { c.date(now) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got := string((&conn{}).date(time.Unix(0, 0))); got != "Thu, 01 Jan 1970 00:00:00 GMT" {
		t.Errorf("the first second: got %q", got)
	}
}
