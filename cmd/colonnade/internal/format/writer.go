package format

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/valyala/fastjson"
)

// NewWriter returns a writer of rows to a file of the name. Each Write takes one row as the line that an export
// answers with; one row may be in several lines that follow each other. Close makes the file whole. It does not
// close w.
//
// With Columns it writes the form of rows, with the newest version of each column, otherwise the form of cells.
func NewWriter(w io.Writer, name string, o Options) (io.WriteCloser, error) {
	if o.RowKey == "" {
		o.RowKey = rowKeyField
	}
	if err := o.checkFields(); err != nil {
		return nil, err
	}
	o.complete(name)
	var records recordWriter
	var err error
	switch o.Format {
	case NDJSON:
		if len(o.Columns) > 0 {
			return nil, errors.New("lines of JSON have no fields: --map is for CSV and Parquet; is --format missing?")
		}
		return lineWriter{w}, nil
	case CSV:
		records, err = newCSVWriter(w, o)
	case Parquet:
		records, err = newParquetWriter(w, o)
	default:
		return nil, fmt.Errorf("unknown format %q: there are %s, %s and %s", o.Format, NDJSON, CSV, Parquet)
	}
	if err != nil {
		return nil, err
	}
	return &rowWriter{records: records, o: o, row: make([]*value, len(o.Columns))}, nil
}

// checkFields completes the types of the columns, and reports fields that are there twice.
func (o *Options) checkFields() error {
	names := map[string]bool{o.RowKey: true}
	for i, c := range o.Columns {
		if names[c.Field] {
			return fmt.Errorf("the field %q would be there twice", c.Field)
		}
		names[c.Field] = true
		if c.Type == "" {
			o.Columns[i].Type = "string"
		}
	}
	return nil
}

type lineWriter struct{ io.Writer }

func (lineWriter) Close() error { return nil }

// recordWriter writes records.
type recordWriter interface {
	// cell writes a record in the form of cells.
	cell(rowKey []byte, c *value) error
	// row writes a record in the form of rows, with nil for each of the columns that the row has not.
	row(rowKey []byte, values []*value) error
	close() error
}

// value is a version of a cell.
type value struct {
	column []byte
	typ    string
	time   int64
	text   []byte // a string or bytes, or the JSON of another type

	scratch []byte // for JSON
}

// rowWriter takes lines apart.
type rowWriter struct {
	records recordWriter
	o       Options
	parser  fastjson.Parser
	current value // in the form of cells

	// In the form of rows:
	key  []byte   // of the row whose lines are coming
	row  []*value // what has come of it
	some bool
}

// Write writes a line.
func (w *rowWriter) Write(line []byte) (int, error) {
	parsed, err := w.parser.ParseBytes(line)
	if err != nil {
		return 0, fmt.Errorf("the server sent a line that is no row: %w", err)
	}
	key, err := keyOf(parsed.Get("row_key"))
	if err != nil {
		return 0, err
	}
	if len(w.o.Columns) > 0 && (!w.some || string(key) != string(w.key)) {
		if err := w.endRow(); err != nil {
			return 0, err
		}
		w.key, w.some = append(w.key[:0], key...), true
	}
	for _, c := range parsed.GetArray("cells") {
		if err := w.cell(key, c); err != nil {
			return 0, fmt.Errorf("row %q: %w", key, err)
		}
	}
	return len(line), nil
}

func (w *rowWriter) cell(key []byte, c *fastjson.Value) error {
	if err := w.current.set(c); err != nil {
		return err
	}
	if len(w.o.Columns) == 0 {
		return w.records.cell(key, &w.current)
	}
	for i, column := range w.o.Columns {
		if w.row[i] != nil || column.Key != string(w.current.column) { // the newest version comes first
			continue
		}
		if column.Type != w.current.typ {
			return fmt.Errorf("the column %q has the type %s, not %s: name its type with --map, or write the form of cells, without --map", column.Key, w.current.typ, column.Type)
		}
		w.row[i] = &value{typ: column.Type, text: slices.Clone(w.current.text)}
	}
	return nil
}

// endRow writes the row whose lines have come, if there is one.
func (w *rowWriter) endRow() error {
	if !w.some {
		return nil
	}
	if err := w.records.row(w.key, w.row); err != nil {
		return fmt.Errorf("row %q: %w", w.key, err)
	}
	clear(w.row)
	return nil
}

// Close writes what is left, and the end of the file.
func (w *rowWriter) Close() error {
	if err := w.endRow(); err != nil {
		return err
	}
	return w.records.close()
}

// set takes a cell of a line apart. It keeps no memory of the line but c's.
func (v *value) set(c *fastjson.Value) (err error) {
	if v.column, err = keyOf(c.Get("column_key")); err != nil {
		return err
	}
	v.typ, v.time = string(c.GetStringBytes("type")), c.GetInt64("time")
	text := c.Get("value")
	switch {
	case text == nil:
		return errors.New("the server sent a cell without a value")
	case v.typ == "string":
		v.text = text.GetStringBytes()
	case v.typ == "bytes":
		v.text, err = base64.StdEncoding.DecodeString(string(text.GetStringBytes()))
	default:
		v.scratch = text.MarshalTo(v.scratch[:0])
		v.text = v.scratch
	}
	return err
}

// keyOf returns a row key or column key.
func keyOf(v *fastjson.Value) ([]byte, error) {
	switch {
	case v == nil:
	case v.Type() == fastjson.TypeString:
		return v.GetStringBytes(), nil
	case v.Exists("base64"):
		return base64.StdEncoding.DecodeString(string(v.GetStringBytes("base64")))
	}
	return nil, errors.New("the server sent a row or cell without its key")
}

func (v *value) integer() (int64, error) { return strconv.ParseInt(string(v.text), 10, 64) }
func (v *value) float(bits int) (float64, error) {
	return strconv.ParseFloat(string(v.text), bits)
}
