package format

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// records reads the records of CSV.
type records struct {
	*Stream
	csv    *csv.Reader
	limit  *limited
	line   int64 // where the last record begins
	fields int   // of a record; 0 until the first
}

func newRecords(s *Stream, delimiter rune) *records {
	r := &records{Stream: s, limit: &limited{r: s}}
	r.csv = csv.NewReader(r.limit)
	r.csv.Comma, r.csv.ReuseRecord, r.csv.FieldsPerRecord = delimiter, true, -1
	return r
}

// next returns the next record, valid until the one behind it. Its errors are as those of Reader.Next.
func (r *records) next() ([]string, error) {
	r.limit.left = maxLine
	record, err := r.csv.Read()
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return nil, r.bad(int64(bad.StartLine), int64(bad.Line), fmt.Errorf("column %d: %w", bad.Column, bad.Err))
	case errors.Is(err, errLongRecord):
		return nil, fmt.Errorf("line %d: %w", r.line+1, err)
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("behind line %d: %w", r.line, err)
	}
	line, _ := r.csv.FieldPos(0)
	r.line = int64(line)
	if r.fields == 0 {
		r.fields = len(record)
	}
	if len(record) != r.fields {
		return nil, r.bad(r.line, r.line, fmt.Errorf("the record has %d fields, and the first one has %d", len(record), r.fields))
	}
	return record, nil
}

func (r *records) bad(first, last int64, cause error) *RowError {
	return &RowError{first, last, cause}
}

// limited reads at most so many bytes for a record. A quote that is not closed would make all of a file one.
type limited struct {
	r    io.Reader
	left int
}

var errLongRecord = fmt.Errorf("a record is longer than %d MiB: is a quote not closed?", maxLine>>20)

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLongRecord
	}
	n, err := l.r.Read(p)
	l.left -= n
	return n, err
}

// newCSV reads the header, if there is one, and returns the reader of the form that it has.
func newCSV(s *Stream, o Options) (Reader, error) {
	r := newRecords(s, o.Delimiter)
	if o.NoHeader {
		if len(o.Columns) == 0 {
			return nil, errors.New("--no-header needs --map: which columns are the fields for?")
		}
		return &csvRows{records: r, o: o}, nil
	}
	header, err := r.next()
	switch {
	case err == io.EOF:
		return nil, errors.New("it is empty: CSV begins with a header")
	case err != nil:
		return nil, fmt.Errorf("the header: %w", err)
	case slices.Equal(header, cellFields) && len(o.Columns) == 0:
		return newCSVCells(r), nil
	}
	rows := &csvRows{records: r, o: o}
	if err := rows.layOut(slices.Clone(header)); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	return rows, nil
}

// csvRows reads records that are rows. An empty field is no cell.
type csvRows struct {
	*records
	o     Options
	names []string
	layout
	heads [][]byte // of the columns
	item  item
}

func (r *csvRows) layOut(names []string) (err error) {
	if r.layout, err = layOut(names, r.o); err != nil {
		return err
	}
	r.names = names
	for i, c := range r.columns {
		if c.Type == "" {
			r.columns[i].Type = "string"
		}
		r.heads = append(r.heads, cellHead(nil, []byte(c.Key), r.columns[i].Type))
	}
	return nil
}

// Field returns the name of the field of a column.
func (r *csvRows) Field(columnKey string) string { return r.layout.field(columnKey) }

// Next returns the next row that has a cell.
func (r *csvRows) Next() (Row, error) {
	for {
		record, err := r.next()
		if err != nil {
			return Row{}, err
		}
		if r.names == nil { // there is no header
			if err := r.layOut(numbers(len(record))); err != nil {
				return Row{}, fmt.Errorf("--no-header: %w", err)
			}
		}
		if field, err := r.build(record); err != nil {
			return Row{}, r.bad(r.line, r.line, fmt.Errorf("field %q: %w", r.names[field], err))
		}
		if r.item.cells > 0 {
			return Row{r.item.end(), r.line, r.line}, nil
		}
	}
}

// numbers returns the names of n fields without a header.
func numbers(n int) (names []string) {
	for i := range n {
		names = append(names, strconv.Itoa(i+1))
	}
	return names
}

// build makes the item of a record. With an error it returns the number of the field.
func (r *csvRows) build(record []string) (field int, err error) {
	if record[r.rowKey] == "" {
		return r.rowKey, errNoRowKey
	}
	var time []byte
	if r.time >= 0 {
		if time, err = parseTime(record[r.time]); err != nil {
			return r.time, err
		}
	}
	r.item.begin([]byte(record[r.rowKey]))
	for i, at := range r.at {
		if record[at] == "" {
			continue
		}
		r.item.cell(r.heads[i])
		if r.item.text, err = appendText(r.item.text, r.columns[i].Type, record[at]); err != nil {
			return at, err
		}
		r.item.endCell(time)
	}
	return 0, nil
}

var errNoRowKey = errors.New("the row key is empty")

// ParseDelimiter returns the rune of a delimiter's text.
func ParseDelimiter(text string) (rune, error) {
	if text == `\t` || text == "tab" {
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) || r == utf8.RuneError || r == '"' || r == '\r' || r == '\n' {
		return 0, fmt.Errorf("%q is no delimiter: it is one character, or tab", text)
	}
	return r, nil
}
