package verbs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

const keyHelp = `In keys and columns \xff is a byte and \\ a backslash; so they are printed, too.`

func (e *Env) newGet() *cobra.Command {
	var s selection
	var versions int64
	cmd := e.command(&cobra.Command{
		Use:     "get TABLE KEY [COLUMN...]",
		Aliases: []string{"lookup"},
		Short:   "Print a row",
		Long: `Get prints a row, or some of its columns (FAMILY:QUALIFIER) or families (FAMILY). A row
that does not exist is an error.

` + keyHelp,
		Example: `  colonnade get webtable com.example/
  colonnade get webtable com.example/ title: anchor --versions 1`,
		Args:              arguments(2, -1),
		ValidArgsFunction: e.complete(tables, keys, columns),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			s.columns = append(s.columns, args[1:]...)
			row, err := Unescape(args[0])
			if err != nil {
				return err
			}
			q, err := s.query()
			if err != nil {
				return err
			}
			q.Rows, q.Limit.CellsPerColumn = client.Key(row), versions
			_, err = e.print(cmd, t, q, noRow(t, args))
			return err
		}),
	})
	s.addColumns(cmd.Flags())
	cmd.RegisterFlagCompletionFunc("column", e.completeColumnFlag)
	cmd.Flags().Int64Var(&versions, "versions", 0, "only this many versions of each column, newest first (0 is all)")
	return cmd
}

func noRow(t *client.Table, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s has no row %s with %s", t.Name(), args[0], strings.Join(args[1:], ", "))
	}
	return fmt.Errorf("%s has no row %s", t.Name(), args[0])
}

// print prints the rows of a query while they come, and returns how many there were. Without any it prints nothing, and
// returns none, if that is an error.
func (e *Env) print(cmd *cobra.Command, t *client.Table, q client.Query, none error) (n int64, err error) {
	out, err := e.rows(cmd)
	if err != nil {
		return 0, err
	}
	for row, err := range t.Scan(cmd.Context(), q) {
		if err == nil {
			err = out.addRow(row)
		}
		if err != nil {
			return n, out.end(err)
		}
		n++
	}
	if n == 0 && none != nil {
		return 0, none
	}
	return n, out.end(nil)
}

func (e *Env) newScan() *cobra.Command {
	var s selection
	var f scanFlags
	cmd := e.command(&cobra.Command{
		Use:     "scan TABLE",
		Aliases: []string{"read"},
		Short:   "Print rows of a table",
		Long: `Scan prints the rows of a table by their keys, as of one moment, or those that its flags
select. It prints while rows come, and an interrupt ends it.

Of a value, --value takes those that compare: '>=i64:100', '!=old'. Another type never
does. Regular expressions are those of RE2, and match the whole key or value.

` + keyHelp,
		Example: `  colonnade scan webtable --prefix com.example --column title: --limit 10
  colonnade scan webtable --value '>=i64:1000' --output csv
  colonnade scan webtable --since 90m | jq .row_key`,
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			q, err := s.query()
			if err != nil {
				return err
			}
			if err := f.apply(&q); err != nil {
				return err
			}
			n, err := e.print(cmd, t, q, nil)
			if err != nil {
				return err
			}
			return e.done(cmd, "%s", counted(n, "row"))
		}),
	})
	s.add(cmd.Flags())
	s.complete(e, cmd)
	f.add(cmd)
	return cmd
}

// scanFlags are those of a scan beyond what it selects.
type scanFlags struct {
	limit, offset, versions int64
	value, keyRegex         string
	valueRegex              string
	reverse, keysOnly       bool
	sample                  float64
}

func (f *scanFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int64VarP(&f.limit, "limit", "n", 0, "the most rows (0 is all)")
	flags.Int64Var(&f.offset, "offset", 0, "rows to skip first")
	flags.Int64Var(&f.versions, "versions", 0, "only this many versions of each column, newest first (0 is all)")
	flags.StringVar(&f.value, "value", "", "only versions whose value compares, such as '=up' or '>=i64:5'")
	flags.StringVar(&f.keyRegex, "key-regex", "", "only rows whose key matches")
	flags.StringVar(&f.valueRegex, "value-regex", "", "only versions whose value matches, as bytes")
	flags.BoolVar(&f.reverse, "reverse", false, "from the last row to the first")
	flags.BoolVar(&f.keysOnly, "keys-only", false, "leave values out, and all but one version of each row")
	flags.Float64Var(&f.sample, "sample", 0, "only this part of the rows, evenly spread, such as 0.01 (0 is all)")
}

func (f *scanFlags) apply(q *client.Query) (err error) {
	q.Limit = client.Limit{Rows: f.limit, Offset: f.offset, CellsPerColumn: f.versions}
	q.Reverse, q.Sample = f.reverse, f.sample
	if f.keysOnly {
		q.StripValues, q.Limit.CellsPerRow = true, 1
	}
	q.Filter = f.filter()
	q.Value, err = parseComparison(f.value)
	return err
}

func (f *scanFlags) filter() client.Filter {
	switch key, value := client.RowKeyRegex(f.keyRegex), client.ValueRegex(f.valueRegex); {
	case f.keyRegex != "" && f.valueRegex != "":
		return client.Chain(key, value)
	case f.keyRegex != "":
		return key
	case f.valueRegex != "":
		return value
	}
	return client.Filter{}
}

func parseComparison(text string) (*client.ValueFilter, error) {
	if text == "" {
		return nil, nil
	}
	for _, op := range []string{"!=", "<=", ">=", "=", "<", ">"} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			v, err := ParseValue(strings.TrimSpace(rest))
			return &client.ValueFilter{Op: op, Value: v}, err
		}
	}
	return nil, usagef("--value %s compares nothing: it begins with =, !=, <, <=, > or >=", text)
}

func (e *Env) newCount() *cobra.Command {
	var s selection
	cmd := e.command(&cobra.Command{
		Use:   "count TABLE",
		Short: "Count rows and versions",
		Long:  "Count reads the rows of a table, or those that its flags select, and prints how many there are.",
		Example: `  colonnade count webtable
  colonnade count webtable --prefix com.example --column anchor`,
		Args:              arguments(1, 1),
		ValidArgsFunction: e.complete(tables, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, _ []string) error {
			q, err := s.query()
			if err != nil {
				return err
			}
			stats, err := t.Count(cmd.Context(), q)
			if err != nil {
				return err
			}
			return e.record(cmd, []string{"rows", "cells"}, stats.Rows, stats.Cells)
		}),
	})
	s.add(cmd.Flags())
	s.complete(e, cmd)
	return cmd
}
