package main

import (
	"bufio"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/internal/webtable"
)

func newGenerate() *cobra.Command {
	o := webtable.Options{Contents: 100}
	cmd := &cobra.Command{
		Use:   "generate --rows N",
		Short: "Print a made-up table of web pages of any size",
		Long: `Generate prints rows in the form that import takes, one line each. A row is a
page under its reversed domain, with ten cells of about 70 bytes in the families
title, language, contents, meta and anchor. The same options always print the
same bytes.`,
		Example: `  colonnade generate --rows 1000000 | colonnade import --table web --create-table --create-families
  colonnade generate --rows 100000 --contents 6000 --seed 7 | gzip > pages.ndjson.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return generate(cmd, o) },
	}
	cmd.Flags().Int64Var(&o.Rows, "rows", 1000, "rows to print")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "which of all such tables")
	cmd.Flags().IntVar(&o.Contents, "contents", o.Contents, "mean length of the contents: column in bytes")
	cmd.Flags().BoolVar(&o.Shuffle, "shuffle", false, "print the rows in an order other than that of their keys")
	return cmd
}

func generate(cmd *cobra.Command, o webtable.Options) error {
	g, err := webtable.New(o)
	if err != nil {
		return usageError{err}
	}
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 256<<10)
	var line []byte
	for i := range o.Rows {
		line = g.AppendRow(line[:0], i)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
