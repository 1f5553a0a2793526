package format

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// cellFields is the header of CSV in the form of cells.
var cellFields = []string{rowKeyField, "column_key", "time", "type", "value"}

// base64Prefix begins a text in the form of cells that CSV could not keep as it is: one that is not UTF-8, or has
// a carriage return, which programs take for the end of a line. A text that begins with it is written so, too.
const base64Prefix = "base64:"

func plainText(text []byte) bool {
	return utf8.Valid(text) && !strings.ContainsRune(string(text), '\r') && !strings.HasPrefix(string(text), base64Prefix)
}

// encodeText returns a text for CSV in the form of cells.
func encodeText(text []byte) string {
	if plainText(text) {
		return string(text)
	}
	return base64Prefix + base64.StdEncoding.EncodeToString(text)
}

func decodeText(text string) (string, error) {
	encoded, ok := strings.CutPrefix(text, base64Prefix)
	if !ok {
		return text, nil
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("behind %s there is no base64", base64Prefix)
	}
	return string(b), nil
}

// csvCells reads CSV in the form of cells.
type csvCells struct {
	*records
	group
	head, value []byte
}

func newCSVCells(r *records) *csvCells {
	c := &csvCells{records: r}
	c.group.read = c.cell
	return c
}

// cell reads the next record.
func (c *csvCells) cell() (cellRecord, error) {
	record, err := c.records.next()
	if err != nil {
		return cellRecord{}, err
	}
	cell, field, err := c.parse(record)
	if err != nil {
		return cell, c.bad(c.line, c.line, fmt.Errorf("field %q: %w", cellFields[field], err))
	}
	cell.number = c.line
	return cell, nil
}

// parse returns the cell of a record. With an error it returns the number of the field.
func (c *csvCells) parse(record []string) (cell cellRecord, field int, err error) {
	key, err := decodeText(record[0])
	if err == nil && key == "" {
		err = errNoRowKey
	}
	if err != nil {
		return cell, 0, err
	}
	column, err := decodeText(record[1])
	if err == nil && column == "" {
		err = errors.New("the column key is empty")
	}
	if err != nil {
		return cell, 1, err
	}
	if cell.time, err = parseTime(record[2]); err != nil {
		return cell, 2, err
	}
	typ, text := record[3], record[4]
	if !slices.Contains(Types, typ) {
		return cell, 3, fmt.Errorf("%q is no type: the types are %q", typ, Types)
	}
	if typ == "string" {
		if text, err = decodeText(text); err != nil {
			return cell, 4, err
		}
	}
	if c.value, err = appendText(c.value[:0], typ, text); err != nil {
		return cell, 4, err
	}
	c.head = cellHead(c.head[:0], []byte(column), typ)
	cell.key, cell.head, cell.value = []byte(key), c.head, c.value
	return cell, 0, nil
}

// Field returns "": each record names its column key.
func (c *csvCells) Field(string) string { return "" }

// Next returns the next item.
func (c *csvCells) Next() (Row, error) { return c.group.Next() }
