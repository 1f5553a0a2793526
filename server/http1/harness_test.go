package http1

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// patience is how long a test waits for what must come. It bounds a failure; no test
// passes because of it.
const patience = 20 * time.Second

// newServer returns a server with long timeouts.
func newServer(h http.HandlerFunc) *Server {
	return &Server{
		Handler: h, MaxHeader: 16 << 10, HeaderTimeout: patience, ReadTimeout: patience, IdleTimeout: patience, LingerTimeout: patience,
		Now: time.Now, Clock: clock.System, Log: slog.New(slog.DiscardHandler),
	}
}

// listen has serve serve a loopback address until the test ends.
func listen(t testing.TB, serve func(net.Listener) error, stop func() error) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(l) }()
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func start(t testing.TB, s *Server) (address string) {
	t.Helper()
	return listen(t, s.Serve, s.Close)
}

// client is a connection.
type client struct {
	net.Conn
	in *bufio.Reader
	t  testing.TB
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	return &client{nc, bufio.NewReader(nc), t}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the answer to a request of the given method.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("no whole answer: %v", err)
	}
	return r, string(body)
}

// closed checks that nothing more comes.
func (c *client) closed() {
	c.t.Helper()
	var timeout net.Error
	if n, err := io.Copy(io.Discard, c.in); n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Errorf("got %d more bytes and %v, want the connection closed", n, err)
	}
}

// looking reports whether a client is watched, of a server with one.
func (s *Server) looking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.watch.mu.Lock()
		defer c.watch.mu.Unlock()
		return c.watch.state == watchLooking
	}
	return false
}

// eventually waits until what another goroutine is about to do is done.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited for this in vain: %s", what)
		}
	}
}
