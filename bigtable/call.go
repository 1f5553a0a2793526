package bigtable

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"colonnade/access"
	"colonnade/admission"
	"colonnade/quota"
	"colonnade/widecol"
)

// call is a request that may work on a table, until end.
type call struct {
	server  *Server
	table   string // in the Store
	caller  *caller
	slot    admission.Slot
	request admission.Request
	quota   *quota.Control // to be paid; nil without quotas

	received int64 // bytes of the request
	rows     int64 // that it has used
}

// begin finds the table that a request is about, checks that its sender may use it, and waits for a slot. While the
// request waits and works, its bytes are taken from the memory that all requests share.
func (s *Server) begin(ctx context.Context, scope access.Scope, class admission.Class, name string, request proto.Message) (*call, error) {
	if name == "" && ofView(request) {
		return nil, unimplemented("", "there are no views: name the table")
	}
	table, err := s.table(name)
	if err != nil {
		return nil, err
	}
	if err := s.authorize(ctx, scope, table); err != nil {
		return nil, err
	}
	c := &call{server: s, table: table, caller: callerOf(ctx), request: admission.Request{Control: s.opt.Admission}}
	if s.opt.Quotas != nil {
		c.quota = s.opt.Quotas.Control()
		if err := s.opt.Quotas.Admit(c.quota, table, c.tokenName(), s.time()); err != nil {
			return nil, statusOf(err)
		}
	}
	if !s.opt.Admission.Enter() {
		return nil, retryLater("the server is shutting down", time.Second)
	}
	if err = c.takeMemory(request); err == nil {
		c.slot, err = c.request.Begin(ctx, class)
	}
	if err != nil {
		c.request.Close()
		s.opt.Admission.Leave()
		return nil, statusOf(err)
	}
	return c, nil
}

// ofView reports whether a request names a view in place of a table.
func ofView(request proto.Message) bool {
	authorized, ok := request.(interface{ GetAuthorizedViewName() string })
	if ok && authorized.GetAuthorizedViewName() != "" {
		return true
	}
	materialized, ok := request.(interface{ GetMaterializedViewName() string })
	return ok && materialized.GetMaterializedViewName() != ""
}

// takeMemory takes the memory of a request.
func (c *call) takeMemory(request proto.Message) error {
	c.received = int64(proto.Size(request))
	switch {
	case c.request.Charge(c.received):
		return nil
	case c.request.TooLarge(c.received):
		return status.Errorf(codes.ResourceExhausted, "the request has %d bytes, more than the memory of all requests", c.received)
	}
	return retryLater("the requests under way have too many bytes together", time.Second)
}

// time returns the time of the server.
func (s *Server) time() time.Time { return time.UnixMicro(s.opt.Clock.Now()) }

func (c *call) tokenName() string {
	if c.caller.token == nil {
		return ""
	}
	return c.caller.token.Name
}

// admitStorage refuses to write to a table that is larger than its quota. Deletions stay possible.
func (c *call) admitStorage(ctx context.Context, mutations []widecol.Mutation) error {
	writes := func(m widecol.Mutation) bool { return m.Writes() }
	if c.quota == nil || !slices.ContainsFunc(mutations, writes) {
		return nil
	}
	return statusOf(c.server.opt.Quotas.AdmitStorage(ctx, c.quota, c.table, c.server.time()))
}

// end gives back what the call holds, and pays for it.
func (c *call) end() {
	c.quota.Charge(c.table, c.tokenName(), max(c.rows, 1), c.received+c.caller.sent, c.server.time())
	c.slot.Release()
	control := c.request.Control
	c.request.Close()
	control.Leave()
}

// authorize checks that the sender of a request may do something with a table; "" stands for all tables.
func (s *Server) authorize(ctx context.Context, scope access.Scope, table string) error {
	if s.opt.Access == nil {
		return nil
	}
	token, err := s.identify(ctx)
	if err != nil {
		return err
	}
	if token.Allows(scope, table) {
		return nil
	}
	of := "all tables"
	if table != "" {
		of = "table " + strconv.Quote(table)
	}
	return status.Errorf(codes.PermissionDenied, "this needs a token of scope %s for %s; token %s has scope %s for %s",
		scope, of, token.ID, token.Scope, strings.Join(token.Tables, ", "))
}

// identify returns the token of the sender.
func (s *Server) identify(ctx context.Context) (*access.Token, error) {
	token, err := s.opt.Access.Identify(secretOf(ctx), addressOf(ctx), s.time())
	if err == nil {
		callerOf(ctx).token = token
		return token, nil
	}
	if refusal, ok := err.(*access.Refusal); ok && refusal.Reason == access.TooManyFailures {
		return nil, retryLater(err.Error(), refusal.RetryAfter)
	}
	return nil, status.Error(codes.Unauthenticated, err.Error())
}

// secretOf returns what a call has as its token, "" for nothing.
func secretOf(ctx context.Context) string {
	values := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(secret, " ")
}

// addressOf returns the address that a call came from. It is the zero Addr if there is none.
func addressOf(ctx context.Context) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	from, _ := netip.ParseAddrPort(p.Addr.String())
	return from.Addr().Unmap()
}
