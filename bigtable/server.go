package bigtable

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	longrunningpb "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
)

// maxStreams is how many calls a connection has at a time.
const maxStreams = 1000

// leastPing is how often a client may ask whether its connection lives. Google's clients do so every 30 s, also without a
// call, and gRPC lets none do so more often than every 10 s.
const leastPing = 5 * time.Second

// MaxMessage bounds a message in bytes, in both directions.
const MaxMessage = 256 << 20

// Options configure a Server. A zero field is its default.
type Options struct {
	// Clock tells the time of cells without one. nil is clock.System.
	Clock clock.Clock
	// Instance is the one whose tables have the names that the Store knows them by. "" is DefaultInstance.
	Instance string
	// Backups keep the backups of tables. nil is none.
	Backups Backups
	// Admission decides which requests may work. Front ends share one. nil is one of its own, with default limits.
	Admission *admission.Control
	// Access identifies the senders of requests by their tokens. nil lets everybody do everything.
	Access *access.Control
	// Audit gets a line for each change of a schema, and for each call that was refused for its token. nil drops them.
	Audit *slog.Logger
	// Quotas are those of tables and tokens. Front ends share one. nil is none.
	Quotas *quota.Gate
	// Slow gets the reads that take long. Front ends share one. nil is none.
	Slow *explain.SlowLog
	// Metrics are those that calls count in. nil is a new Registry.
	Metrics *metrics.Registry
	// Log gets the server's own errors. nil drops them.
	Log *slog.Logger
	// AccessLog gets a line for each call. nil drops them.
	AccessLog *slog.Logger
	// Tracer follows calls. nil follows none.
	Tracer *tracing.Tracer
	// Timeouts bound waits. A zero field is its default.
	Timeouts Timeouts
}

// Timeouts bound how long a client may keep the server waiting.
type Timeouts struct {
	Header   time.Duration // for a new connection to be ready; the default is 5 s
	Read     time.Duration // for the whole request; 30 s
	Progress time.Duration // to take a message of an answer; 60 s
	Idle     time.Duration // between two calls of a connection; 60 s
}

func (t Timeouts) withDefaults() Timeouts {
	return Timeouts{
		Header:   cmp.Or(t.Header, 5*time.Second),
		Read:     cmp.Or(t.Read, 30*time.Second),
		Progress: cmp.Or(t.Progress, 60*time.Second),
		Idle:     cmp.Or(t.Idle, 60*time.Second),
	}
}

// workers are goroutines that take requests, with stacks that have grown: growing one takes a tenth of a short request. While
// all are busy, a request gets a goroutine of its own.
const workers = 128

// Server serves a Store to Bigtable's clients. It is safe for concurrent use. It does not own the Store.
type Server struct {
	btpb.UnimplementedBigtableServer
	store      widecol.Store
	opt        Options // without zeros
	home       instance
	operations *operations
}

// New returns a Server for store. It fails if Options.Instance is no name of an instance.
func New(store widecol.Store, opt Options) (*Server, error) {
	opt.Instance = cmp.Or(opt.Instance, DefaultInstance)
	home, err := parseInstance(opt.Instance)
	if err != nil {
		return nil, err
	}
	if opt.Clock == nil {
		opt.Clock = clock.System
	}
	if opt.Admission == nil {
		opt.Admission = admission.New(admission.Limits{}, admission.NewLimiters(admission.Limits{}, opt.Clock))
	}
	if opt.Metrics == nil {
		opt.Metrics = metrics.New()
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Timeouts = opt.Timeouts.withDefaults()
	s := &Server{store: store, opt: opt, home: home}
	s.operations = newOperations(s)
	return s, nil
}

// Close ends the operations under way, waits for their ends, and lets no more begin. It comes before the Store is closed.
func (s *Server) Close() { s.operations.close() }

// GRPC returns a gRPC server with the services of s, health and reflection. Its caller serves and stops it, with
// a listener of admission.Connections if connections are to be counted. opt are
// further options, such as credentials. It is called once.
func (s *Server) GRPC(opt ...grpc.ServerOption) *grpc.Server {
	opt = append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxSmallMessage), grpc.MaxSendMsgSize(MaxMessage), grpc.MaxHeaderListSize(maxHeader),
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connectionWindow),
		grpc.NumStreamWorkers(workers),
		grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(s.opt.Timeouts.Header), grpc.InTapHandle(hear),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, MaxConnectionIdle: s.opt.Timeouts.Idle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.ForceServerCodecV2(protobuf), grpc.UnaryInterceptor(s.guardUnary), grpc.StreamInterceptor(s.guardStream),
	}, opt...)
	g := grpc.NewServer(opt...)
	w := watcher{server: s, meters: s.opt.Metrics.FrontEnd("bigtable")}
	w.register(g, dataService(), s)
	w.register(g, adminpb.BigtableTableAdmin_ServiceDesc, &tableAdmin{Server: s})
	w.register(g, adminpb.BigtableInstanceAdmin_ServiceDesc, &instanceAdmin{Server: s})
	w.register(g, longrunningpb.Operations_ServiceDesc, s.operations)
	h := health.NewServer()
	s.opt.Admission.OnDrain(h.Shutdown) // says NOT_SERVING from then on
	open := &openServices{Server: g, server: s}
	healthpb.RegisterHealthServer(open, h)
	reflection.Register(open)
	return g
}

// hear says that the connection of a call has sent something.
func hear(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if c := connOf(ctx); c != nil {
		c.Heard()
	}
	return ctx, nil
}

// connOf returns the connection of a call, nil if it is not among those that are counted.
func connOf(ctx context.Context) *admission.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(admission.Address); ok {
			return a.Conn
		}
	}
	return nil
}
