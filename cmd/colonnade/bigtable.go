package main

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/colonnade-db/colonnade/bigtable"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/tablebackup"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
)

// bigtableListener is the address for Bigtable's clients, nil for none. The zero value can be closed.
type bigtableListener struct {
	net.Listener
	grpc   *grpc.Server
	server *bigtable.Server
	keeper *tablebackup.Keeper // nil without --backup-repository
}

// listenBigtable listens on the address that the options name.
func listenBigtable(o *serveOptions) (*bigtableListener, error) {
	l := new(bigtableListener)
	if o.bigtableListen == "" {
		return l, nil
	}
	var err error
	l.Listener, err = listen("--bigtable-listen", o.bigtableListen)
	return l, err
}

// bigtableOptions returns the options for package bigtable, but for those that it shares with a Server.
func (o *serveOptions) bigtableOptions(l *logs, guard *protection, m *metrics.Registry, t *tracing.Tracer) bigtable.Options {
	return bigtable.Options{
		Instance:  o.bigtableInstance,
		Access:    guard.control,
		Audit:     l.audit,
		AccessLog: l.access,
		Metrics:   m,
		Log:       l.server,
		Tracer:    t,
		Timeouts:  bigtable.Timeouts{Header: o.timeouts.Header, Read: o.timeouts.Read, Progress: o.timeouts.Progress, Idle: o.timeouts.Idle},
	}
}

// serve begins to serve a store, beside s, with which it shares limits and the end of the process. keeper keeps its backups.
func (l *bigtableListener) serve(store widecol.Store, s *server.Server, p *protection, keeper *tablebackup.Keeper, opt bigtable.Options) error {
	l.keeper = keeper
	if l.Listener == nil {
		return nil
	}
	opt.Admission, opt.Quotas, opt.Slow = s.Admission(), s.Quotas(), s.SlowQueries()
	if keeper != nil {
		opt.Backups = keeper
	}
	b, err := bigtable.New(store, opt)
	if err != nil {
		return err
	}
	l.server = b
	var extra []grpc.ServerOption
	if p.certificates != nil {
		extra = append(extra, grpc.Creds(credentials.NewTLS(p.certificates.config())))
	}
	l.grpc = b.GRPC(extra...)
	go func() {
		if err := l.grpc.Serve(s.Connections().Listen(l.Listener)); err != nil {
			opt.Log.Error("Bigtable's clients are no longer served", "cause", err)
		}
	}()
	opt.Log.Info("Bigtable's clients are served", "address", l.Addr().String(), "instance", opt.Instance)
	return nil
}

// stopGrace is how long calls that wait for their client may take to notice that the server stops.
const stopGrace = time.Second

// close ends what is under way and closes the listener.
func (l *bigtableListener) close() {
	if l.server != nil {
		l.server.Close() // calls may wait for operations
	}
	l.closeGRPC()
	if l.keeper != nil {
		l.keeper.Close()
	}
}

func (l *bigtableListener) closeGRPC() {
	switch {
	case l.grpc != nil:
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		defer context.AfterFunc(ctx, l.grpc.Stop)()
		l.grpc.GracefulStop()
	case l.Listener != nil:
		l.Listener.Close()
	}
}
