// Colonnade serves wide-column tables over HTTP and keeps them in a directory.
//
// The program ends with one of these codes:
//
//	0    done; for serve: stopped by a signal, after the requests under way,
//	     with all data durable
//	1    failed, and standard error says why; for check: damage was found
//	2    the command line, or another source of options, is wrong; nothing was done
//	130  a second interrupt (143: a second SIGTERM) ended serve at once
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	// Until a command starts, every error is one of the command line.
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultCompletionCmd() // prints to the output that is set by now
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		needsCommand(completion)
	}
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "colonnade: %v%s\n", err, diskAdvice(err))
	var usage usageError
	if !begun || errors.As(err, &usage) {
		fmt.Fprintf(stderr, "Run '%s --help' for what it takes.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// diskAdvice says what to do about an error of the file system that any command can meet.
func diskAdvice(err error) string {
	if errors.Is(err, syscall.EROFS) {
		return ": name another place, or mount this one so that it can be written (mount -o remount,rw)"
	}
	return ""
}

// usageError is an error of the command line that a command found.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "colonnade",
		Short: "A wide-column table service in one binary",
		Long: `Colonnade keeps named tables of sorted rows. A cell of a row is addressed by
column family and qualifier and holds typed versions, each with a time. Tables
are served over HTTP with JSON and stored in one directory.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newServe(), newConfig(), newCheck(), newToken(), newReady(), newBackup(), newEmulator(), newDemo(), newGenerate(), newInspect(), newVersion())
	root.AddGroup(&cobra.Group{ID: "tables", Title: "Tables of a running server:"})
	for _, cmd := range append(newVerbs(), newShell(), newImport(), newExport()) {
		cmd.GroupID = "tables"
		root.AddCommand(cmd)
	}
	return root
}

// needsCommand makes a command that is nothing without one of its own fail without it, or with another one: a script must
// not take the help for a success.
func needsCommand(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		last := len(names) - 1
		these := strings.Join(names[:last], ", ") + " or " + names[last]
		if len(args) == 0 {
			_ = cmd.Help()
			return usagef("%s needs a command: %s", cmd.Name(), these)
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usagef("unknown command %q of %s, did you mean %s?", args[0], cmd.Name(), strings.Join(near, " or "))
		}
		return usagef("unknown command %q of %s, which has %s", args[0], cmd.Name(), these)
	}
}

// arguments wants least to most arguments, or more if most is negative, and says what they are.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return fmt.Errorf("it has %d arguments, and takes: %s", n, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
}
