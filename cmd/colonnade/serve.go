package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tables of a directory over HTTP",
		Long: `Serve opens the directory, or creates it, and serves its tables until a signal
comes. Once it is ready it prints one line to standard output:

  listening on http://127.0.0.1:9876

An interrupt or SIGTERM ends it: requests under way are finished, for up to
--drain-timeout, what is in memory is flushed to sorted files, which leaves an
empty log, and the code is 0. A second signal ends it at once. Neither that nor a
crash loses anything that was acknowledged.

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

func serve(cmd *cobra.Command, o *serveOptions) (err error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	warnings, err := o.load(cmd.Context())
	if err != nil {
		return err
	}
	hangups := make(chan os.Signal, 1)
	logs, err := openLogs(o, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.close()) }()
	if o.config.Path() != "" || logs.files != nil { // without them a closed terminal ends the process, as ever
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
	}
	log := logs.server
	for _, w := range warnings {
		log.Warn(w)
	}
	debug.SetMemoryLimit(o.memoryLimit())
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	guard, err := openProtection(ctx, o, logs)
	if err != nil {
		return err
	}

	// This comes first: if the address is taken, no new directory must be left behind.
	listener, err := listen("--listen", o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	stopPprof, err := servePprof(o, log)
	if err != nil {
		return err
	}
	defer stopPprof()
	forBigtable, err := listenBigtable(o)
	if err != nil {
		return err
	}
	defer forBigtable.close()
	m := metrics.New()
	m.AddProcess(version())
	tracer := o.newTracer(log)
	defer closeTracer(tracer, log)
	store, err := openOrStop(signals, o, log, m, tracer)
	if store == nil {
		return err
	}
	stopArchive := o.archive.start(store, log, m)
	s := server.New(store, o.serverOptions(logs, guard, m, tracer))
	quotas := onChange(o.quotas(), s.SetQuotas)
	o.config.OnReload(func() {
		s.SetLimits(o.limits())
		s.SetSlowQuery(o.slowQuery())
		quotas(o.quotas())
		if tracer != nil {
			tracer.SetRatio(o.traceRatio)
		}
	})
	if os.Getenv("GOMAXPROCS") == "" { // an operator knows better
		cores.AddSpare() // the log nearly always has a sync under way
	}
	keeper := o.tableBackups.keep(store.(*lsmstore.Store), o.data, o.diskReserveMiB<<20, log)
	if err := forBigtable.serve(store, s, guard, keeper, o.bigtableOptions(logs, guard, m, tracer)); err != nil {
		forBigtable.close()
		stopArchive()
		return errors.Join(err, store.Close())
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening on %s://%s\n", guard.scheme(), listener.Addr())
	hangup := func() { logs.reopen(); o.reload(log) }
	err = serveUntil(signals, hangups, hangup, s, func() error { return guard.serve(s, listener) }, log)
	forBigtable.close()
	stopArchive()
	return errors.Join(err, store.Close())
}

// openOrStop opens the store. It returns neither a store nor an error if a signal comes first: nothing was
// served, and the next open repeats the recovery.
func openOrStop(signals <-chan os.Signal, o *serveOptions, log *slog.Logger, m *metrics.Registry, t *tracing.Tracer) (widecol.Store, error) {
	type opened struct {
		store widecol.Store
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		store, err := openStore(o, log, m, t)
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
