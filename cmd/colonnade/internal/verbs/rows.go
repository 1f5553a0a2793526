package verbs

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colonnade-db/colonnade/client"
)

// rows prints rows: in a table or CSV a line for each version, otherwise a row as an object in the form that import
// takes.
type rows struct {
	*sheet
	last string // key of the row before
	json []byte
}

func (e *Env) rows(cmd *cobra.Command) (*rows, error) {
	form, _, _, err := e.output(cmd)
	if err != nil {
		return nil, err
	}
	fields := []string{"row_key", "column_key", "time", "value"}
	if form == "csv" {
		fields = []string{"row_key", "column_key", "time", "type", "value"}
	}
	s, err := e.sheet(cmd, fields...)
	return &rows{sheet: s}, err
}

func (r *rows) addRow(row client.Row) error {
	if r.grid == nil && r.csv == nil {
		r.json = row.AppendJSON(r.json[:0])
		return r.addJSON(r.json)
	}
	for _, c := range row.Cells {
		column := key(c.Family + ":" + c.Qualifier)
		var err error
		if r.csv != nil {
			value := c.Value.String()
			if c.Value.IsNull() {
				value = ""
			}
			err = r.add(key(row.Key), column, c.Time, c.Value.Type().String(), value)
		} else {
			err = r.add(r.name(row.Key), column, c.Time, literal(c))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// name returns the key of a row where it begins, on a terminal: it is not repeated for each version.
func (r *rows) name(row string) key {
	if r.grid.width > 0 && r.n > 0 && row == r.last {
		return ""
	}
	r.last = row
	return key(row)
}

// literal is the value of a version for people. A label that a filter gave stands behind it.
func literal(c client.Cell) string {
	if c.Label != "" {
		return Literal(c.Value) + " (" + c.Label + ")"
	}
	return Literal(c.Value)
}

// counted returns "1 row", or "3 rows".
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}
