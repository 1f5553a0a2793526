package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// held returns a server with a write under way that waits for release or the
// end of its context, and the connection that it came over.
func held(t *testing.T) (c *client, w *wire, release chan struct{}) {
	c, store, _ := streaming(t, fakeRows{})
	started := make(chan struct{})
	release = make(chan struct{})
	store.onWrite = func(ctx context.Context) error {
		close(started)
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w = dial(t, listen(t, c.Server))
	body := cellOf("i64", "1")
	w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	<-started
	return c, w, release
}

// TestShutdown: requests under way are answered, new ones are not taken (H18).
func TestShutdown(t *testing.T) {
	c, w, release := held(t)
	done := make(chan error)
	go func() { done <- c.Shutdown(context.Background()) }()
	eventually(t, "the server is not ready any more", func() bool { return c.send("GET", "/readyz", "").Code == 503 })
	if code := c.send("GET", "/healthz", "").Code; code != 200 {
		t.Errorf("healthz: got %d, want 200", code)
	}
	if e := c.call("GET", "/v1/table", ""); e.Status != 503 || e.Error.Code != "shutting_down" {
		t.Errorf("got %d %+v for a new request", e.Status, e.Error)
	}
	close(release)
	if r, body := w.answer(); r.StatusCode != 200 || !strings.Contains(body, "Data ingestion successful") {
		t.Errorf("got %d %s for the request under way", r.StatusCode, body)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	w.closed()
}

// TestShutdownTimeout: requests that do not end are broken off.
func TestShutdownTimeout(t *testing.T) {
	c, w, _ := held(t)
	w.send("GET /") // whoever watches the client looks no further, and would not see it go
	c.timeouts.Drain = 20 * time.Millisecond
	if err := c.Shutdown(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the deadline has passed", err)
	}
	w.closed()
	select {
	case <-c.admission.Drain():
	case <-time.After(patience):
		t.Error("the handler was not told to end")
	}
}

// TestShutdownOfHandler: a server that something else serves drains as well.
func TestShutdownOfHandler(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	started, release := make(chan struct{}), make(chan struct{})
	store.onWrite = func(context.Context) error { close(started); <-release; return nil }
	answered := make(chan int)
	go func() { answered <- c.send("POST", "/v1/table/t/write", cellOf("i64", "1")).Code }()
	<-started
	done := make(chan error)
	go func() { done <- c.Shutdown(context.Background()) }()
	eventually(t, "the server is not ready any more", func() bool { return c.send("GET", "/readyz", "").Code == 503 })
	select {
	case err := <-done:
		t.Fatalf("Shutdown returned %v with a request under way", err)
	default:
	}
	close(release)
	if code := <-answered; code != 200 {
		t.Errorf("got %d for the request under way", code)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestServeFails: Serve passes on what is wrong with its listener.
func TestServeFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := newClient(t).Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}
