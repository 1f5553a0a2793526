package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestShutdown: requests under way are answered, connections that wait are closed.
func TestShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			io.WriteString(w, strings.Repeat("x", sendSize))
		}
		entered <- struct{}{}
		<-release
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	address := l.Addr().String()
	idle, half, busy, silent := dial(t, address), dial(t, address), dial(t, address), dial(t, address)
	idle.send(get)
	<-entered
	release <- struct{}{}
	idle.answer("GET")
	half.send(get[:10])
	busy.send(get)
	<-entered
	begun := dial(t, address)
	begun.send(strings.Replace(get, "/0", "/begun", 1))
	<-entered
	eventually(t, "all have been accepted", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 5
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v with a request under way", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
	idle.closed()
	half.closed()
	silent.closed()
	close(release)
	if r, _ := busy.answer("GET"); r.StatusCode != 200 || !r.Close {
		t.Errorf("got %d, close %v", r.StatusCode, r.Close)
	}
	busy.closed()
	if r, body := begun.answer("GET"); r.StatusCode != 200 || len(body) != sendSize {
		t.Errorf("got %d and %d bytes", r.StatusCode, len(body))
	}
	begun.closed()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

// scripted is a listener whose first connections fail.
type scripted struct {
	net.Listener
	mu     sync.Mutex
	errors []error
}

func (l *scripted) Accept() (net.Conn, error) {
	l.mu.Lock()
	if len(l.errors) > 0 {
		err := l.errors[0]
		l.errors = l.errors[1:]
		l.mu.Unlock()
		return nil, err
	}
	l.mu.Unlock()
	return l.Listener.Accept()
}

type temporary struct{ error }

func (temporary) Temporary() bool { return true }

// TestAcceptFails: too few handles are waited for, anything else ends Serve.
func TestAcceptFails(t *testing.T) {
	s := newServer(sized)
	serve := func(l net.Listener) error {
		return s.Serve(&scripted{Listener: l, errors: []error{temporary{errors.New("too many open files")}, temporary{errors.New("too many open files")}}})
	}
	c := dial(t, listen(t, serve, s.Close))
	c.send(get)
	c.answer("GET")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := newServer(sized).Serve(&scripted{Listener: l, errors: []error{broken}}); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}
