// Package http1 serves an http.Handler over HTTP/1.1, for servers whose answers take
// microseconds.
//
// Requests are read by net/http's own parser, but for a head that is the one before it
// again, and handlers are written as for net/http. What differs is the loop around them.
// That of net/http has, for each request, a goroutine that waits for the client to go, a
// context, a writer with a header of its own, and several deadlines. Here all of that
// exists once for each connection, or comes only when it is needed. What it leaves out,
// because no handler here needs it: HTTP/2, answers before the answer and trailers after
// it, taking a connection over (Hijack), Flush, guessing a Content-Type, reading a body
// while the answer is written.
//
// A handler is done with its writer and the body when it returns: the next request of
// the connection has the same ones. It changes neither the URL nor the header of a
// request, which the next ones may have too. How long the body is says ContentLength, and
// not the header.
//
//	Serve ── one goroutine for each connection ── conn.serve
//	             read a request    request.go   heads that come again: head.go, bodies: body.go
//	             call the handler  response.go  the client goes: watch.go
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

	"colonnade/clock"
)

// Server serves Handler. Its fields do not change once Serve is called.
//
// A request's context is that of its connection: it ends with that, with Close, or when
// the client goes, which is noticed from 10 to 20 ms after the request was read on and
// unless the client has sent the next one; and not with the request. Its body can
// be read until the answer is begun; what the handler leaves of it, 256 KiB at most, is
// skipped then. Answers are collected, and sent when they are whole or have 16 KiB: see
// response. How long a client may take for that is for the handler to say
// (http.ResponseController.SetWriteDeadline, which may be late by a sixteenth of the time
// that is left); if it does not, for ever.
type Server struct {
	Handler http.Handler

	// MaxHeader is how many bytes a head may have, give or take 4 KiB.
	MaxHeader int64
	// How long a head may take from its first byte on, a request as a whole from
	// then on, and the time between two requests. LingerTimeout is for a client that
	// still sends when it has the answer with which its connection ends. All are needed, and
	// each may take a sixteenth more.
	HeaderTimeout, ReadTimeout, IdleTimeout, LingerTimeout time.Duration
	// Now is the time, for deadlines and the header Date: the machine's, or near it, and
	// with a monotonic reading, since deadlines are kept for a while. Clock calls
	// back when a request has taken so long that its client is watched.
	Now   func() time.Time
	Clock clock.Clock
	// Log gets panics of handlers. Those with http.ErrAbortHandler just end the
	// connection.
	Log *slog.Logger

	stopping atomic.Bool // set with mu held
	open     sync.WaitGroup

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	stop      chan struct{} // made with the first listener, closed once stopping
}

// Serve answers the requests of the connections that l accepts. It returns when l
// fails, with its error, or http.ErrServerClosed after Shutdown or Close. It closes l.
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
			if c := newConn(s, nc); s.admit(c) {
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

// passing reports whether an error of Accept passes by itself: there may be handles
// again, or the client was the one that gave up.
func passing(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// track notes a listener, unless the server is stopping.
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

// admit notes a connection. It reports false for one that comes too late.
func (s *Server) admit(c *conn) bool {
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

// forget is told of each connection that was admitted and is closed.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.open.Done()
}

// Shutdown closes the listeners and the connections without a request under way, and
// waits until the others are done, or ctx is. A request is under way once its head is
// there.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	err := s.stopLocked()
	for c := range s.conns {
		if c.busy.CompareAndSwap(false, true) { // none begins any more
			_ = c.nc.Close() // its goroutine sees that
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

// Close closes everything at once. Handlers under way see their context end.
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
