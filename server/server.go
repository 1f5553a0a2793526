package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"colonnade/admission"
	"colonnade/internal/cores"
	"colonnade/server/http1"
	"colonnade/widecol"
)

// Server serves a Store over HTTP. It is safe for concurrent use. It does not
// own the Store: close that after Shutdown.
type Server struct {
	store         widecol.Store
	opt           Options // without zeros
	limits        timeouts
	origin        http.CrossOriginProtection
	hosts         map[string]bool
	admission     *admission.Control
	senders       *admission.Budget // answers that are sent by a goroutine of their own
	parallelScans *admission.Budget // answers that several goroutines collect
	http          http1.Server

	jitterMu sync.Mutex
	jitter   *rand.Rand // of Retry-After; guarded by jitterMu

	answered [6]atomic.Uint64 // by the first digit of the status; 0 is broken off
}

// New returns a Server for store.
func New(store widecol.Store, opt Options) *Server {
	opt = opt.withDefaults()
	s := &Server{
		store:         store,
		opt:           opt,
		limits:        defaultTimeouts,
		hosts:         make(map[string]bool),
		admission:     admission.New(opt.MaxInflight, opt.Clock),
		senders:       admission.NewBudget(int64(sendersPerCore * cores.Count())),
		parallelScans: admission.NewBudget(maxParallelScans),
		jitter:        rand.New(rand.NewPCG(opt.Seed, 0)),
	}
	for _, host := range opt.Hosts {
		s.hosts[hostname(host)] = true
	}
	s.http = http1.Server{Handler: s, MaxHeader: maxHeader, Log: opt.Log}
	return s
}

// Handler returns the server as an http.Handler, to be served by other means
// than Serve.
func (s *Server) Handler() http.Handler { return s }

// Serve answers the requests that arrive at l until Shutdown, and then returns
// nil. It closes l. Shutdown may still be at work when it returns.
func (s *Server) Serve(l net.Listener) error {
	s.http.Now, s.http.Clock = s.opt.Now, s.opt.Clock
	s.http.HeaderTimeout = s.limits.header
	s.http.ReadTimeout = s.limits.read
	s.http.IdleTimeout = s.limits.idle
	s.http.LingerTimeout = s.limits.linger
	err := s.http.Serve(newLimitListener(l, s.opt.MaxConns))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting connections, answers new requests with 503, and
// waits for those under way: until ctx is done, and no longer than 10 seconds.
// Then it breaks off the rest and returns an error. A handler that is still in
// a call of the Store at that moment ends when the call does.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, s.limits.drain)
	defer stop()
	done := s.admission.Drain()

	err := s.http.Shutdown(ctx)
	if err == nil {
		err = s.wait(ctx, done)
	}
	if err == nil {
		return s.http.Close()
	}
	ctx, stopGrace := context.WithTimeout(context.Background(), graceAfterCancel)
	defer stopGrace()
	return errors.Join(err, s.http.Close(), s.wait(ctx, done))
}

// graceAfterCancel is how long Shutdown waits for handlers that it broke off.
const graceAfterCancel = time.Second

func (s *Server) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("requests are still under way: %w", ctx.Err())
	}
}

// Stats says what a Server has answered.
type Stats struct {
	// Answers counts the answers by the first digit of their status.
	// Answers[0] are those that were broken off.
	Answers [6]uint64
}

// Stats returns the counts so far.
func (s *Server) Stats() (stats Stats) {
	for i := range stats.Answers {
		stats.Answers[i] = s.answered[i].Load()
	}
	return stats
}
