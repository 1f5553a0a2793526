package format

import (
	"encoding/base64"
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// csvWriter writes CSV.
type csvWriter struct {
	csv    *csv.Writer
	record []string
}

func newCSVWriter(w io.Writer, o Options) (*csvWriter, error) {
	c := &csvWriter{csv: csv.NewWriter(w)}
	c.csv.Comma = o.Delimiter
	switch {
	case len(o.Columns) == 0:
		c.record = append(c.record, cellFields...)
	default:
		c.record = append(c.record, o.RowKey)
		for _, column := range o.Columns {
			c.record = append(c.record, column.Field)
		}
	}
	if o.NoHeader {
		return c, nil
	}
	return c, c.csv.Write(c.record)
}

func (c *csvWriter) cell(rowKey []byte, v *value) error {
	text := string(v.text)
	switch v.typ {
	case "string":
		text = encodeText(v.text)
	case "bytes":
		text = base64.StdEncoding.EncodeToString(v.text)
	}
	c.record[0], c.record[1] = encodeText(rowKey), encodeText(v.column)
	c.record[2], c.record[3], c.record[4] = strconv.FormatInt(v.time, 10), v.typ, text
	return c.csv.Write(c.record)
}

func (c *csvWriter) row(rowKey []byte, values []*value) error {
	if !utf8.Valid(rowKey) {
		return errKeyNoText
	}
	c.record[0] = string(rowKey)
	for i, v := range values {
		switch {
		case v == nil:
			c.record[1+i] = ""
		case v.typ == "bytes":
			c.record[1+i] = base64.StdEncoding.EncodeToString(v.text)
		default:
			c.record[1+i] = string(v.text)
		}
	}
	return c.csv.Write(c.record)
}

var errKeyNoText = errors.New("the row key is not UTF-8, which the form of rows needs: write the form of cells, without --map")

func (c *csvWriter) close() error {
	c.csv.Flush()
	return c.csv.Error()
}
