package http1

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// TestWatch: a request that takes long ends when its client goes, and not when it sends
// the next one.
func TestWatch(t *testing.T) {
	hours := clock.NewManual(0)
	entered, release := make(chan context.Context), make(chan struct{})
	s := newServer(func(_ http.ResponseWriter, r *http.Request) {
		entered <- r.Context()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s.Clock = hours
	c := dial(t, start(t, s))
	ring := func() {
		t.Helper()
		hours.Advance(watchAfter)
		eventually(t, "somebody watches", s.looking)
	}
	for range 3 { // answered while it looks
		c.send(get)
		<-entered
		ring()
		release <- struct{}{}
		c.answer("GET")
	}
	c.send(get) // sends the next one meanwhile
	ctx := <-entered
	ring()
	c.send(get)
	eventually(t, "it has come", func() bool { return !s.looking() })
	release <- struct{}{}
	c.answer("GET")
	if ctx.Err() != nil {
		t.Errorf("a client that is there was taken for gone: %v", ctx.Err())
	}
	ctx = <-entered
	c.Close()
	eventually(t, "the client that has gone is noticed", func() bool {
		hours.Advance(watchAfter)
		return ctx.Err() != nil
	})
}

// TestContext: it ends with the connection, and not with the request.
func TestContext(t *testing.T) {
	seen := make(chan context.Context, 1)
	c := dial(t, start(t, newServer(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Context() })))
	c.send(get)
	c.answer("GET")
	ctx := <-seen
	if ctx.Err() != nil {
		t.Errorf("got %v", ctx.Err())
	}
	c.Close()
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Error("the context of a connection that is gone goes on")
	}
}
