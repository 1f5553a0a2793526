// Package http1 serves an http.Handler over HTTP/1.1, for servers that respond within microseconds.
//
// net/http's own parser reads the requests, except for repeated heads, and handlers are written as for
// net/http. The loop around them differs. For each request, net/http has a goroutine that waits for the
// client to go away, a context, a writer with its own header, and several deadlines. Here these exist
// once for each connection, or only when needed. No handler here needs these features, so they are
// missing: HTTP/2, 1xx responses, trailers, Hijack and guessing a Content-Type. A handler that reads the
// body while it writes the response says so first: http.ResponseController.EnableFullDuplex.
//
// A handler must not use its writer or the body after it returns: the next request of the connection has
// the same ones. It must not change the URL or the header of a request, which later requests may share.
// ContentLength has the length of the body; the header does not.
//
//	Serve ── one goroutine for each connection ── conn.serve
//	             read a request    request.go   repeated heads: head.go, bodies: body.go
//	             call the handler  response.go  the client goes away: watch.go
//	             deadlines: deadline.go
package http1

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// Server serves Handler. Its fields must not change after Serve is called.
//
// The context of a request is that of its connection. It ends with the connection, with Close, or when
// the client goes away, but not with the request. The server notices that a client goes away from 10 to
// 20 ms after it has read the request, unless the client has sent the next one. A handler can read the
// body until the response starts; then the server skips the rest, at most 256 KiB. With full duplex it can
// read on, also in another goroutine, which has to end before the handler; if the body is not read to
// its end, the connection ends with the response. A response is sent when it is whole, has 16 KiB or is
// flushed: see response. The handler bounds the time that a client may take for
// that with http.ResponseController.SetWriteDeadline, which may be late by a sixteenth of the time left.
// By default there is no bound.
type Server struct {
	Handler http.Handler

	// MaxHeader bounds a head, in bytes. It is inexact by 4 KiB.
	MaxHeader int64
	// HeaderTimeout bounds a head from its first byte on, ReadTimeout a whole request from then on,
	// IdleTimeout the time between two requests. LingerTimeout bounds how long a client may still send
	// after the last response of its connection. All are required, and each may be late by a sixteenth.
	HeaderTimeout, ReadTimeout, IdleTimeout, LingerTimeout time.Duration
	// Now is the clock for deadlines and the header Date. It must have a monotonic reading and be
	// close to the machine's time. Clock starts the watch on the client of a slow request.
	Now   func() time.Time
	Clock clock.Clock
	// Log gets panics of handlers. http.ErrAbortHandler only ends the connection.
	Log *slog.Logger

	stopping atomic.Bool // set with mu held
	open     sync.WaitGroup

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	stop      chan struct{} // made with the first listener, closed once stopping
}

// Serve serves the connections of l. It returns when l fails, with its error, or with
// http.ErrServerClosed after Shutdown or Close. It closes l.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.track(l) {
		return http.ErrServerClosed
	}
	var wait time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			if c := newConn(s, nc); s.register(c) {
				go c.serve()
			} else {
				_ = nc.Close()
			}
			continue
		}
		if s.stopping.Load() {
			return http.ErrServerClosed
		}
		if !passing(err) {
			return err
		}
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.Log.Warn("no connection can be accepted", "cause", err, "again in", wait)
		over := make(chan struct{})
		s.Clock.AfterFunc(wait, func() { close(over) })
		select {
		case <-over:
		case <-s.stop:
		}
	}
}

// passing reports whether an error of Accept is temporary: no handles are left, or the client gave up.
func passing(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// track registers a listener, unless the server is stopping.
func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	if s.listeners == nil {
		s.listeners = make(map[net.Listener]struct{})
		s.stop = make(chan struct{})
	}
	s.listeners[l] = struct{}{}
	return true
}

// register adds a connection. It returns false if the server is stopping.
func (s *Server) register(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	if s.conns == nil {
		s.conns = make(map[*conn]struct{})
	}
	s.conns[c] = struct{}{}
	s.open.Add(1)
	return true
}

// forget removes a connection that is closed.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.open.Done()
}

// Shutdown closes the listeners and idle connections, and waits until the requests under way are done or
// ctx is. A request is under way once its head is read.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	err := s.stopLocked()
	for c := range s.conns {
		if c.busy.CompareAndSwap(false, true) { // no more requests start
			_ = c.nc.Close() // ends its goroutine
		}
	}
	s.mu.Unlock()
	none := make(chan struct{})
	go func() { s.open.Wait(); close(none) }()
	select {
	case <-none:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// Close closes everything at once. It ends the contexts of handlers under way.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.stopLocked()
	for c := range s.conns {
		_ = c.nc.Close()
		c.cancel()
	}
	return err
}

func (s *Server) stopLocked() (err error) {
	if !s.stopping.Swap(true) && s.stop != nil {
		close(s.stop)
	}
	for l := range s.listeners {
		if e := l.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
		delete(s.listeners, l)
	}
	return err
}
