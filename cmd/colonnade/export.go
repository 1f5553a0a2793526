package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"colonnade/cmd/colonnade/internal/load"
)

// exportFlags are the flags of export beyond load.ExportOptions.
type exportFlags struct {
	load.ExportOptions
	connect    connectFlags
	gzip, zstd bool
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export TABLE [FILE]",
		Short: "Write rows of a table of a running server to a file",
		Long: `Export writes the rows of a table in the form that import takes, one JSON object a
line: all versions of all cells, with their times, in key order, as of one moment.
Without flags it writes the whole table. A row of more than 4 MiB becomes several
lines.

Without FILE, or when it is "-", export writes to standard output. The file is
compressed if its name ends in .gz or .zst, or as --gzip or --zstd says. It gets
its name when it is whole: an export that fails leaves no file.

If the rows cannot be read to the end, or the connection breaks, export fails.
What it has written to standard output by then is not the whole table.`,
		Example: `  colonnade export webtable webtable.ndjson.zst
  colonnade export webtable --prefix com.example --column title: --versions 1 | jq .row_key
  colonnade export webtable | colonnade import --table copy --create-table --create-families`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return exportTable(cmd, f, args) },
	}
	flags := cmd.Flags()
	f.connect.add(flags)
	flags.StringVar(&f.Prefix, "prefix", "", "only rows whose key starts with this")
	flags.StringVar(&f.Start, "start", "", "only rows from this key on")
	flags.StringVar(&f.End, "end", "", "only rows before this key")
	flags.StringArrayVar(&f.Columns, "column", nil, "only this column, FAMILY:QUALIFIER, or family, FAMILY; may be repeated")
	flags.Int64Var(&f.Since, "since", -1, "only versions from this time on, in microseconds since 1970")
	flags.Int64Var(&f.Until, "until", -1, "only versions before this time")
	flags.Int64Var(&f.Versions, "versions", -1, "only this many versions of each column, newest first")
	flags.BoolVar(&f.gzip, "gzip", false, "compress with gzip")
	flags.BoolVar(&f.zstd, "zstd", false, "compress with zstd")
	flags.DurationVar(&f.RetryFor, "retry-for", 2*time.Minute, "how long to try again until the rows begin to come")
	return cmd
}

// check completes the options and reports errors in them. file is "" for standard output.
func (f *exportFlags) check(cmd *cobra.Command, file string) error {
	flags := cmd.Flags()
	switch {
	case f.Prefix != "" && (f.Start != "" || f.End != ""):
		return usagef("--prefix excludes --start and --end")
	case f.End != "" && f.Start > f.End:
		return usagef("--start is behind --end")
	case flags.Changed("since") && f.Since < 0 || flags.Changed("until") && f.Until < 0:
		return usagef("--since and --until must not be negative")
	case f.Until >= 0 && f.Since > f.Until:
		return usagef("--since is behind --until")
	case flags.Changed("versions") && f.Versions < 1:
		return usagef("--versions must be at least 1")
	case f.gzip && f.zstd:
		return usagef("--gzip excludes --zstd")
	case f.RetryFor < 0:
		return usagef("--retry-for must not be negative")
	}
	if !f.gzip && !f.zstd {
		f.gzip, f.zstd = strings.HasSuffix(file, ".gz"), strings.HasSuffix(file, ".zst")
	}
	return nil
}

func exportTable(cmd *cobra.Command, f exportFlags, args []string) error {
	f.Table = args[0]
	file := ""
	if len(args) == 2 && args[1] != "-" {
		file = args[1]
	}
	if err := f.check(cmd, file); err != nil {
		return err
	}
	var err error
	if f.Server, err = f.connect.server(cmd); err != nil {
		return err
	}
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	if file == "" {
		return f.run(ctx, cmd, cmd.OutOrStdout())
	}
	return writeWhole(file, func(w io.Writer) error { return f.run(ctx, cmd, w) })
}

// run writes the rows to w.
func (f exportFlags) run(ctx context.Context, cmd *cobra.Command, w io.Writer) error {
	out, err := f.compress(w)
	if err != nil {
		return err
	}
	begin := time.Now()
	show := newDisplay(cmd.ErrOrStderr(), "exporting", -1, begin)
	events := show.events()
	f.Progress, f.Retry = events.Progress, events.Retry
	done, err := load.Export(ctx, out, f.ExportOptions)
	if err == nil { // otherwise, compressed output must not look whole
		err = out.Close()
	}
	show.close()
	switch {
	case err == nil:
		fmt.Fprintln(cmd.ErrOrStderr(), summary(done, time.Since(begin)))
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	return err
}

// compress returns a writer of what goes to w in the form of the flags. Its Close does not close w.
func (f exportFlags) compress(w io.Writer) (io.WriteCloser, error) {
	buffer := bufio.NewWriterSize(w, 256<<10)
	switch {
	case f.gzip:
		return &flushed{gzip.NewWriter(buffer), buffer}, nil
	case f.zstd:
		z, err := zstd.NewWriter(buffer)
		return &flushed{z, buffer}, err
	}
	return &flushed{nopCloser{buffer}, buffer}, nil
}

// flushed flushes a buffer when the writer in front of it is closed.
type flushed struct {
	io.WriteCloser
	buffer *bufio.Writer
}

func (f *flushed) Close() error { return errors.Join(f.WriteCloser.Close(), f.buffer.Flush()) }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// writeWhole writes a file under another name, and gives it its own when it is whole and durable. What is no
// file, such as a pipe, it writes as it is.
func writeWhole(name string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	part := name + ".part"
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: another export is writing it, or was killed; if so, remove it", part)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(part)
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(part, name)
}
