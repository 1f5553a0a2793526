package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"colonnade/clock"
	"colonnade/internal/cores"
	"colonnade/metrics"
	"colonnade/server"
	"colonnade/widecol"
)

// otherMemory is the memory of the process besides memtables and cache: indexes and filters of open files,
// requests and responses under way, the runtime.
const otherMemory = 100 << 20

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tables of a directory over HTTP",
		Long: `Serve opens the directory, or creates it, and serves its tables until a signal
comes. Once it is ready it prints one line to standard output:

  listening on http://127.0.0.1:9876

An interrupt or SIGTERM ends it: requests under way are finished (for up to 10 s),
what is in memory is flushed to sorted files, which leaves an empty log, and the
code is 0. A second signal ends it at once. Neither that nor a crash loses
anything that was acknowledged.

Options may also stand in the environment, --cache-mib as COLONNADE_CACHE_MIB, and
in the TOML file of --config, as cache-mib = 512. A flag wins over the environment,
that over the file. SIGHUP reads the file again. See colonnade config.`,
		Example: `  colonnade serve
  colonnade serve --data /var/lib/colonnade --listen 127.0.0.1:9000 --cache-mib 2048
  COLONNADE_DATA=/var/lib/colonnade colonnade serve --config /etc/colonnade.toml`,
		Args: cobra.NoArgs,
	}
	o := declareOptions(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return o.config.FlagError(err) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return serve(cmd, o) }
	return cmd
}

func serve(cmd *cobra.Command, o *serveOptions) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	warnings, err := o.load(cmd.Context())
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	if o.config.Path() != "" || o.auditLog != "" { // without them a closed terminal ends the process, as ever
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
	}
	log := o.newLog(cmd.ErrOrStderr())
	for _, w := range warnings {
		log.Warn(w)
	}
	memory := limitMemory(o)
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	guard, err := openProtection(ctx, o, log)
	if err != nil {
		return err
	}

	// This comes first: if the address is taken, no new directory must be left behind.
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return errors.Join(err, guard.close())
	}
	defer listener.Close()
	m := metrics.New()
	m.AddProcess(version())
	store, err := openOrStop(signals, o, log, m)
	if store == nil {
		return errors.Join(err, guard.close())
	}
	s := server.New(store, server.Options{
		Now: time.Now, Clock: clock.System, Seed: rand.Uint64(), Log: log, Hosts: o.hosts, Origins: o.origins, MaxInflight: maxInflight(memory),
		Access: guard.control, Audit: guard.audit, Metrics: m,
	})
	if os.Getenv("GOMAXPROCS") == "" { // an operator knows better
		cores.AddSpare() // the log nearly always has a sync under way
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening on %s://%s\n", guard.scheme(), listener.Addr())
	hangup := func() { guard.hangup(log); o.reload(log) }
	err = serveUntil(signals, hangups, hangup, s, func() error { return guard.serve(s, listener) }, log)
	return errors.Join(err, store.Close(), guard.close())
}

// limitMemory sets the runtime's memory limit to the sum of the options, so that garbage does not double it,
// unless GOMEMLIMIT is set. It returns the limit.
func limitMemory(o *serveOptions) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit((o.memtableMiB+o.cacheMiB)<<20 + otherMemory)
	}
	return debug.SetMemoryLimit(-1)
}

// maxInflight returns how much of the memory the bodies of requests may take: a quarter, because a decoded
// body takes several times its size (package server says how many) and the other budgets have the rest, but
// at least one body of the largest size.
func maxInflight(memory int64) int64 {
	return min(max(memory/4, server.MaxBody+1), 256<<20)
}

// openOrStop opens the store. It returns neither a store nor an error if a signal comes first: nothing was
// served, and the next open repeats the recovery.
func openOrStop(signals <-chan os.Signal, o *serveOptions, log *slog.Logger, m *metrics.Registry) (widecol.Store, error) {
	type opened struct {
		store widecol.Store
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		store, err := openStore(o, log, m)
		done <- opened{store, err}
	}()
	select {
	case o := <-done:
		return o.store, o.err
	case s := <-signals:
		log.Info("stopped while opening the directory", "signal", s)
		return nil, nil
	}
}

// serveUntil serves until a signal comes, and then until the requests under way have ended, or were cut off
// by Shutdown. run serves, and hungUp is called at each hangup.
func serveUntil(signals, hangups <-chan os.Signal, hungUp func(), s *server.Server, run func() error, log *slog.Logger) error {
	served := make(chan error, 1)
	go func() { served <- run() }()
	for stopping := false; !stopping; {
		select {
		case err := <-served:
			return err
		case <-hangups:
			hungUp()
		case sig := <-signals:
			log.Info("stopping; a second signal ends the process at once", "signal", sig)
			stopping = true
		}
	}
	go func() {
		if sig, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(128 + int(sig))
		}
	}()
	if err := s.Shutdown(context.Background()); err != nil {
		log.Warn("requests under way were cut off", "cause", err)
	}
	return nil
}
