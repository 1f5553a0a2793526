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

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/quota"
	"github.com/colonnade-db/colonnade/widecol"
)

// call is a request that may work, until end.
type call struct {
	server *Server
	table  string // in the Store, "" for none
	caller *caller
	slot   admission.Slot
	quota  *quota.Control // to be paid; nil without quotas
	rows   int64          // that it has used
}

// begin finds the table that a request is about, checks that its sender may use it, and waits for a slot.
func (s *Server) begin(ctx context.Context, scope access.Scope, class admission.Class, name string) (*call, error) {
	if name == "" && ofView(s.callerOf(ctx).request) {
		return nil, unimplemented("", "there are no views: name the table")
	}
	table, err := s.table(name)
	if err != nil {
		return nil, err
	}
	s.callerOf(ctx).table = table
	if err := s.authorize(ctx, scope, table); err != nil {
		return nil, err
	}
	return s.work(ctx, class, table)
}

// work is begin for a request whose sender may do what it asks for. table is "" for what concerns no single one.
func (s *Server) work(ctx context.Context, class admission.Class, table string) (c *call, err error) {
	c = &call{server: s, table: table, caller: s.callerOf(ctx)}
	if s.opt.Quotas != nil {
		c.quota = s.opt.Quotas.Control()
		if err := s.opt.Quotas.Admit(c.quota, table, c.tokenName(), s.time()); err != nil {
			return nil, statusOf(err)
		}
	}
	begun := s.time()
	if c.slot, err = c.caller.memory.Begin(ctx, class); err != nil {
		return nil, statusOf(err)
	}
	c.caller.waited(begun)
	return c, nil
}

// ofView reports whether a request names a view in place of a table.
func ofView(request any) bool {
	authorized, ok := request.(interface{ GetAuthorizedViewName() string })
	if ok && authorized.GetAuthorizedViewName() != "" {
		return true
	}
	materialized, ok := request.(interface{ GetMaterializedViewName() string })
	return ok && materialized.GetMaterializedViewName() != ""
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
func (c *call) admitStorage(ctx context.Context, lists ...[]widecol.Mutation) error {
	writes := func(m widecol.Mutation) bool { return m.Writes() }
	write := func(list []widecol.Mutation) bool { return slices.ContainsFunc(list, writes) }
	if c.quota == nil || !slices.ContainsFunc(lists, write) {
		return nil
	}
	return statusOf(c.server.opt.Quotas.AdmitStorage(ctx, c.quota, c.table, c.server.time()))
}

// wrote counts mutations of a row that were made.
func (c *call) wrote(mutations []widecol.Mutation) {
	c.caller.stats.Rows++
	for i := range mutations {
		if mutations[i].Writes() {
			c.caller.stats.Cells++
		}
	}
}

// end gives the slot back, and pays for the call.
func (c *call) end() {
	c.quota.Charge(c.table, c.tokenName(), max(c.rows, 1), c.caller.received+c.caller.sent, c.server.time())
	c.slot.Release()
}

// authorize checks that the sender of a request may do something with a table; "" stands for all tables.
func (s *Server) authorize(ctx context.Context, scope access.Scope, table string) error {
	if s.opt.Access == nil {
		return nil
	}
	token := s.callerOf(ctx).token
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

// identify finds the token of the sender.
func (c *caller) identify() (err error) {
	c.token, err = c.server.opt.Access.Identify(secretOf(c.ctx), addressOf(c.ctx), c.server.time())
	if refusal, ok := err.(*access.Refusal); ok && refusal.Reason == access.TooManyFailures {
		return retryLater(err.Error(), refusal.RetryAfter)
	}
	if err != nil {
		return status.Error(codes.Unauthenticated, err.Error())
	}
	return nil
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
