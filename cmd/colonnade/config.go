package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the options that serve would have, and where they come from",
		Long: `Config takes the flags of serve, the environment and the file of --config, and
prints each option with its value. A comment says where the value comes from, what
it may be, and whether a reload (SIGHUP) takes a change of it, or only a restart.
It opens nothing but the file.

What it prints is itself a file for --config. Defaults that follow from the machine
or from other options are commented out, so that they go on following.

Mistakes are reported as serve reports them, so it also checks a file before a reload.`,
		Example: `  colonnade config > colonnade.toml
  colonnade config --config colonnade.toml --cache-mib 2048`,
		Args: cobra.NoArgs,
	}
	o := declareOptions(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return o.config.FlagError(err) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return printConfig(cmd, o) }
	return cmd
}

func printConfig(cmd *cobra.Command, o *serveOptions) error {
	warnings, err := o.load(cmd.Context())
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "colonnade: warning: %s\n", w)
	}
	return o.config.WriteTOML(cmd.OutOrStdout())
}
