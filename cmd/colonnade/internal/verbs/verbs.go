// Package verbs is what people do with tables: get a row, scan, create a table. Each verb is declared once, as a
// command, and serves as a command of the program and as a line of its shell.
package verbs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/client"
)

// Env is what surrounds the verbs.
type Env struct {
	// Connect returns the client for a command. The caller does not close it.
	Connect func(cmd *cobra.Command) (*client.Client, error)
	// Output is the form of what is printed, unless a command says another: one of Outputs, or "" for that which suits
	// the output.
	Output string
}

// UsageError is an error in the words of a command: nothing was done.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// All returns the verbs, new ones for each call: a command is for one use.
func (e *Env) All() []*cobra.Command {
	all := []*cobra.Command{
		e.newTables(), e.newDescribe(), e.newFamilies(), e.newCreate(), e.newDrop(),
		e.newGet(), e.newScan(), e.newCount(), e.newStats(), e.newAdvise(), e.newCompact(),
		e.newPut(), e.newDelete(), e.newIncr(), e.newCas(),
	}
	return append(all, e.habits()...)
}

// command completes a command that prints records.
func (e *Env) command(cmd *cobra.Command) *cobra.Command {
	addOutput(cmd.Flags())
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(Outputs, cobra.ShellCompDirectiveNoFileComp))
	cmd.SetFlagErrorFunc(negative)
	return cmd
}

var negativeNumber = regexp.MustCompile("shorthand flag: '[0-9]'")

// negative says how to write a number below 0, which was taken for a flag.
func negative(_ *cobra.Command, err error) error {
	if negativeNumber.MatchString(err.Error()) {
		err = fmt.Errorf("%w: -- before it makes it a value", err)
	}
	return UsageError{err}
}

func addOutput(flags *pflag.FlagSet) {
	flags.StringP("output", "o", "", "form of what is printed: "+strings.Join(Outputs, ", ")+" (default table on a terminal, otherwise ndjson)")
}

// on runs a command that is about a table, its first argument.
func (e *Env) on(run func(cmd *cobra.Command, t *client.Table, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := e.Connect(cmd)
		if err != nil {
			return err
		}
		return run(cmd, c.Table(args[0]), args[1:])
	}
}

// arguments wants least to most arguments, or more if most is negative, and says what they are.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return usagef("it has %d arguments, and takes: %s", n, strings.TrimSpace(strings.TrimSuffix(cmd.UseLine(), " [flags]")))
		}
		return nil
	}
}
