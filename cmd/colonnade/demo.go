package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/demo"
	"github.com/colonnade-db/colonnade/console"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/metrics/storemetrics"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	data      string
	listen    string
	noBrowser bool
}

// demoAddress is where demo listens if nobody else does: commands find the server there without --url.
const demoAddress = "127.0.0.1:9876"

func newDemo() *cobra.Command {
	o := new(demoOptions)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Learn the model in ten minutes, on tables that are made up",
		Long: `Demo serves a sample table and a day of made-up metrics, opens the console in a browser
where there is one, and walks through rows, versions, keys, locality groups and
explain. Each step shows the command or the curl that it runs, and what came of it.
Enter goes on; when standard input is no terminal, all steps come at once.

The tables are in a directory that goes at the end, unless --data names one.`,
		Example: `  colonnade demo
  colonnade demo --data ./demo --no-browser </dev/null`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, o) },
	}
	cmd.Flags().StringVar(&o.data, "data", "", "directory of the tables, which stays; made if need be (default: one that goes at the end)")
	cmd.Flags().StringVar(&o.listen, "listen", "", "address to serve on (default "+demoAddress+", or a port that is free)")
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "do not open the console in a browser")
	return cmd
}

func runDemo(cmd *cobra.Command, o *demoOptions) (err error) {
	ctx, stop := interruptible()
	defer stop()
	listener, err := o.address()
	if err != nil {
		return err
	}
	defer listener.Close()
	dir := o.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "colonnade-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	end, err := serveDemo(cmd, dir, listener)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	out, url := cmd.OutOrStdout(), "http://"+listener.Addr().String()
	walk := demo.Walk{URL: url, Out: out, Verb: func(stdin io.Reader, words []string) (string, bool) {
		var b bytes.Buffer
		code := run(words, cmp.Or[io.Reader](stdin, strings.NewReader("")), &b, &b)
		return b.String(), code == 0
	}}
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		walk.Enter = in
	}
	if err := walk.Load(ctx); err != nil {
		return interrupted(ctx, err)
	}
	fmt.Fprintf(out, "Colonnade serves sample tables from %s.\nThe console is at %s/, for a browser. What follows can be typed in another terminal, too.\n", dir, url)
	if !o.noBrowser {
		openBrowser(ctx, url+"/")
	}
	all, err := walk.Run(ctx)
	if !all {
		return interrupted(ctx, err)
	}
	fmt.Fprintf(out, "\nThat was the model. The console at %s/ shows it: tables drawn to scale, rows, explain as a picture, what the server does.\n", url)
	if o.data != "" {
		fmt.Fprintf(out, "The tables stay: colonnade serve --data %s\n", o.data)
	}
	walk.Wait(ctx, "Enter ends the server. ")
	return nil
}

// address listens where the flag says, or where commands look for a server, or on any port.
func (o *demoOptions) address() (net.Listener, error) {
	if o.listen != "" {
		host, _, err := net.SplitHostPort(o.listen)
		if err != nil {
			return nil, usagef("--listen %s: must be HOST:PORT", o.listen)
		}
		if local, err := loopback(context.Background(), host); err != nil || !local {
			return nil, usagef("--listen %s: the demo has no access control, so it serves this machine alone: take 127.0.0.1", o.listen)
		}
		return listen("--listen", o.listen)
	}
	if l, err := listen("--listen", demoAddress); err == nil {
		return l, nil
	}
	return listen("--listen", "127.0.0.1:0")
}

// serveDemo serves a directory as serve does with its defaults, with small budgets. end stops that.
func serveDemo(cmd *cobra.Command, dir string, l net.Listener) (end func() error, err error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(full), Engine: engine.Options{
		FS: vfs.OS, Clock: clock.System, Log: log, MemtableBytes: 16 << 20, CacheBytes: 16 << 20,
	}})
	if err != nil {
		return nil, held(dir, err)
	}
	m := metrics.New()
	m.AddProcess(version())
	storemetrics.Add(m, store, clock.System.Now)
	s := server.New(store, server.Options{Now: time.Now, Clock: clock.System, Seed: rand.Uint64(), Log: log, Console: console.Files(), Metrics: m})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return func() error {
		err := s.Shutdown(context.Background())
		return errors.Join(err, <-served, store.Close())
	}, nil
}

// openBrowser opens a page where somebody can see it. Where that fails, the address has been printed.
func openBrowser(ctx context.Context, url string) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	} else if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, url)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
