package bigtable

import (
	"cmp"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	btpb "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"colonnade/access"
	"colonnade/admission"
	"colonnade/clock"
	"colonnade/widecol"
)

// MaxMessage bounds a message in bytes, in both directions.
const MaxMessage = 256 << 20

// Options configure a Server. A zero field is its default.
type Options struct {
	// Clock tells the time of cells without one. nil is clock.System.
	Clock clock.Clock
	// Instance is the one whose tables have the names that the Store knows them by. "" is DefaultInstance.
	Instance string
	// Admission decides which requests may work. Front ends share one. nil is one of its own, with default limits.
	Admission *admission.Control
	// Access identifies the senders of requests by their tokens. nil lets everybody do everything.
	Access *access.Control
}

// Server serves a Store to Bigtable's clients. It is safe for concurrent use. It does not own the Store.
type Server struct {
	btpb.UnimplementedBigtableServer
	store widecol.Store
	opt   Options // without zeros
	home  instance
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
	return &Server{store: store, opt: opt, home: home}, nil
}

// GRPC returns a gRPC server with the services of s, health and reflection. Its caller serves and stops it. opt are
// further options, such as credentials.
func (s *Server) GRPC(opt ...grpc.ServerOption) *grpc.Server {
	opt = append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.ForceServerCodecV2(newCodec()),
	}, opt...)
	g := grpc.NewServer(opt...)
	btpb.RegisterBigtableServer(g, s)
	adminpb.RegisterBigtableTableAdminServer(g, &tableAdmin{Server: s})
	adminpb.RegisterBigtableInstanceAdminServer(g, &instanceAdmin{Server: s})
	healthpb.RegisterHealthServer(g, health.NewServer())
	reflection.Register(g)
	return g
}
