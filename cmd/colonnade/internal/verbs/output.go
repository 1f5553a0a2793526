package verbs

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/colonnade-db/colonnade/client"
)

// Outputs are the forms of what is printed.
var Outputs = []string{table, "json", ndjson, "csv"}

const (
	table  = "table"
	ndjson = "ndjson"
)

// output returns the form and the place of what a command prints. width is that of the terminal, 0 if it is none.
func (e *Env) output(cmd *cobra.Command) (form string, w io.Writer, width int, err error) {
	form, _ = cmd.Flags().GetString("output")
	if form == "" {
		form = e.Output
	}
	w = cmd.OutOrStdout()
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err = term.GetSize(int(f.Fd())); err != nil || width <= 0 {
			width = 80
		}
	}
	if form == "" && width > 0 {
		form = table
	} else if form == "" {
		form = ndjson
	}
	if !slices.Contains(Outputs, form) {
		return "", nil, 0, usagef("--output %s is none of %s", form, strings.Join(Outputs, ", "))
	}
	return form, w, width, nil
}

// done says for people that something was done. Programs know it by the code.
func (e *Env) done(cmd *cobra.Command, format string, args ...any) error {
	form, w, _, err := e.output(cmd)
	if err != nil || form != table {
		return err
	}
	_, err = fmt.Fprintf(w, format+"\n", args...)
	return err
}

// sheet prints records that have the same fields.
type sheet struct {
	fields []string
	form   string
	single bool // one record, no list
	w      *bufio.Writer
	csv    *csv.Writer
	grid   *grid
	n      int // records
}

// size is a number of bytes, key a row key or another text of any bytes.
type (
	size int64
	key  string
)

func (e *Env) sheet(cmd *cobra.Command, fields ...string) (*sheet, error) {
	form, w, width, err := e.output(cmd)
	if err != nil {
		return nil, err
	}
	s := &sheet{fields: fields, form: form, w: bufio.NewWriterSize(w, 64<<10)}
	switch form {
	case table:
		s.grid = newGrid(s.w, width, fields)
	case "csv":
		s.csv = csv.NewWriter(s.w)
		return s, s.csv.Write(fields)
	}
	return s, nil
}

// record prints one record.
func (e *Env) record(cmd *cobra.Command, fields []string, values ...any) error {
	s, err := e.sheet(cmd, fields...)
	if err != nil {
		return err
	}
	s.single = true
	return s.end(s.add(values...))
}

// add adds a record with a value for each field.
func (s *sheet) add(values ...any) error {
	if s.form != table && s.form != "csv" {
		return s.addJSON(s.object(values))
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = text(v, s.form == table)
	}
	s.n++
	if s.csv != nil {
		return s.csv.Write(texts)
	}
	shapes := make([]shape, len(values))
	for i, v := range values {
		switch v.(type) {
		case int64, size:
			shapes[i] = shape{right: true, whole: true}
		case client.Time, bool:
			shapes[i].whole = true
		}
	}
	return s.grid.add(texts, shapes)
}

// addJSON adds a record that is JSON already.
func (s *sheet) addJSON(object []byte) error {
	if s.form == "json" && !s.single {
		head := ",\n "
		if s.n == 0 {
			head = "[\n "
		}
		s.w.WriteString(head)
	}
	s.n++
	s.w.Write(object)
	if s.form == ndjson || s.single {
		return s.w.WriteByte('\n')
	}
	return nil
}

// end ends the output. A list of JSON that err has cut short does not look whole.
func (s *sheet) end(err error) error {
	if s.grid != nil {
		err = errors.Join(err, s.grid.flush())
	}
	if s.csv != nil {
		s.csv.Flush()
		err = errors.Join(err, s.csv.Error())
	}
	if s.form == "json" && !s.single && err == nil {
		if s.n == 0 {
			s.w.WriteString("[")
		}
		s.w.WriteString("\n]\n")
	}
	return errors.Join(err, s.w.Flush())
}

func (s *sheet) object(values []any) []byte {
	b := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, s.fields[i]), ':')
		b = append(b, jsonOf(v)...)
	}
	return append(b, '}')
}

func jsonOf(v any) []byte {
	switch x := v.(type) {
	case key:
		if !utf8.ValidString(string(x)) {
			v = map[string][]byte{"base64": []byte(x)}
		}
	case client.Time:
		v = x.Micros()
	case []string:
		if x == nil {
			v = []string{}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a field of ours
	}
	return b
}

// text returns a value as text, for people or for CSV.
func text(v any, people bool) string {
	switch x := v.(type) {
	case string:
		if people {
			return printable(x)
		}
		return x
	case key:
		return Escape(string(x))
	case size:
		if people {
			return Bytes(int64(x))
		}
		return strconv.FormatInt(int64(x), 10)
	case client.Time:
		if people {
			return timeText(x)
		}
		return x.String()
	case []string:
		return strings.Join(x, ", ")
	}
	return fmt.Sprint(v)
}

// Bytes formats a number of bytes.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
