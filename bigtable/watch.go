package bigtable

import (
	"context"
	"log/slog"
	"path"
	"runtime/debug"
	"strings"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"colonnade/access"
	"colonnade/metrics"
)

// services begins the names of the services whose calls are watched: not those of health and reflection.
const services = "/google.bigtable."

// watcher counts calls, and writes the audit log.
type watcher struct {
	server *Server
	meters *metrics.FrontEnd
	routes map[string]*metrics.Route // by method, as /SERVICE/METHOD
}

func newWatcher(s *Server) *watcher {
	return &watcher{server: s, meters: s.opt.Metrics.FrontEnd("bigtable"), routes: make(map[string]*metrics.Route)}
}

// add gives each method of the services of g its route.
func (w *watcher) add(g *grpc.Server) {
	for service, info := range g.GetServiceInfo() {
		for _, m := range info.Methods {
			if name := "/" + service + "/" + m.Name; strings.HasPrefix(name, services) {
				w.routes[name] = w.meters.Route(m.Name, int(codes.OK))
			}
		}
	}
}

// caller is what becomes known of a call while it runs.
type caller struct {
	token *access.Token // of its sender, nil if there is none
	sent  int64         // bytes of rows
}

type callerKey struct{}

// callerOf returns the caller of a watched call.
func callerOf(ctx context.Context) *caller {
	if c, ok := ctx.Value(callerKey{}).(*caller); ok {
		return c
	}
	return new(caller)
}

func (w *watcher) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	ctx, end := w.begin(ctx, info.FullMethod)
	defer func() { end(request, &err, recover()) }()
	return handle(ctx, request)
}

// watchedStream is a stream whose context has a caller.
type watchedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s watchedStream) Context() context.Context { return s.ctx }

func (w *watcher) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	ctx, end := w.begin(stream.Context(), info.FullMethod)
	defer func() { end(nil, &err, recover()) }()
	return handle(server, watchedStream{stream, ctx})
}

// begin counts a call as under way. end counts it as ended. A panic becomes an error.
func (w *watcher) begin(ctx context.Context, method string) (_ context.Context, end func(request any, err *error, panicked any)) {
	route := w.routes[method]
	if route == nil {
		return ctx, func(_ any, err *error, panicked any) { w.recovered(method, err, panicked) }
	}
	w.meters.Begin()
	begun, c := w.server.opt.Clock.Now(), new(caller)
	return context.WithValue(ctx, callerKey{}, c), func(request any, err *error, panicked any) {
		w.recovered(method, err, panicked)
		took := time.Duration(w.server.opt.Clock.Now()-begun) * time.Microsecond
		code := status.Code(*err)
		if code != codes.OK {
			w.meters.Refused(code.String())
		}
		route.End(int(code), took, c.sent)
		w.audit(ctx, method, request, c, code, took)
	}
}

func (w *watcher) recovered(method string, err *error, panicked any) {
	if panicked != nil {
		w.server.opt.Log.Error("a call has panicked", "method", method, "panic", panicked, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "the server has a fault: its log says more")
	}
}

// changes are the methods that change a schema, and what the audit log calls that.
var changes = map[string]string{
	"CreateTable": "create_table", "DeleteTable": "delete_table", "UpdateTable": "alter_table",
	"ModifyColumnFamilies": "alter_families", "DropRowRange": "delete_rows", "DeleteInstance": "delete_instance",
}

// nameIn returns the name of what a request is about, "" for none.
func nameIn(request any) string {
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		return r.GetParent() + "/tables/" + r.GetTableId()
	case *adminpb.UpdateTableRequest:
		return r.GetTable().GetName()
	case interface{ GetName() string }:
		return r.GetName()
	case interface{ GetTableName() string }:
		return r.GetTableName()
	}
	return ""
}

// audit writes a line about a call that may have changed a schema, or was refused for its token.
func (w *watcher) audit(ctx context.Context, method string, request any, c *caller, code codes.Code, took time.Duration) {
	event := changes[path.Base(method)]
	if code == codes.Unauthenticated || code == codes.PermissionDenied {
		event = "refused"
	}
	if event == "" || w.server.opt.Audit == nil {
		return
	}
	attrs := []slog.Attr{slog.String("method", path.Base(method)), slog.String("code", code.String()), slog.Duration("took", took)}
	if p, ok := peer.FromContext(ctx); ok {
		attrs = append(attrs, slog.String("address", p.Addr.String()))
	}
	if name := nameIn(request); name != "" {
		attrs = append(attrs, slog.String("name", name))
	}
	if c.token != nil {
		attrs = append(attrs, slog.String("token", c.token.ID), slog.String("token_name", c.token.Name))
	}
	w.server.opt.Audit.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, event, attrs...)
}
