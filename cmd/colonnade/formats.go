package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
)

// formatFlags say how a file has rows.
type formatFlags struct {
	format    string
	columns   []string
	rowKey    string
	delimiter string
	noHeader  bool
}

func (f *formatFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "format", "", "ndjson (lines of JSON), csv, parquet, or of an import hbase (default: what the content or the name says, else ndjson)")
	flags.StringArrayVar(&f.columns, "map", nil, "this column is in this field of CSV or Parquet, FAMILY:QUALIFIER=FIELD[:TYPE]; may be repeated")
	flags.StringVar(&f.rowKey, "row-key", "", "field of CSV or Parquet with the row key (default row_key; of a file without it, the first)")
	flags.StringVar(&f.delimiter, "delimiter", "", "character between fields of CSV (default a comma; a tab, if the name ends in .tsv)")
	flags.BoolVar(&f.noHeader, "no-header", false, "CSV has no header: its fields are called 1, 2, …")
}

// options returns what the flags say.
func (f *formatFlags) options() (o format.Options, err error) {
	if f.format != "" && !slices.Contains([]string{format.NDJSON, format.CSV, format.Parquet, format.HBase}, f.format) {
		return o, usagef("--format %s: it is %s, %s, %s or %s", f.format, format.NDJSON, format.CSV, format.Parquet, format.HBase)
	}
	o = format.Options{Format: f.format, NoHeader: f.noHeader, RowKey: f.rowKey}
	if f.delimiter != "" {
		if o.Delimiter, err = format.ParseDelimiter(f.delimiter); err != nil {
			return o, usageError{fmt.Errorf("--delimiter: %w", err)}
		}
	}
	for _, text := range f.columns {
		c, err := format.ParseColumn(text)
		if err != nil {
			return o, usageError{fmt.Errorf("--map: %w", err)}
		}
		o.Columns = append(o.Columns, c)
	}
	if o.NoHeader && len(o.Columns) == 0 {
		return o, usageError{errors.New("--no-header needs --map: which columns are the fields for?")}
	}
	return o, nil
}

// shape returns the flags that decide on the rows of a file, for a journal.
func (f *formatFlags) shape(o format.Options) string {
	var b strings.Builder
	for _, flag := range []struct{ name, value string }{{"format", f.format}, {"row-key", f.rowKey}, {"time-field", o.Time}, {"delimiter", f.delimiter}} {
		if flag.value != "" {
			fmt.Fprintf(&b, " --%s %s", flag.name, flag.value)
		}
	}
	if f.noHeader {
		b.WriteString(" --no-header")
	}
	for _, c := range f.columns {
		fmt.Fprintf(&b, " --map '%s'", c)
	}
	return b.String()
}

// serviceFlags say how to reach a bucket.
type serviceFlags struct{ endpoint, region string }

func (f *serviceFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.endpoint, "endpoint", amazon, "URL of the service of s3://")
	flags.StringVar(&f.region, "region", "", "region of the bucket (default: the service says it)")
}
