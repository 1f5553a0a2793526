package bigtable

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	adminpb "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/explain"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
)

// watcher serves calls: it counts them, has their senders identified and their messages received, and writes the audit log.
type watcher struct {
	server *Server
	meters *metrics.FrontEnd
}

// register registers a service whose calls are watched.
func (w *watcher) register(g *grpc.Server, service grpc.ServiceDesc, with any) {
	service.Methods, service.Streams = slices.Clone(service.Methods), slices.Clone(service.Streams)
	for i := range service.Methods {
		m := &service.Methods[i]
		m.Handler = w.unary(service.ServiceName, m.MethodName, m.Handler)
	}
	for i := range service.Streams {
		m := &service.Streams[i]
		m.Handler = w.streaming(service.ServiceName, m.StreamName, m.Handler)
	}
	g.RegisterService(&service, with)
}

// caller is what is known of a call while it runs.
type caller struct {
	server *Server
	stream incoming
	ctx    context.Context

	service string // such as google.bigtable.v2.Bigtable
	method  string // such as ReadRows
	begun   time.Time
	span    tracing.Span

	entered  bool
	token    *access.Token // of its sender, nil if there is none
	memory   admission.Request
	header   [5]byte    // of a message
	received int64      // bytes of the message
	request  any        // nil before it has come
	borrowed mem.Buffer // the message, if the request has parts of it; nil otherwise
	sent     int64      // bytes of rows
	answered bool       // a message was sent
	last     *held      // the last long message, nil before there is one

	table     string        // that it works on, "" for none
	stats     widecol.Stats // of what it has returned or written
	explained *explain.Read // of ReadRows, if slow queries are logged; nil otherwise
}

type callerKey struct{}

// callerOf returns the caller of a call.
func (s *Server) callerOf(ctx context.Context) *caller {
	if c, ok := ctx.Value(callerKey{}).(*caller); ok {
		return c
	}
	return s.newCaller(ctx)
}

func (s *Server) newCaller(ctx context.Context) *caller {
	return &caller{server: s, stream: streamOf(ctx), ctx: ctx, memory: admission.Request{Control: s.opt.Admission}}
}

// unary returns a handler like handle that is watched.
func (w *watcher) unary(name, method string, handle grpc.MethodHandler) grpc.MethodHandler {
	route := w.meters.Route(method, int(codes.OK))
	return func(service any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (answer any, err error) {
		c, end := w.begin(ctx, name, method, route)
		defer func() { end(&err, recover()) }()
		if answer, err = handle(service, context.WithValue(c.ctx, callerKey{}, c), c.receive, nil); err == nil {
			answer, err = c.hold(answer)
		}
		return answer, err
	}
}

// streaming returns a handler like handle that is watched.
func (w *watcher) streaming(name, method string, handle grpc.StreamHandler) grpc.StreamHandler {
	route := w.meters.Route(method, int(codes.OK))
	return func(service any, stream grpc.ServerStream) (err error) {
		c, end := w.begin(stream.Context(), name, method, route)
		defer func() { end(&err, recover()) }()
		return handle(service, watchedStream{stream, c, context.WithValue(c.ctx, callerKey{}, c)})
	}
}

// watchedStream is a stream whose context has a caller.
type watchedStream struct {
	grpc.ServerStream
	caller *caller
	ctx    context.Context
}

func (s watchedStream) Context() context.Context { return s.ctx }

func (s watchedStream) RecvMsg(m any) error { return s.caller.receive(m) }

func (s watchedStream) SendMsg(m any) error { return s.caller.deliver(m, s.ServerStream.SendMsg) }

// begin counts a call as under way. end counts it as ended, and gives back what it holds. A panic becomes an error.
func (w *watcher) begin(ctx context.Context, service, method string, route *metrics.Route) (c *caller, end func(err *error, panicked any)) {
	w.meters.Begin()
	c = w.server.newCaller(ctx)
	c.service, c.method, c.begun = service, method, w.server.time()
	c.trace()
	return c, func(err *error, panicked any) {
		w.server.recovered(method, err, panicked)
		c.limitLast()
		c.memory.Close()
		if c.entered {
			w.server.opt.Admission.Leave()
		}
		took, code := w.server.time().Sub(c.begun), status.Code(*err)
		c.endTrace(code, took)
		if code != codes.OK {
			w.meters.Refused(code.String())
		}
		route.End(int(code), took, c.sent)
		w.audit(c, method, code, took)
		c.logAccess(code, took)
		c.logSlow(code, took)
		c.giveBack()
	}
}

func (s *Server) recovered(method string, err *error, panicked any) {
	if panicked != nil {
		s.opt.Log.Error("a call has panicked", "method", method, "panic", panicked, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "the server has a fault: its log says more")
	}
}

// guardUnary and guardStream are for services that are not watched: a panic in them becomes an error.
func (s *Server) guardUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	defer func() { s.recovered(info.FullMethod, &err, recover()) }()
	return handle(ctx, request)
}

func (s *Server) guardStream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer func() { s.recovered(info.FullMethod, &err, recover()) }()
	return handle(service, stream)
}

// changes are the methods that change a schema, all rows of a table or backups, and what the audit log calls that.
var changes = map[string]string{
	"CreateTable": "schema_change", "DeleteTable": "schema_change", "UpdateTable": "schema_change",
	"ModifyColumnFamilies": "schema_change", "DropRowRange": "schema_change", "DeleteInstance": "schema_change", "RestoreTable": "schema_change",
	"CreateBackup": "backup", "CopyBackup": "backup", "UpdateBackup": "backup", "DeleteBackup": "backup", "CancelOperation": "backup",
}

// nameIn returns the name of what a request is about, "" for none.
func nameIn(request any) string {
	switch r := request.(type) {
	case *adminpb.CreateTableRequest:
		return r.GetParent() + "/tables/" + r.GetTableId()
	case *adminpb.UpdateTableRequest:
		return r.GetTable().GetName()
	case *adminpb.CreateBackupRequest:
		return r.GetParent() + "/backups/" + r.GetBackupId()
	case *adminpb.CopyBackupRequest:
		return r.GetParent() + "/backups/" + r.GetBackupId()
	case *adminpb.UpdateBackupRequest:
		return r.GetBackup().GetName()
	case *adminpb.RestoreTableRequest:
		return r.GetParent() + "/tables/" + r.GetTableId()
	case interface{ GetName() string }:
		return r.GetName()
	case interface{ GetTableName() string }:
		return r.GetTableName()
	}
	return ""
}

// audit writes a line about a call that may have changed a schema, or was refused for its token.
func (w *watcher) audit(c *caller, method string, code codes.Code, took time.Duration) {
	event := changes[method]
	if code == codes.Unauthenticated || code == codes.PermissionDenied {
		event = "refused"
	}
	if event == "" || w.server.opt.Audit == nil {
		return
	}
	attrs := []slog.Attr{
		slog.String("address", addressOf(c.ctx).String()), slog.String("method", method), slog.String("code", code.String()), slog.Duration("took", took),
	}
	if name := nameIn(c.request); name != "" {
		attrs = append(attrs, slog.String("name", name))
	}
	attrs = c.token.AppendTo(attrs)
	w.server.opt.Audit.LogAttrs(context.WithoutCancel(c.ctx), slog.LevelInfo, event, attrs...)
}
