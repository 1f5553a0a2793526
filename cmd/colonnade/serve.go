package main

import (
	"cmp"
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
	"colonnade/server"
	"colonnade/widecol"
)

// defaultData is the default directory of serve and check.
const defaultData = "./colonnade-data"

// Environment variables for flags that are not given.
const (
	dataVariable   = "COLONNADE_DATA"
	listenVariable = "COLONNADE_LISTEN"
)

// otherMemory is the memory of the process besides memtables and cache: indexes and filters of open files,
// requests and responses under way, the runtime.
const otherMemory = 100 << 20

type serveFlags struct {
	data        string
	listen      string
	memtableMiB int64
	cacheMiB    int64
	hosts       []string
	insecure    bool
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tables of a directory over HTTP",
		Long: `Serve opens the directory, or creates it, and serves its tables until a signal
comes. Once it is ready it prints one line to standard output:

  listening on http://127.0.0.1:9876

An interrupt or SIGTERM ends it: requests under way are finished (for up to 10 s),
what is in memory is flushed to sorted files, which leaves an empty log, and the
code is 0. A second signal ends it at once. Neither that nor a crash loses
anything that was acknowledged.`,
		Example: `  colonnade serve
  colonnade serve --data /var/lib/colonnade --listen 127.0.0.1:9000 --cache-mib 2048
  COLONNADE_DATA=/var/lib/colonnade colonnade serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", cmp.Or(os.Getenv(dataVariable), defaultData), "directory of the tables; also "+dataVariable)
	flags.StringVar(&f.listen, "listen", cmp.Or(os.Getenv(listenVariable), "127.0.0.1:9876"), "HOST:PORT to listen on, port 0 for any that is free; also "+listenVariable)
	flags.Int64Var(&f.memtableMiB, "memtable-mib", 128, "memory for writes that are not in sorted files yet")
	flags.Int64Var(&f.cacheMiB, "cache-mib", 256, "memory for blocks of sorted files")
	flags.StringArrayVar(&f.hosts, "host", nil, "name by which clients address this server, such as that of a proxy in front of it; may be repeated (localhost and IP addresses need none)")
	flags.BoolVar(&f.insecure, "insecure", false, "listen on other than loopback addresses, without authentication or TLS")
	return cmd
}

// check reports errors in the flags.
func (f *serveFlags) check(ctx context.Context) error {
	const maxMiB = 1 << 30
	if f.memtableMiB < 1 || f.cacheMiB < 1 || f.memtableMiB > maxMiB || f.cacheMiB > maxMiB {
		return usagef("--memtable-mib and --cache-mib must be from 1 to %d", maxMiB)
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usagef("--listen %q is not HOST:PORT", f.listen)
	}
	if f.insecure {
		return nil
	}
	local, err := loopback(ctx, host)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	if !local {
		return usagef("--listen %s can be reached from other machines, and there is no authentication or TLS yet: anyone there could read and change every table; "+
			"listen on 127.0.0.1 behind a proxy that checks who is asking, or accept it with --insecure", f.listen)
	}
	return nil
}

// loopback reports whether all addresses of a host are loopback addresses. An empty host means all
// addresses of the machine.
func loopback(ctx context.Context, host string) (bool, error) {
	if host == "" {
		return false, nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, err
	}
	for _, a := range addresses {
		if !a.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

func serve(cmd *cobra.Command, f serveFlags) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := f.check(cmd.Context()); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	memory := limitMemory(f)

	// This comes first: if the address is taken, no new directory must be left behind.
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := openOrStop(signals, f, log)
	if store == nil {
		return err
	}
	s := server.New(store, server.Options{Now: time.Now, Clock: clock.System, Seed: rand.Uint64(), Log: log, Hosts: f.hosts, MaxInflight: maxInflight(memory)})
	if os.Getenv("GOMAXPROCS") == "" { // an operator knows better
		cores.AddSpare() // the log nearly always has a sync under way
	}
	err = serveUntil(signals, cmd, s, listener, log)
	return errors.Join(err, store.Close())
}

// limitMemory sets the runtime's memory limit to the sum of the flags, so that garbage does not double it,
// unless GOMEMLIMIT is set. It returns the limit.
func limitMemory(f serveFlags) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit((f.memtableMiB+f.cacheMiB)<<20 + otherMemory)
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
func openOrStop(signals <-chan os.Signal, f serveFlags, log *slog.Logger) (widecol.Store, error) {
	type opened struct {
		store widecol.Store
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		store, err := openStore(f, log)
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
// by Shutdown.
func serveUntil(signals <-chan os.Signal, cmd *cobra.Command, s *server.Server, listener net.Listener, log *slog.Logger) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	fmt.Fprintf(cmd.OutOrStdout(), "listening on http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case sig := <-signals:
		log.Info("stopping; a second signal ends the process at once", "signal", sig)
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
