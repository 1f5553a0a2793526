package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"colonnade/cmd/colonnade/internal/load"
)

// importFlags are the flags of import beyond load.Options.
type importFlags struct {
	load.Options
	connect connectFlags
	groups  []string
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [FILE] --table NAME",
		Short: "Write rows from a file into a table of a running server",
		Long: `Import reads rows, one JSON object a line, and writes them in requests of many
rows, several at a time:

  {"row_key": "com.example/", "cells": [
    {"column_key": "title:", "type": "string", "value": "Example", "time": 1700000000000000}, …]}

(on one line). FILE may be compressed with gzip or zstd; without FILE, or when it
is "-", import reads standard input.

A request whose outcome is not known (no connection, or it broke; status 429,
502, 503, 504) is sent again after a pause, up to --retry-for. That is safe because
every cell that is sent has a time, so a second attempt writes the same versions
as the first. A cell without a time gets the time at which the import began, plus
one microsecond for each line before it. To go on after an import that failed, run
it again: cells with times of their own are written over, and for the others give
--time with the value that the failed import printed.

A bad line ends the import: nothing of its request is written, requests before
it are. With --skip-bad bad lines are left out, and counted.`,
		Example: `  colonnade import examples/webtable.ndjson --table webtable --create-table --create-families
  zstdcat pages.ndjson.zst | colonnade import --table pages --create-families
  colonnade import pages.ndjson.gz --table pages --create-table --create-families \
      --locality-group title,language --locality-group contents`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return importFile(cmd, f, args) },
	}
	flags := cmd.Flags()
	f.connect.add(flags)
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
	var err error
	if f.Server, err = f.connect.server(cmd); err != nil {
		return err
	}
	source, name, size, err := openSource(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	defer source.Close()
	in, err := load.NewInput(source)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()

	// The first interrupt lets the requests under way end. The second one ends the program.
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, restore)()
	begin := time.Now()
	show := newDisplay(cmd.ErrOrStderr(), "importing", size, begin)
	f.Name, f.Events = name, show.events()
	done, err := load.Run(ctx, in, f.Options)
	show.close()
	if err == nil || done.Rows > 0 {
		fmt.Fprintln(cmd.OutOrStdout(), summary(done, time.Since(begin)))
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	var bad *load.LineError
	if err != nil && done.Stamped && (done.Rows > 0 || !errors.As(err, &bad)) {
		err = fmt.Errorf("%w\nsome cells got their time from this import: to write the same versions again, give the next one --time %d", err, f.Time)
	}
	return err
}

// openSource opens the file of the arguments, or standard input. It returns the size in bytes, -1 if
// unknown.
func openSource(stdin io.Reader, args []string) (source io.ReadCloser, name string, size int64, err error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(stdin), "standard input", -1, nil
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, "", 0, err
	}
	size = -1
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return file, args[0], size, nil
}
