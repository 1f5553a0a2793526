package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/bigtable"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// emulatorOptions are the flags of emulator: host and port are those of Google's, backup-repository that of serve.
type emulatorOptions struct {
	host    string
	port    uint16
	data    string
	backups tableBackups
}

func newEmulator() *cobra.Command {
	o := &emulatorOptions{backups: tableBackups{repository: repositoryFlags{endpoint: amazon}}}
	cmd := &cobra.Command{
		Use:   "emulator",
		Short: "Serve Bigtable's clients in a development setup or a test",
		Long: `Emulator serves the protocol of Google Bigtable, in memory unless --data names a
directory. Any project and any instance exist; tables are those that clients create.
Once it is ready it prints the variable that clients find it by:

  export BIGTABLE_EMULATOR_HOST=127.0.0.1:8086

An interrupt or SIGTERM ends it. It has neither TLS nor access control: for more than
development, see colonnade serve --bigtable-listen.`,
		Example: `  colonnade emulator
  colonnade emulator --port 0 --data ./bigtable`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return emulate(cmd, o) },
	}
	cmd.Flags().StringVar(&o.host, "host", "127.0.0.1", "address to listen on")
	cmd.Flags().Uint16Var(&o.port, "port", 8086, "port to listen on, 0 for any that is free")
	cmd.Flags().StringVar(&o.data, "data", "", "directory of the tables; made if need be (default: in memory)")
	cmd.Flags().StringVar(&o.backups.name, "backup-repository", "", "directory, or s3://BUCKET, for backups of tables; made if need be (default: there are none)")
	return cmd
}

func emulate(cmd *cobra.Command, o *emulatorOptions) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	l, err := listen("--port", net.JoinHostPort(o.host, strconv.Itoa(int(o.port))))
	if err != nil {
		return err
	}
	defer l.Close()
	store, err := o.open(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	opt := bigtable.Options{}
	if keeper := o.backups.keep(store, o.data, 0, o.log(cmd.ErrOrStderr())); keeper != nil {
		opt.Backups = keeper
		defer keeper.Close()
	}
	s, err := bigtable.New(store, opt)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	g := s.GRPC()
	served := make(chan error, 1)
	go func() { served <- g.Serve(admission.NewConnections(server.MaxConns).Listen(l)) }()
	fmt.Fprintf(cmd.OutOrStdout(), "export BIGTABLE_EMULATOR_HOST=%s\n", l.Addr())
	select {
	case err = <-served:
	case <-signals:
		g.Stop()
	}
	s.Close()
	return errors.Join(err, store.Close())
}

// open opens the directory, or a store in memory.
func (o *emulatorOptions) open(stderr io.Writer) (*lsmstore.Store, error) {
	opt := lsmstore.Options{Dir: o.data, Engine: engine.Options{FS: vfs.OS, Clock: clock.System, Log: o.log(stderr)}}
	if o.data == "" {
		opt.Dir, opt.Engine.FS = "/emulator", vfs.NewMem()
	}
	store, err := lsmstore.Open(opt)
	if err != nil {
		return nil, held(o.data, err)
	}
	return store, nil
}

// log returns what gets the warnings.
func (o *emulatorOptions) log(stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
