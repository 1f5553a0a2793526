package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/tablebackup"
	"github.com/colonnade-db/colonnade/server"
)

// restoreFlags are those of backup restore.
type restoreFlags struct {
	repositoryFlags
	connect connectFlags
	id      string
	tables  []string
	until   string
	as      string
	temp    string
}

func newBackupRestore() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore REPOSITORY DIR, or restore REPOSITORY --table TABLE --as NAME",
		Short: "Restore a backup to a directory, or a table into a running server",
		Long: `Restore writes a backup to DIR, which must not be there yet, or be empty: a directory
for serve --data. --table selects tables. DIR gets its name when it is whole: a
restore that is killed leaves DIR.restoring, which the next one replaces.

--until TIME restores the state of a second: the newest backup that is not younger, and
the log that serve --archive has kept since, up to that time, such as
2026-09-01T10:03:00Z. --until latest takes all that is archived. list shows the times.

With --as it writes one table into a running server, as a new table of another name:
families, settings and locality groups, then all versions with their times. It needs
room for the table in --temp. If it is interrupted or fails, delete the new table
before you try again.`,
		Example: `  colonnade backup restore /backup/colonnade /var/lib/colonnade
  colonnade backup restore /backup/colonnade /var/lib/colonnade --until latest
  colonnade backup restore /backup/colonnade --table webtable --as webtable-yesterday`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.as == "" && len(args) < 2:
				return usagef("name a directory to restore to, or --table and --as for a table of a running server")
			case f.as != "" && len(args) == 2:
				return usagef("--as goes with a running server, not with a directory")
			case f.as != "" && len(f.tables) != 1:
				return usagef("--as needs one --table")
			case f.until != "" && f.as == "" && len(f.tables) > 0:
				return usagef("--until restores all tables: leave out --table, or write one table into a running server with --as")
			}
			ctx, stop := interruptible()
			defer stop()
			err := f.run(ctx, cmd, args)
			return interrupted(ctx, err)
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	f.addIdentity(flags)
	flags.StringVar(&f.id, "backup", "", "the backup, or the beginning of its name, or the name that a client of Bigtable gave it (default the newest of others)")
	flags.StringVar(&f.until, "until", "", "time to restore to, such as 2026-09-01T10:03:00Z, or latest (default that of the backup)")
	flags.StringArrayVar(&f.tables, "table", nil, "only this table; may be repeated (default all)")
	flags.StringVar(&f.as, "as", "", "name of the new table in a running server")
	flags.StringVar(&f.temp, "temp", os.TempDir(), "with --as: where there is room for the files of the table")
	f.connect.add(flags)
	return cmd
}

func (f *restoreFlags) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	begin := time.Now()
	show := newDisplay(cmd.ErrOrStderr(), "restoring", -1, begin)
	defer show.close()
	r, err := f.open(ctx, cmd, args[0], show)
	if err != nil {
		return err
	}
	p, err := f.point(ctx, r)
	if err != nil {
		return err
	}
	if f.as != "" {
		to, err := f.connect.server(cmd)
		if err != nil {
			return err
		}
		if err := f.checkTarget(ctx, to); err != nil { // before the work, which may take long
			return err
		}
		dir, err := os.MkdirTemp(f.temp, "colonnade-restore-*")
		if err != nil {
			return fmt.Errorf("--temp names no directory to write to: %w", err)
		}
		defer os.RemoveAll(dir)
		store := filepath.Join(dir, "store")
		tables := f.tables
		if f.until != "" { // which partitions a table had then, its restored metadata say
			tables = nil
		}
		if err := r.Restore(ctx, p, tables, store); err != nil {
			return fmt.Errorf("to --temp: %w", err)
		}
		show.close()
		return f.copyTable(ctx, cmd, to, store)
	}
	if err := r.Restore(ctx, p, f.tables, args[1]); err != nil {
		return err
	}
	show.close()
	fmt.Fprintf(cmd.OutOrStdout(), "%s is backup %s", args[1], p.Backup.ID)
	if f.until != "" {
		fmt.Fprintf(cmd.OutOrStdout(), " and all changes up to %s", p.Time().Format(time.RFC3339Nano))
	}
	fmt.Fprintf(cmd.OutOrStdout(), ", restored in %.2f s\n", time.Since(begin).Seconds())
	return nil
}

// checkTarget makes sure that the server is there, and has no table of the new name.
func (f *restoreFlags) checkTarget(ctx context.Context, to load.Server) error {
	target, err := to.Client()
	if err != nil {
		return err
	}
	defer target.Close()
	_, err = target.Table(f.as).Describe(ctx)
	var refused *client.Error
	switch {
	case err == nil:
		return fmt.Errorf("the server has a table %s already: give --as another name, or delete that table", f.as)
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return nil
	}
	return unreachable(to.URL, err)
}

// point returns what is to be restored.
func (f *restoreFlags) point(ctx context.Context, r *backup.Repository) (*backup.Point, error) {
	if f.until == "" {
		b, err := r.Find(ctx, f.id)
		return &backup.Point{Backup: b}, err
	}
	until := int64(backup.Latest)
	if f.until != "latest" {
		at, err := time.Parse(time.RFC3339Nano, f.until)
		if err != nil {
			return nil, usagef("--until %s: must be latest, or a time such as 2026-09-01T10:03:00Z or 2026-09-01T12:03:00.5+02:00", f.until)
		}
		until = at.UnixMicro()
	}
	return r.FindPoint(ctx, f.id, until)
}

// copyTable copies the table from a restored directory, which a server of its own serves to this process alone, to
// another server: as an export and an import do.
func (f *restoreFlags) copyTable(ctx context.Context, cmd *cobra.Command, to load.Server, dir string) error {
	store, err := tablebackup.OpenRestored(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	pipes := newPipeListener()
	served := make(chan error, 1)
	s := server.New(store, server.Options{Now: time.Now})
	go func() { served <- s.Serve(pipes) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-served
	}()
	from := load.Server{URL: "http://localhost", Dial: pipes.dial}
	if err := f.createLike(ctx, from, to); err != nil {
		return err
	}
	r, w := io.Pipe()
	defer r.Close()
	exported := make(chan error, 1)
	go func() {
		_, err := load.Export(ctx, w, load.ExportOptions{Server: from, Table: f.tables[0], Since: -1, Until: -1, Versions: -1})
		w.CloseWithError(err)
		exported <- err
	}()
	begin := time.Now()
	show := newDisplay(cmd.ErrOrStderr(), "writing", -1, begin)
	lines, err := format.NewStream(r)
	if err != nil {
		return err
	}
	defer lines.Close()
	done, err := load.Run(ctx, format.NewLines(lines), load.Options{
		Server: to, Table: f.as, Name: "backup", Parallel: 4, BatchCells: 5000, Time: begin.UnixMicro(), RetryFor: 2 * time.Minute, Events: show.events(),
	})
	show.close()
	r.Close()
	if e := <-exported; e != nil && (err == nil || errors.Is(err, e)) {
		err = e
	}
	if err != nil {
		return fmt.Errorf("table %s is not whole, delete it before you try again: %w", f.as, interrupted(ctx, err))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), summary(done, time.Since(begin)))
	return nil
}

// createLike creates the new table with the families, settings and groups of the old one.
func (f *restoreFlags) createLike(ctx context.Context, from, to load.Server) error {
	old, err := from.Client()
	if err != nil {
		return err
	}
	defer old.Close()
	info, err := old.Table(f.tables[0]).Describe(ctx)
	if err != nil {
		return err
	}
	spec := client.TableSpec{Families: info.Families}
	for i := range spec.Families {
		spec.Families[i].Moving = nil
	}
	for _, g := range info.Groups {
		if len(g.Families) > 0 { // the last one was leaving
			spec.Groups = append(spec.Groups, slices.Clone(g.Families))
		}
	}
	target, err := to.Client()
	if err != nil {
		return err
	}
	defer target.Close()
	created := target.Table(f.as)
	if err := created.Create(ctx, spec); err != nil || info.DefaultGC == (client.GC{}) {
		return err
	}
	return created.Configure(ctx, client.TableSettings{DefaultGC: &info.DefaultGC})
}

// pipeListener is a listener whose connections come from dial, in the same process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
