package verbs

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/client"
)

// selection is the flags that select rows, columns and times.
type selection struct {
	prefix, start, end string
	columns            []string
	since, until       string
}

func (s *selection) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.prefix, "prefix", "", "only rows whose key starts with this")
	flags.StringVar(&s.start, "start", "", "only rows from this key on")
	flags.StringVar(&s.end, "end", "", "only rows before this key")
	s.addColumns(flags)
}

// addColumns adds the flags that select columns and times.
func (s *selection) addColumns(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&s.columns, "column", "c", nil, "only this column, FAMILY:QUALIFIER, or family, FAMILY; may be repeated")
	flags.StringVar(&s.since, "since", "", "only versions from this time on: microseconds, 2026-11-29T12:00:00Z, or 90m for so long ago")
	flags.StringVar(&s.until, "until", "", "only versions before this time")
}

// complete registers the completions of the flags.
func (s *selection) complete(e *Env, cmd *cobra.Command) {
	for _, flag := range []string{"prefix", "start", "end"} {
		cmd.RegisterFlagCompletionFunc(flag, e.completeKeyFlag)
	}
	cmd.RegisterFlagCompletionFunc("column", e.completeColumnFlag)
}

// rows returns the rows that are selected. some is false if that is all rows.
func (s *selection) rows() (set client.RowSet, some bool, err error) {
	if s.prefix != "" && (s.start != "" || s.end != "") {
		return set, false, usagef("--prefix excludes --start and --end")
	}
	if s.prefix != "" {
		prefix, err := Unescape(s.prefix)
		return client.Prefix(prefix), true, err
	}
	if s.start == "" && s.end == "" {
		return set, false, nil
	}
	var r client.Range
	if r.Start, err = Unescape(s.start); err != nil {
		return set, false, err
	}
	if r.End, err = Unescape(s.end); err != nil {
		return set, false, err
	}
	if r.End != "" && r.Start > r.End {
		return set, false, usagef("--start is behind --end")
	}
	return client.Ranges(r), true, nil
}

func (s *selection) columnSet() (set client.ColumnSet, err error) {
	keys, err := columnKeys(s.columns)
	if err == nil && len(keys) > 0 {
		set = client.Columns(keys...)
	}
	return set, err
}

func (s *selection) times() (t client.Times, err error) {
	now := time.Now()
	if t.Start, err = parseTime("since", s.since, now); err != nil {
		return t, err
	}
	t.End, err = parseTime("until", s.until, now)
	return t, err
}

// query returns a query of what is selected.
func (s *selection) query() (q client.Query, err error) {
	if q.Rows, _, err = s.rows(); err != nil {
		return q, err
	}
	if q.Columns, err = s.columnSet(); err != nil {
		return q, err
	}
	q.Times, err = s.times()
	return q, err
}
