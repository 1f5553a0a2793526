package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/backup"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/source"
)

// exportFlags are the flags of export beyond load.ExportOptions.
type exportFlags struct {
	load.ExportOptions
	connect    connectFlags
	file       formatFlags
	service    serviceFlags
	gzip, zstd bool
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export TABLE [FILE]",
		Short: "Write rows of a table of a running server to a file",
		Long: `Export writes the rows of a table in a form that import takes: all versions of all
cells, with their times, in key order, as of one moment. Without flags it writes the
whole table.

FILE is a file, or an object s3://BUCKET/OBJECT; without it, or when it is "-", export
writes to standard output. The name or --format says the format: .csv and .parquet; all
others are lines of JSON, one object a row, or several for a row of more than 4 MiB.

In CSV and Parquet, a record is one version of a cell, with its row key, column key, time and
type. With --map a record is a row: 'title:=col2:i64' writes the newest version of the column
title: to the field col2 as i64, and nothing if the row does not have it.

The file is compressed if its name ends in .gz or .zst, or as --gzip or --zstd says;
Parquet compresses itself. A file gets its name when it is whole: an export that fails
leaves none.

If the rows cannot be read to the end, or the connection breaks, export fails.
What it has written to standard output by then is not the whole table.`,
		Example: `  colonnade export webtable webtable.ndjson.zst
  colonnade export webtable pages.parquet --map 'title:=title' --map 'contents:length=length:i64'
  colonnade export webtable s3://data/webtable.csv.gz
  colonnade export webtable --prefix com.example --column title: --versions 1 | jq .row_key
  colonnade export webtable | colonnade import --table copy --create-table --create-families`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return exportTable(cmd, f, args) },
	}
	flags := cmd.Flags()
	f.connect.add(flags)
	f.file.add(flags)
	f.service.add(flags)
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

// selectMapped makes the export that of the columns of --map.
func (f *exportFlags) selectMapped(files format.Options) error {
	if len(files.Columns) == 0 {
		return nil
	}
	if len(f.Columns) > 0 || f.Versions >= 0 {
		return usagef("--map excludes --column and --versions: it selects the newest version of its columns")
	}
	for _, c := range files.Columns {
		f.Columns = append(f.Columns, c.Key)
	}
	f.Versions = 1
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
	files, err := f.file.options()
	if err != nil {
		return err
	}
	if err := f.selectMapped(files); err != nil {
		return err
	}
	if f.Server, err = f.connect.server(cmd); err != nil {
		return err
	}
	ctx, restore := interruptible()
	defer restore()
	write := func(w io.Writer) error { return f.run(ctx, cmd, w, path.Base(file), files) }
	object, stored := strings.CutPrefix(file, "s3://")
	switch {
	case file == "":
		return write(cmd.OutOrStdout())
	case stored:
		return f.service.put(ctx, object, write)
	}
	return writeWhole(file, write)
}

// put writes an object, whole or not at all.
func (f *serviceFlags) put(ctx context.Context, name string, write func(io.Writer) error) error {
	bucket, object, err := source.ParseObject(name)
	if err != nil {
		return usageError{err}
	}
	storage, err := backup.NewBucket(ctx, backup.Bucket{Endpoint: f.endpoint, Region: f.region, Name: bucket})
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		written <- err
	}()
	err = storage.Put(ctx, object, r, -1)
	_ = r.CloseWithError(err) // so that write ends
	if e := <-written; e != nil && (err == nil || errors.Is(err, e)) {
		return e
	}
	return err
}

// run writes the rows to w, as to a file of the name.
func (f exportFlags) run(ctx context.Context, cmd *cobra.Command, w io.Writer, name string, files format.Options) error {
	out, err := f.compress(w)
	if err != nil {
		return err
	}
	rows, err := format.NewWriter(out, name, files)
	if err != nil {
		return err
	}
	begin := time.Now()
	show := newDisplay(cmd.ErrOrStderr(), "exporting", -1, begin)
	defer show.close()
	events := show.events()
	f.Progress, f.Retry = events.Progress, events.Retry
	done, err := load.Export(ctx, rows, f.ExportOptions)
	if err == nil { // otherwise, the output must not look whole
		err = rows.Close()
	}
	if err == nil {
		err = out.Close()
	}
	show.close()
	switch {
	case err == nil:
		fmt.Fprintln(cmd.ErrOrStderr(), summary(done, time.Since(begin)))
	case errors.Is(err, context.Canceled):
		err = errInterrupted
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
