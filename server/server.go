package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/server/http1"
	"github.com/colonnade-db/colonnade/widecol"
)

// Server serves a Store over HTTP. It is safe for concurrent use. It does not own the Store: close
// the Store after Shutdown.
type Server struct {
	store         widecol.Store
	opt           Options  // without zeros
	timeouts      Timeouts // those of opt, but for tests
	origin        http.CrossOriginProtection
	hosts         map[string]bool
	admission     *admission.Control
	senders       *admission.Budget // of responses with a sendQueue
	parallelScans *admission.Budget // of responses that several goroutines collect
	http          http1.Server      // of Serve
	https         http.Server       // of ServeTLS
	handler       http.Handler      // s, or what is before it
	connections   *admission.Connections
	meters        meters
	checkpoints   checkpoints
	document      func() []byte           // the OpenAPI document, made when it is first asked for
	console       map[string]*consoleFile // by the paths in URLs

	jitterMu sync.Mutex
	jitter   *rand.Rand // of Retry-After; guarded by jitterMu

	quotas *quota.Gate

	slow *explain.SlowLog

	_         [64]byte         // each request changes what is below, and reads what is above
	responses [6]atomic.Uint64 // by the first digit of the status; 0 is aborted
}

// New returns a Server for store.
func New(store widecol.Store, opt Options) *Server {
	opt = opt.withDefaults()
	s := &Server{
		store:         store,
		opt:           opt,
		timeouts:      opt.Timeouts,
		hosts:         make(map[string]bool),
		admission:     admission.New(opt.Limits, admission.NewLimiters(opt.Limits, opt.Clock)),
		connections:   admission.NewConnections(opt.MaxConns),
		senders:       admission.NewBudget(int64(sendersPerCore * cores.Count())),
		parallelScans: admission.NewBudget(maxParallelScans),
		document:      sync.OnceValue(func() []byte { return document(routes) }),
		console:       newConsole(opt.Console),
		jitter:        rand.New(rand.NewPCG(opt.Seed, 0)),
	}
	s.checkpoints = checkpoints{clock: opt.Clock, log: opt.Log, open: make(map[string]*checkpoint)}
	if c, ok := store.(widecol.Checkpointer); ok {
		s.checkpoints.store = c
	}
	for _, host := range opt.Hosts {
		s.hosts[hostname(host)] = true
	}
	s.slow = explain.NewSlowLog(opt.Log, opt.SlowQuery)
	s.quotas = newGate(store, opt.Quotas, opt.Metrics)
	s.meters = newMeters(opt.Metrics.FrontEnd("http"))
	s.addMetrics()
	s.handler = newHandler(s, opt)
	s.http = http1.Server{Handler: s.handler, MaxHeader: maxHeader, Log: opt.Log}
	// Of its own errors, most are failed handshakes: on a public address those of scanners.
	s.https.Handler, s.https.MaxHeaderBytes, s.https.ErrorLog = s.handler, maxHeader, slog.NewLogLogger(opt.Log.Handler(), slog.LevelDebug)
	return s
}

// Admission returns what decides which requests may work, for other front ends of the same Store. Shutdown ends it.
func (s *Server) Admission() *admission.Control { return s.admission }

// Connections returns those of Serve, for other front ends to count theirs among them.
func (s *Server) Connections() *admission.Connections { return s.connections }

// SetLimits replaces Options.Limits, for requests from now on. Those under way keep what they have.
func (s *Server) SetLimits(l admission.Limits) { s.admission.SetLimits(l) }

// SetSlowQuery replaces Options.SlowQuery, for queries that begin from now on.
func (s *Server) SetSlowQuery(d time.Duration) { s.slow.Set(d) }

// SlowQueries returns what gets the queries that take long, for other front ends of the same Store.
func (s *Server) SlowQueries() *explain.SlowLog { return s.slow }

// Handler returns the server as an http.Handler, for use without Serve.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve serves the connections of l until Shutdown, and then returns nil. It closes l. It may return
// before Shutdown does.
func (s *Server) Serve(l net.Listener) error {
	s.http.Now, s.http.Clock = s.opt.Now, s.opt.Clock
	s.http.HeaderTimeout = s.timeouts.Header
	s.http.ReadTimeout = s.timeouts.Read
	s.http.IdleTimeout = s.timeouts.Idle
	s.http.LingerTimeout = s.timeouts.linger
	err := s.http.Serve(framedListener{s.connections.Listen(l)})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting connections, answers new requests with 503, and waits for those under way
// until ctx is done, at most Timeouts.Drain. Then it aborts the rest and returns an error. A handler
// inside a call of the Store ends when that call does.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, s.timeouts.Drain)
	defer stop()
	done := s.admission.Drain()

	err := errors.Join(s.http.Shutdown(ctx), s.https.Shutdown(ctx))
	if err == nil {
		err = s.wait(ctx, done)
	}
	if err == nil {
		return s.closeConns()
	}
	ctx, stopGrace := context.WithTimeout(context.Background(), graceAfterCancel)
	defer stopGrace()
	return errors.Join(err, s.closeConns(), s.wait(ctx, done))
}

func (s *Server) closeConns() error { return errors.Join(s.http.Close(), s.https.Close()) }

// graceAfterCancel is how long Shutdown waits for aborted handlers.
const graceAfterCancel = time.Second

func (s *Server) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("requests are still under way: %w", ctx.Err())
	}
}

// Stats counts responses.
type Stats struct {
	// Responses counts them by the first digit of their status. Responses[0] counts aborted ones.
	Responses [6]uint64
}

// Stats returns the counts so far.
func (s *Server) Stats() (stats Stats) {
	for i := range stats.Responses {
		stats.Responses[i] = s.responses[i].Load()
	}
	return stats
}
