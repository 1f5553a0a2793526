package verbs

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

func (e *Env) newPut() *cobra.Command {
	var at string
	cmd := e.command(&cobra.Command{
		Use:   "put TABLE KEY COLUMN VALUE [COLUMN VALUE]...",
		Short: "Write cells of a row",
		Long: `Put writes cells of a row, all or none. A new version does not remove older ones; what is
garbage in the family does.

` + valueHelp + "\n\n" + keyHelp,
		Example: `  colonnade put webtable com.example/ title: Example
  colonnade put webtable com.example/ contents:length i64:1256 contents:ok boolean:true
  colonnade put webtable com.example/ contents:n -- i64:-5`,
		Args:              arguments(4, -1),
		ValidArgsFunction: e.complete(tables, keys, columns, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			row, err := Unescape(args[0])
			if err != nil {
				return err
			}
			args = args[1:]
			if len(args)%2 != 0 {
				return usagef("column %s has no value", args[len(args)-1])
			}
			time, err := parseTime("time", at, time.Now())
			if err != nil {
				return err
			}
			var cells []client.Cell
			for i := 0; i < len(args); i += 2 {
				c, err := parseColumn(args[i])
				if err != nil {
					return err
				}
				v, err := ParseValue(args[i+1])
				if err != nil {
					return err
				}
				cells = append(cells, client.Cell{Family: c.family, Qualifier: c.qualifier, Value: v, Time: time})
			}
			if err := t.Write(cmd.Context(), client.Row{Key: row, Cells: cells}); err != nil {
				return err
			}
			return e.done(cmd, "wrote %s", counted(int64(len(cells)), "cell"))
		}),
	})
	cmd.Flags().StringVar(&at, "time", "", "of the versions: microseconds, 2026-11-29T12:00:00Z, or 90m for so long ago (default that of the commit)")
	return cmd
}

func (e *Env) newDelete() *cobra.Command {
	var s selection
	var all, dryRun bool
	cmd := e.command(&cobra.Command{
		Use:     "delete TABLE [KEY [COLUMN...]]",
		Aliases: []string{"deleteall", "deleterow", "deletecolumn"},
		Short:   "Delete rows, or columns or times of them",
		Long: `Delete deletes a row, or some of its columns (FAMILY:QUALIFIER) or families (FAMILY). Without
KEY it deletes from the rows that --prefix, or --start and --end, select, or from
all with --all. With --dry-run it deletes nothing, and counts.

Without columns and times nothing is read: a range of any number of rows takes some
milliseconds.

` + keyHelp,
		Example: `  colonnade delete webtable com.example/
  colonnade delete webtable com.example/ anchor title:
  colonnade delete webtable --prefix com.example --until 90d --dry-run`,
		Args:              arguments(1, -1),
		ValidArgsFunction: e.complete(tables, keys, columns),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			d, err := s.deletion(args, all)
			if err != nil {
				return err
			}
			if !dryRun {
				if err := t.Delete(cmd.Context(), d); err != nil {
					return err
				}
				return e.done(cmd, "deleted")
			}
			rows, cells, err := t.CountDeletion(cmd.Context(), d)
			if err != nil {
				return err
			}
			return e.record(cmd, []string{"rows", "cells"}, rows, cells)
		}),
	})
	s.add(cmd.Flags())
	s.complete(e, cmd)
	cmd.Flags().BoolVar(&all, "all", false, "delete from all rows")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "delete nothing, and count what would be")
	return cmd
}

// deletion returns what to delete. args are the key of a row and columns.
func (s *selection) deletion(args []string, all bool) (d client.Deletion, err error) {
	rows, some, err := s.rows()
	if err != nil {
		return d, err
	}
	d.Rows, d.All = rows, all
	switch {
	case len(args) > 0 && (some || all):
		return d, usagef("a key excludes --prefix, --start, --end and --all")
	case some && all:
		return d, usagef("--all excludes --prefix, --start and --end")
	case len(args) > 0:
		row, err := Unescape(args[0])
		if err != nil {
			return d, err
		}
		d.Rows = client.Key(row)
		s.columns = append(s.columns, args[1:]...)
	case !some && !all:
		return d, usagef("it needs a key, --prefix, --start, --end or, for all rows, --all")
	}
	if d.Columns, err = s.columnSet(); err != nil {
		return d, err
	}
	d.Times, err = s.times()
	return d, err
}

func (e *Env) newIncr() *cobra.Command {
	return e.command(&cobra.Command{
		Use:   "incr TABLE KEY COLUMN [N]",
		Short: "Add to a counter",
		Long: `Incr adds N, by default 1, to the newest version of a column, which is of type i64 or not
there, and prints what it has become. Of many at the same time all count.`,
		Example: `  colonnade incr webtable com.example/ contents:visits
  colonnade incr webtable com.example/ contents:visits -- -5`,
		Args:              arguments(3, 4),
		ValidArgsFunction: e.complete(tables, keys, columns, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			row, err := Unescape(args[0])
			if err != nil {
				return err
			}
			c, err := parseColumn(args[1])
			if err != nil {
				return err
			}
			n := int64(1)
			if len(args) == 3 {
				if n, err = strconv.ParseInt(args[2], 10, 64); err != nil {
					return usagef("%s is no whole number to add", args[2])
				}
			}
			after, err := t.ReadModifyWrite(cmd.Context(), row, client.Increment(c.family, c.qualifier, n))
			if err != nil {
				return err
			}
			out, err := e.rows(cmd)
			if err != nil {
				return err
			}
			return out.end(out.addRow(after))
		}),
	})
}

func (e *Env) newCas() *cobra.Command {
	var absent bool
	cmd := e.command(&cobra.Command{
		Use:     "cas TABLE KEY COLUMN OLD NEW",
		Aliases: []string{"checkandput"},
		Short:   "Write a cell if it holds what is expected (compare and set)",
		Long: `Cas writes NEW if the newest version of the column holds OLD, or with --absent, without
OLD, if it has none. No other change comes between the look and the change. If the
column holds something else, nothing is changed and the code is 1.

The server compares the bytes of values: an i64 is equal to bytes of the same 8 bytes.

` + valueHelp,
		Example: `  colonnade cas jobs 17 state: waiting running
  colonnade cas locks backup owner: --absent host1`,
		Args:              arguments(4, 5),
		ValidArgsFunction: e.complete(tables, keys, columns, nil),
		RunE: e.on(func(cmd *cobra.Command, t *client.Table, args []string) error {
			if absent != (len(args) == 3) {
				return usagef("it takes OLD and NEW, or --absent and NEW")
			}
			row, err := Unescape(args[0])
			if err != nil {
				return err
			}
			c, err := parseColumn(args[1])
			if err != nil {
				return err
			}
			v, err := ParseValue(args[len(args)-1])
			if err != nil {
				return err
			}
			check := client.Check{If: client.Matches(client.Chain(newest(c)...))}
			set := []client.Mutation{client.Set(client.Cell{Family: c.family, Qualifier: c.qualifier, Value: v})}
			if absent {
				check.Else = set
			} else {
				old, err := ParseValue(args[2])
				if err != nil {
					return err
				}
				check.If, check.Then = client.Matches(client.Chain(append(newest(c), equals(old))...)), set
			}
			matched, _, err := t.CheckAndMutate(cmd.Context(), row, check)
			if err != nil {
				return err
			}
			if matched == absent {
				return fmt.Errorf("%s of row %s does not hold what is expected: nothing was changed", args[1], args[0])
			}
			return e.done(cmd, "wrote 1 cell")
		}),
	})
	cmd.Flags().BoolVar(&absent, "absent", false, "write if the column has no version")
	return cmd
}

// newest are filters that pass on the newest version of a column.
func newest(c column) []client.Filter {
	filters := []client.Filter{client.FamilyRegex(regexp.QuoteMeta(c.family)), client.CellsPerColumn(1)}
	if c.qualifier == "" { // which a range cannot say
		return append(filters, client.QualifierRegex(""))
	}
	return append(filters, client.QualifierRange(c.family, client.Range{Start: c.qualifier, End: c.qualifier, IncludeEnd: true}))
}

// equals passes on versions of a value.
func equals(v client.Value) client.Filter {
	b := v.Encoded()
	if len(b) == 0 {
		return client.ValueRegex("")
	}
	return client.ValueRange(client.Range{Start: string(b), End: string(b), IncludeEnd: true})
}
