package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Shell runs lines. On a terminal people type them; otherwise they are a script, which ends with its first error.
type Shell struct {
	// Commands returns the commands. Each line gets new ones.
	Commands func() []*cobra.Command
	// Explain returns what to tell people of an error, and whether it is one in their words.
	Explain func(error) (err error, usage bool)
	// Greeting is printed first on a terminal.
	Greeting func() string
	// History is the file of lines that were typed, "" for none.
	History string

	In       io.Reader
	Out, Err io.Writer
}

// Run runs all lines.
func (s *Shell) Run(ctx context.Context) error {
	in, ok := s.In.(*os.File)
	out, too := s.Out.(*os.File)
	if ok && too && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		return s.converse(ctx, newEditor(in, out, s.History, s.candidates))
	}
	return s.script(ctx)
}

// script runs the lines of a script, up to the first error, which gets the number of its line.
func (s *Shell) script(ctx context.Context) error {
	lines := bufio.NewReader(s.In)
	text, first := "", 1
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		var more bool
		text, more = unfinished(text + strings.TrimRight(line, "\r\n"))
		if more && err == io.EOF {
			return fmt.Errorf("line %d goes on, and nothing follows", first)
		}
		if more {
			continue
		}
		if leaves(text) {
			return nil
		}
		if failure := s.line(ctx, text); failure != nil {
			failure, _ = s.Explain(failure)
			return fmt.Errorf("line %d: %w", first, failure)
		}
		if err == io.EOF {
			return nil
		}
		text, first = "", n+1
	}
}

// prompts are for a command, and for what goes on on further lines.
const (
	prompt     = "colonnade> "
	promptMore = "       ...> "
)

// converse runs what people type, and shows them their errors.
func (s *Shell) converse(ctx context.Context, e *editor) error {
	between := make(chan os.Signal, 1)
	signal.Notify(between, os.Interrupt) // one that comes when a command has just ended ends nothing
	defer signal.Stop(between)
	fmt.Fprintln(s.Out, s.Greeting())
	for text := ""; ; {
		show := prompt
		if text != "" {
			show = promptMore
		}
		line, err := e.read(show)
		if err == errInterrupted {
			text = ""
			continue
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var more bool
		if text, more = unfinished(text + line); more {
			continue
		}
		text = strings.TrimSpace(text)
		e.history.remember(text)
		if leaves(text) {
			return nil
		}
		s.show(s.line(ctx, text))
		text = ""
	}
}

// show shows the error of a line.
func (s *Shell) show(err error) {
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(s.Err, "interrupted")
		return
	}
	err, usage := s.Explain(err)
	fmt.Fprintf(s.Err, "error: %v\n", err)
	if usage {
		fmt.Fprintln(s.Err, "help lists the commands, and help COMMAND says what one takes")
	}
}

// leaves reports whether a line ends the shell.
func leaves(text string) bool {
	words, _ := split(text)
	return len(words) == 1 && (words[0].text == "exit" || words[0].text == "quit")
}

// line runs a line. An interrupt ends it, not the shell.
func (s *Shell) line(ctx context.Context, text string) error {
	words, _ := split(text)
	if len(words) == 0 {
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	root := s.root()
	root.SetArgs(texts(words))
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	if _, ok := s.In.(*os.File); ok {
		root.SetIn(s.In)
	}
	return root.ExecuteContext(ctx)
}

func texts(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// unknownError is a line that begins with no command.
type unknownError struct{ name string }

func (e unknownError) Error() string { return fmt.Sprintf("unknown command %q", e.name) }

// Unknown reports whether an error is of a line that begins with no command.
func Unknown(err error) bool { return errors.As(err, new(unknownError)) }

func (s *Shell) root() *cobra.Command {
	root := &cobra.Command{
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return unknownError{args[0]} },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetUsageTemplate(strings.NewReplacer(
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, `help COMMAND says more. exit, or Ctrl-D, leaves. Ctrl-C ends what is running.
A line goes on on the next one behind a blank and a backslash, and within quotes.`,
		"Usage:{{if .Runnable}}\n  {{.UseLine}}{{end}}", "{{if .HasParent}}Usage:{{if .Runnable}}\n {{.UseLine}}{{end}}{{end}}",
	).Replace(root.UsageTemplate()))
	for _, cmd := range s.Commands() {
		plain(cmd)
		root.AddCommand(cmd)
	}
	root.InitDefaultHelpCmd()
	return root
}

// plain takes the name of the program out of the examples of a command.
func plain(cmd *cobra.Command) {
	cmd.Example = strings.ReplaceAll(cmd.Example, "  colonnade ", "  ")
	for _, c := range cmd.Commands() {
		plain(c)
	}
}
