package main

import (
	"context"
	"net"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/tokenfile"
	"github.com/colonnade-db/colonnade/server"
)

// protection is what stands between the network and the tables.
type protection struct {
	control      *access.Control // nil without access control
	certificates *certificates   // nil without TLS
}

// openProtection opens the files that the options name. It follows their changes until ctx is done.
func openProtection(ctx context.Context, o *serveOptions, l *logs) (p *protection, err error) {
	p = new(protection)
	if o.tlsCert != "" {
		p.certificates = &certificates{cert: o.tlsCert, key: o.tlsKey, clientCA: o.tlsClientCA}
		if err := watch(ctx, p.certificates.paths(), p.certificates.load, func(err error) {
			if err != nil {
				l.server.Error("the certificates stay as they are", "cause", err)
				return
			}
			l.server.Info("certificates were read again", "tls_cert", o.tlsCert)
		}); err != nil {
			return nil, err
		}
	}
	p.control, err = openAccess(ctx, o, l)
	return p, err
}

// serve serves a listener until the server is shut down.
func (p *protection) serve(s *server.Server, l net.Listener) error {
	if p.certificates != nil {
		return s.ServeTLS(l, p.certificates.config())
	}
	return s.Serve(l)
}

// scheme is that of the server's URLs.
func (p *protection) scheme() string {
	if p.certificates != nil {
		return "https"
	}
	return "http"
}

// openAccess returns the Control of the token file, or nil without one. A changed file is taken over until ctx is done.
// A file that is broken or missing is logged, and the tokens stay as they are: otherwise a mistake in it would lock
// everybody out, or let nobody be revoked unnoticed.
func openAccess(ctx context.Context, o *serveOptions, l *logs) (*access.Control, error) {
	if o.tokens == "" {
		return nil, nil
	}
	control := access.NewControl(nil, int(o.authFailures))
	load := func() error {
		tokens, err := tokenfile.Read(o.tokens)
		if err != nil {
			return err
		}
		before := control.Tokens()
		control.SetTokens(tokens)
		if before != nil {
			removed, added := tokens.Changes(before)
			l.tokens("token_removed", removed)
			l.tokens("token_added", added)
		}
		return nil
	}
	err := watch(ctx, []string{o.tokens}, load, func(err error) {
		if err != nil {
			l.server.Error("the tokens stay as they are, because the token file cannot be read", "cause", err)
		}
	})
	if err != nil {
		return nil, noTokens(o.tokens, err)
	}
	if len(control.Tokens().All()) == 0 {
		l.server.Warn("the token file has no token: nobody can read or change anything", "file", o.tokens)
	}
	return control, nil
}

func (l *logs) tokens(event string, tokens []*access.Token) {
	for _, t := range tokens {
		attrs := []any{"token", t.ID, "token_name", t.Name, "scope", t.Scope.String(), "tables", t.Tables}
		l.server.Info(event, attrs...)
		if l.audit != nil {
			l.audit.Info(event, attrs...)
		}
	}
}
