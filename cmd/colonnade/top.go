package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/top"
)

// newTop returns the command that draws what a server does. name returns the server's URL.
func newTop(connect func(*cobra.Command) (*client.Client, error), name func() string) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch what a server does: requests, latency, commits, compactions, stalls, cache",
		Long: `Top draws what a server does, from its metrics, until q is pressed: requests per second and
their latency, the busiest routes first, commits and the time of their syncs,
memtables, compactions, stalls of writes, and the block cache.

Without a terminal it prints what the server does in one span of --every, and ends.
With access control it needs a token for all tables.`,
		Example: "  colonnade top\n  colonnade top --every 10s | grep COMMITS",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return usagef("--every must be at least 100ms")
			}
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			o := top.Options{Server: name(), Every: every, Metrics: c.Metrics}
			in, ok := cmd.InOrStdin().(*os.File)
			out, too := cmd.OutOrStdout().(*os.File)
			if ok && too && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
				return top.Watch(cmd.Context(), in, out, o)
			}
			return top.Once(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "time between two readings")
	return cmd
}
