package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func newReady() *cobra.Command {
	var f connectFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Ask a running server whether it takes requests",
		Long: `Ready asks a server for /readyz and prints its message. The code is 0 if the server
takes requests, and 1 if it does not, or cannot be reached. It is meant for health
checks of containers, which have no other program.`,
		Example: "  colonnade ready --timeout 2s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return usagef("--timeout must be more than 0")
			}
			to, err := f.server(cmd)
			if err != nil {
				return err
			}
			c, err := client.New(to.URL, client.Options{Token: to.Token, TLS: to.TLS, Attempts: 1})
			if err != nil {
				return usageError{err}
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			message, err := c.Ready(ctx)
			if err != nil {
				return unreachable(to.URL, err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), message)
			return err
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Second, "how long to wait for the answer")
	return cmd
}
