package server

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/access"
)

// authorize finds the token of a request and checks that it allows what the route does. Without Options.Access
// everybody may do everything.
func (s *Server) authorize(x *requestContext) error {
	if s.opt.Access == nil || x.scope == access.None {
		return nil
	}
	token, err := s.opt.Access.Identify(bearer(x.r.Header), addressOf(x.r), x.start)
	if err != nil {
		return unidentified(err)
	}
	x.token = token
	// A listing has only the tables that the token is for.
	if x.listing && token.Scope >= x.scope || token.Allows(x.scope, x.table) {
		return nil
	}
	return forbidden(token, x.scope, x.table)
}

// sees reports whether a request may know of a table.
func (x *requestContext) sees(table string) bool {
	return x.server.opt.Access == nil || x.token.Allows(access.Read, table)
}

// bearer returns the secret in the header of a request (RFC 6750, section 2.1), or "". What is none is returned as it
// is, since no token is like it.
func bearer(h http.Header) string {
	switch values := h["Authorization"]; len(values) {
	case 0:
		return ""
	case 1:
		scheme, secret, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			return strings.Trim(secret, " ")
		}
		return values[0]
	default:
		return "several"
	}
}

// addressOf returns the address that a request came from. It is the zero Addr if there is none.
func addressOf(r *http.Request) netip.Addr {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap()
}

// unidentified turns an error of access.Control into a response.
func unidentified(err error) error {
	var refusal *access.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	f := refuse(http.StatusUnauthorized, "invalid_token", atHeader, "%s", refusal.Error())
	f.access = true
	switch refusal.Reason {
	case access.TooManyFailures:
		f.access = false // its failures before are in the audit log: an address must not fill the disk with it
		f.status, f.code = http.StatusTooManyRequests, "too_many_failures"
		return f.with("Retry-After", strconv.Itoa(int(math.Ceil(refusal.RetryAfter.Seconds()))))
	case access.Missing:
		f.code = "missing_token"
		return f.with("WWW-Authenticate", `Bearer realm="colonnade"`)
	case access.Expired:
		f.code = "expired_token"
	}
	return f.with("WWW-Authenticate", `Bearer realm="colonnade", error="invalid_token"`)
}

func forbidden(token *access.Token, scope access.Scope, table string) error {
	needs := "a token of scope " + scope.String()
	if table != "" {
		needs += " for table " + strconv.Quote(table)
	} else {
		needs += ` for all tables ("*")`
	}
	f := refuse(http.StatusForbidden, "insufficient_scope", atHeader, "this needs %s; token %s has scope %s for %s",
		needs, token.ID, token.Scope, strings.Join(token.Tables, ", "))
	f.access = true
	return f.with("WWW-Authenticate", `Bearer realm="colonnade", error="insufficient_scope", scope="`+scope.String()+`"`)
}
