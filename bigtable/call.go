package bigtable

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"colonnade/access"
	"colonnade/admission"
)

// call is a request that may work on a table, until end.
type call struct {
	table   string // in the Store
	slot    admission.Slot
	request admission.Request
}

// begin finds the table that a request is about, checks that its sender may use it, and waits for a slot.
func (s *Server) begin(ctx context.Context, scope access.Scope, class admission.Class, name string) (*call, error) {
	table, err := s.table(name)
	if err != nil {
		return nil, err
	}
	if err := s.authorize(ctx, scope, table); err != nil {
		return nil, err
	}
	c := &call{table: table, request: admission.Request{Control: s.opt.Admission}}
	if !s.opt.Admission.Enter() {
		return nil, retryLater("the server is shutting down", time.Second)
	}
	if c.slot, err = c.request.Begin(ctx, class); err != nil {
		s.opt.Admission.Leave()
		return nil, statusOf(err)
	}
	return c, nil
}

// end gives back what the call holds.
func (c *call) end() {
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
	secret := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if values := md.Get("authorization"); len(values) == 1 {
			scheme, rest, _ := strings.Cut(values[0], " ")
			if strings.EqualFold(scheme, "Bearer") {
				secret = strings.Trim(rest, " ")
			}
		}
	}
	var from netip.Addr
	if p, ok := peer.FromContext(ctx); ok {
		if at, err := netip.ParseAddrPort(p.Addr.String()); err == nil {
			from = at.Addr().Unmap()
		}
	}
	token, err := s.opt.Access.Identify(secret, from, time.UnixMicro(s.opt.Clock.Now()))
	if err == nil {
		return token, nil
	}
	if refusal, ok := err.(*access.Refusal); ok && refusal.Reason == access.TooManyFailures {
		return nil, retryLater(err.Error(), refusal.RetryAfter)
	}
	return nil, status.Error(codes.Unauthenticated, err.Error())
}
