package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/load"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/source"
)

// importFlags are the flags of import beyond load.Options.
type importFlags struct {
	load.Options
	connect connectFlags
	file    formatFlags
	service serviceFlags
	groups  []string
	time    string // the field
	resume  string
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [SOURCE] --table NAME",
		Short: "Write rows from a file into a table of a running server",
		Long: `Import reads rows and writes them in requests of many rows, several at a time.
SOURCE is a file, an http:// or https:// URL, or an object s3://BUCKET/OBJECT; without
it, or when it is "-", import reads standard input. It may be compressed with gzip or
zstd.

Lines of JSON have a row each:

  {"row_key": "com.example/", "cells": [
    {"column_key": "title:", "type": "string", "value": "Example", "time": 1700000000000000}, …]}

(on one line). CSV and Parquet have a row each record, with fields of which --map says
where they go: 'title:=col2:i64' writes the field col2 to the column title: as i64. Without
--map, the names of the fields are column keys, FAMILY:QUALIFIER, in CSV with a type
behind them, FAMILY:QUALIFIER:TYPE. The field row_key, or else the first one, has the row
key. Empty fields of CSV and nulls of Parquet are no cells. The types are string, i64, i32,
byte, f64, f32, boolean and bytes (CSV: in base64); in Parquet those of the fields.
Files that HBase's Export has written are read, too: 'a:n=f:n:i64' of --map takes the
column f:n of HBase, whose values are bytes without it.

A request whose outcome is not known (no connection, or it broke; status 429,
502, 503, 504) is sent again after a pause, up to --retry-for. That is safe because
every cell that is sent has a time, so a second attempt writes the same versions
as the first. A cell without a time gets the time at which the import began, plus
one microsecond for each line before it.

With --resume FILE, import writes down in FILE how far it has come. After a failure,
the same command goes on there. Without it, run the import again: cells with times of
their own are written over, and for the others give --time with the value that the
failed import printed.

A bad line ends the import: nothing of its request is written, requests before
it are. With --skip-bad bad lines are left out, and counted.`,
		Example: `  colonnade import examples/webtable.ndjson --table webtable --create-table --create-families
  zstdcat pages.ndjson.zst | colonnade import --table pages --create-families
  colonnade import people.csv --table people --create-families --row-key id --map 'p:name=name' --map 'p:age=age:i64'
  colonnade import s3://data/day.parquet --table t --create-families --map 'm:load=load1' --resume day.journal
  colonnade import pages.ndjson.gz --table pages --create-table --create-families \
      --locality-group title,language --locality-group contents`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return importFile(cmd, f, args) },
	}
	flags := cmd.Flags()
	f.connect.add(flags)
	f.file.add(flags)
	flags.StringVar(&f.time, "time-field", "", "field of CSV or Parquet with the time of a row's cells, in microseconds since 1970 or as a timestamp")
	f.service.add(flags)
	flags.StringVar(&f.resume, "resume", "", "file in which import writes down how far it has come, and from which it goes on")
	flags.StringVar(&f.Table, "table", "", "table to write to (required)")
	flags.BoolVar(&f.CreateTable, "create-table", false, "create the table if it is not there")
	flags.BoolVar(&f.CreateFamilies, "create-families", false, "create the column families that lines mention")
	flags.StringArrayVar(&f.groups, "locality-group", nil, "create these families, FAMILY[,FAMILY…], in a locality group of their own; may be repeated")
	flags.IntVar(&f.Parallel, "parallel", 4, "requests under way at once")
	flags.IntVar(&f.BatchCells, "batch-cells", 5000, "cells in a request")
	flags.BoolVar(&f.SkipBad, "skip-bad", false, "leave out bad lines instead of ending at the first")
	flags.Int64Var(&f.Time, "time", 0, "time for cells without one, in microseconds since 1970 (default now)")
	flags.DurationVar(&f.RetryFor, "retry-for", 2*time.Minute, "how long to try a request again")
	return cmd
}

// check completes the options and reports errors in them.
func (f *importFlags) check() error {
	switch {
	case f.Table == "":
		return usagef("--table is missing: which table are the rows for?")
	case f.Parallel < 1 || f.Parallel > 256:
		return usagef("--parallel must be from 1 to 256")
	case f.BatchCells < 1:
		return usagef("--batch-cells must be at least 1")
	case f.Time < 0:
		return usagef("--time must not be negative")
	case f.RetryFor < 0:
		return usagef("--retry-for must not be negative")
	}
	for _, g := range f.groups {
		f.Groups = append(f.Groups, strings.Split(g, ","))
	}
	if f.Time == 0 {
		f.Time = time.Now().UnixMicro()
	}
	return nil
}

func importFile(cmd *cobra.Command, f importFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	files, err := f.file.options()
	if err != nil {
		return err
	}
	files.Time = f.time
	if f.Server, err = f.connect.server(cmd); err != nil {
		return err
	}
	// The first interrupt lets the requests under way end. The second one ends the program.
	ctx, restore := interruptible()
	defer context.AfterFunc(ctx, restore)()
	show := newDisplay(cmd.ErrOrStderr(), "importing", -1, time.Now())
	defer show.close()
	in, err := f.open(ctx, cmd, args, files, show)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer in.close()
	f.Name, f.Events = in.source.Name, show.events()
	if f.resume != "" {
		if f.Journal, err = f.journal(cmd, files); err != nil {
			return err
		}
		defer f.Journal.Close()
	}
	return f.run(ctx, cmd, in.rows, show)
}

// run writes the rows.
func (f *importFlags) run(ctx context.Context, cmd *cobra.Command, rows format.Reader, show *display) error {
	done, err := load.Run(ctx, rows, f.Options)
	show.close()
	if err == nil || done.Rows > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), summary(done, time.Since(show.begin)))
	}
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	var bad *load.LineError
	switch {
	case err == nil:
	case f.Journal != nil:
		err = fmt.Errorf("%w\nthe same command goes on behind row %d", err, f.Journal.Rows())
	case done.Stamped && (done.Rows > 0 || !errors.As(err, &bad)):
		err = fmt.Errorf("%w\nsome cells got their time from this import: to write the same versions again, give the next one --time %d", err, f.Time)
	}
	return err
}

// journal opens the journal of --resume.
func (f *importFlags) journal(cmd *cobra.Command, files format.Options) (*load.Journal, error) {
	j, err := load.OpenJournal(f.resume, load.JournalHead{Input: f.Name, Table: f.Table, Shape: f.file.shape(files), Time: f.Time})
	if err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("time") && j.Head.Time != f.Time {
		return nil, errors.Join(usagef("--time differs from that of the import that %s is of, %d: leave it out", f.resume, j.Head.Time), j.Close())
	}
	f.Time = j.Head.Time
	if j.Rows() > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "going on behind row %s\n", thousands(j.Rows()))
	}
	return j, nil
}

// input is what an import reads.
type input struct {
	source *source.Source
	stream *format.Stream
	rows   format.Reader
}

func (f *importFlags) open(ctx context.Context, cmd *cobra.Command, args []string, files format.Options, show *display) (in input, err error) {
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	in.source, err = source.Open(ctx, name, source.Options{
		Stdin: cmd.InOrStdin(), Endpoint: f.service.endpoint, Region: f.service.region, RetryFor: f.RetryFor, Retry: show.retry,
	})
	if err != nil {
		return in, err
	}
	show.total(in.source.Size)
	if in.stream, err = format.NewStream(in.source); err == nil {
		in.rows, err = format.NewReader(in.stream, in.source.Path, in.source.File, files)
	}
	if err != nil {
		in.close()
		return in, fmt.Errorf("%s: %w", in.source.Name, err)
	}
	return in, nil
}

func (in *input) close() {
	if in.stream != nil {
		in.stream.Close()
	}
	_ = in.source.Close()
}
