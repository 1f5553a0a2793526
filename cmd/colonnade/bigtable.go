package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"colonnade/bigtable"
	"colonnade/metrics"
	"colonnade/server"
	"colonnade/widecol"
)

// bigtableListener is the address for Bigtable's clients, nil for none. The zero value can be closed.
type bigtableListener struct {
	net.Listener
	grpc *grpc.Server
}

// listenBigtable listens on the address that the options name.
func listenBigtable(o *serveOptions) (*bigtableListener, error) {
	l := new(bigtableListener)
	if o.bigtableListen == "" {
		return l, nil
	}
	var err error
	if l.Listener, err = net.Listen("tcp", o.bigtableListen); err != nil {
		return nil, fmt.Errorf("--bigtable-listen: %w", err)
	}
	return l, nil
}

// serve begins to serve a store, beside s, with which it shares limits and the end of the process.
func (l *bigtableListener) serve(o *serveOptions, store widecol.Store, s *server.Server, p *protection, m *metrics.Registry, logs *logs) error {
	if l.Listener == nil {
		return nil
	}
	b, err := bigtable.New(store, bigtable.Options{
		Instance: o.bigtableInstance, Admission: s.Admission(), Access: p.control, Quotas: s.Quotas(), Metrics: m, Audit: logs.audit, Log: logs.server,
		Timeouts: bigtable.Timeouts{Header: o.timeouts.Header, Read: o.timeouts.Read, Progress: o.timeouts.Progress, Idle: o.timeouts.Idle},
	})
	if err != nil {
		return err
	}
	var opt []grpc.ServerOption
	if p.certificates != nil {
		opt = append(opt, grpc.Creds(credentials.NewTLS(p.certificates.config())))
	}
	l.grpc = b.GRPC(opt...)
	go func() {
		if err := l.grpc.Serve(s.Connections().Listen(l.Listener)); err != nil {
			logs.server.Error("Bigtable's clients are no longer served", "cause", err)
		}
	}()
	logs.server.Info("Bigtable's clients are served", "address", l.Addr().String(), "instance", o.bigtableInstance)
	return nil
}

// stopGrace is how long calls that wait for their client may take to notice that the server stops.
const stopGrace = time.Second

// close ends what is under way and closes the listener.
func (l *bigtableListener) close() {
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
