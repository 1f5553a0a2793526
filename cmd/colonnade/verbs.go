package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/shell"
	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/verbs"
)

// verbAttempts bounds how often a request of a verb is sent: people wait.
const verbAttempts = 4

// readyWithin bounds how long the shell looks for its server before it says so.
const readyWithin = 2 * time.Second

// connect returns the client of the server that the flags name.
func (f *connectFlags) connect(cmd *cobra.Command) (*client.Client, error) {
	to, err := f.server(cmd)
	if err != nil {
		return nil, err
	}
	c, err := client.New(to.URL, client.Options{Token: to.Token, TLS: to.TLS, UserAgent: "colonnade", Attempts: verbAttempts})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// newVerbs returns the verbs as commands of the program, each with the flags that name the server.
func newVerbs() []*cobra.Command {
	f := new(connectFlags) // of the one command that runs
	env := verbs.Env{Connect: f.connect}
	all := append(env.All(), newTop(f.connect, func() string { return f.url }))
	for _, cmd := range all {
		f.add(cmd.PersistentFlags())
		explained(f, cmd)
	}
	return all
}

// explained makes the errors of a command say what to do, as those of other commands do.
func explained(f *connectFlags, cmd *cobra.Command) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if errors.As(err, new(verbs.UsageError)) {
			return usageError{err}
		}
		return unreachable(f.url, err)
	}
	for _, c := range cmd.Commands() {
		explained(f, c)
	}
}

func newShell() *cobra.Command {
	var f connectFlags
	var output string
	cmd := &cobra.Command{
		Use:   "shell",
		Short: "Work with the tables of a running server, line by line",
		Long: `Shell reads commands, one a line, and runs them: the verbs of this program, such as get and
scan, without the words colonnade and the flags that name the server. On a terminal
it has history (also Ctrl-R), completes commands, tables, families, columns and row
keys with TAB, and Ctrl-C ends the command that runs. help lists the commands.

When standard input is no terminal it is a script. Its first error ends it, with
the number of the line.

The history is in $XDG_STATE_HOME/colonnade, by default ~/.local/state/colonnade.`,
		Example: `  colonnade shell
  echo 'count webtable' | colonnade shell --output table`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runShell(cmd, &f, output) },
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "form of what is printed: table, json, ndjson, csv (default table on a terminal, otherwise ndjson)")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(verbs.Outputs, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runShell(cmd *cobra.Command, f *connectFlags, output string) error {
	c, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	env := verbs.Env{Connect: func(*cobra.Command) (*client.Client, error) { return c, nil }, Output: output}
	s := shell.Shell{
		Commands: func() []*cobra.Command {
			return append(env.All(), newTop(env.Connect, func() string { return f.url }), connected(newImport(), f), connected(newExport(), f))
		},
		Explain: func(err error) (error, bool) {
			var usage usageError
			isUsage := shell.Unknown(err) || errors.As(err, &usage) || errors.As(err, new(verbs.UsageError))
			return unreachable(f.url, err), isUsage
		},
		Greeting: func() string {
			ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
			defer cancel()
			if _, err := c.Ready(ctx); err != nil {
				return "warning: " + unreachable(f.url, err).Error()
			}
			return fmt.Sprintf("Tables of %s. help lists the commands, TAB completes, Ctrl-D leaves.", f.url)
		},
		History: shell.HistoryFile(),
		In:      cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
	}
	err = s.Run(cmd.Context())
	if _, usage := s.Explain(err); usage {
		return usageError{err}
	}
	return err
}

// connected gives a command the flags of the shell that name the server.
func connected(cmd *cobra.Command, f *connectFlags) *cobra.Command {
	for name, value := range map[string]string{"url": f.url, "token-file": f.tokenFile, "ca": f.ca, "cert": f.cert, "key": f.key} {
		flag := cmd.Flags().Lookup(name)
		flag.Hidden = true
		_ = flag.Value.Set(value)
	}
	return cmd
}
