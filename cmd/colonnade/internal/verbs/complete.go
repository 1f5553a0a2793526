package verbs

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

// A completion that takes longer is none.
const completeWithin = 2 * time.Second

// mostKeys bounds how many row keys are offered.
const mostKeys = 50

// candidates returns what a word can be completed to. args are the words before it, the flags left out.
type candidates func(ctx context.Context, c *client.Client, args []string, word string) ([]string, error)

// complete returns the completions of the arguments of a command, one for each; the last goes on for those behind it.
func (e *Env) complete(each ...candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		of := each[min(len(args), len(each)-1)]
		if of == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := e.Connect(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeWithin)
		defer cancel()
		list, err := of(ctx, c, args, word)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		var fit []string
		for _, candidate := range list {
			if strings.HasPrefix(candidate, word) {
				fit = append(fit, candidate)
				if strings.HasSuffix(candidate, ":") { // a qualifier may follow
					directive |= cobra.ShellCompDirectiveNoSpace
				}
			}
		}
		return fit, directive
	}
}

func tables(ctx context.Context, c *client.Client, _ []string, _ string) ([]string, error) {
	all, err := c.Tables(ctx)
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names, err
}

func families(ctx context.Context, c *client.Client, args []string, _ string) ([]string, error) {
	info, err := c.Table(args[0]).Describe(ctx)
	var names []string
	for _, f := range info.Families {
		names = append(names, f.Name)
	}
	return names, err
}

// columns are the families and, of one that is there already, its qualifiers in the row that is named, or in some rows.
func columns(ctx context.Context, c *client.Client, args []string, word string) ([]string, error) {
	family, _, found := strings.Cut(word, ":")
	if !found {
		names, err := families(ctx, c, args, word)
		for i := range names {
			names[i] += ":"
		}
		return names, err
	}
	prefix, err := Unescape(word)
	if err != nil {
		return nil, err
	}
	q := client.Query{Columns: client.ColumnPrefix(prefix), StripValues: true, Limit: client.Limit{CellsPerColumn: 1, Cells: mostKeys, Rows: mostKeys}}
	if len(args) > 1 {
		row, err := Unescape(args[1])
		if err != nil {
			return nil, err
		}
		q.Rows = client.Key(row)
	}
	list, seen := []string{family + ":"}, map[string]bool{"": true}
	for row, err := range c.Table(args[0]).Scan(ctx, q) {
		if err != nil {
			return nil, err
		}
		for _, cell := range row.Cells {
			if !seen[cell.Qualifier] {
				seen[cell.Qualifier] = true
				list = append(list, Escape(cell.Family+":"+cell.Qualifier))
			}
		}
	}
	if len(list) > 1 {
		list = list[1:]
	}
	return list, nil
}

func keys(ctx context.Context, c *client.Client, args []string, word string) ([]string, error) {
	prefix, err := Unescape(word)
	if err != nil {
		return nil, err
	}
	q := client.Query{Rows: client.Prefix(prefix), StripValues: true, Limit: client.Limit{Rows: mostKeys, CellsPerRow: 1}}
	var list []string
	for row, err := range c.Table(args[0]).Scan(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, Escape(row.Key))
	}
	return list, nil
}

// completeKeyFlag and completeColumnFlag complete flags of commands whose first argument is a table.
func (e *Env) completeKeyFlag(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return e.completeFlag(keys, cmd, args, word)
}

func (e *Env) completeColumnFlag(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return e.completeFlag(columns, cmd, args, word)
}

func (e *Env) completeFlag(of candidates, cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.complete(of)(cmd, args[:1], word)
}
