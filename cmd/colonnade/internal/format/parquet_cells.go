package format

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// parquetCell is the schema of Parquet in the form of cells. Of the fields behind Time, one has a value: its name is the
// type. The others are null.
type parquetCell struct {
	RowKey    []byte   `parquet:"row_key,dict"`
	ColumnKey []byte   `parquet:"column_key,dict"`
	Time      int64    `parquet:"time,timestamp(microsecond),delta"`
	String    *string  `parquet:"string,optional"`
	I64       *int64   `parquet:"i64,optional"`
	I32       *int32   `parquet:"i32,optional"`
	Byte      *uint8   `parquet:"byte,optional"`
	F64       *float64 `parquet:"f64,optional"`
	F32       *float32 `parquet:"f32,optional"`
	Boolean   *bool    `parquet:"boolean,optional"`
	Bytes     *[]byte  `parquet:"bytes,optional"`
}

// parquetCellFields are the fields of parquetCell.
var parquetCellFields = append([]string{rowKeyField, "column_key", "time"}, Types...)

// firstValue is the first of parquetCellFields that has a value.
const firstValue = 3

// parquetCells reads Parquet in the form of cells.
type parquetCells struct {
	*parquetFile
	group
	values            []parquetValue // of the fields from firstValue on
	head, value, time []byte
}

func newParquetCells(p *parquetFile) (*parquetCells, error) {
	c := &parquetCells{parquetFile: p}
	for i, leaf := range p.leaves[firstValue:] {
		v, err := valueOf(leaf.Node)
		if err == nil && v.typ != Types[i] {
			err = fmt.Errorf("its values have the type %s, not that of its name", v.typ)
		}
		if err != nil {
			return nil, fmt.Errorf("the field %q: %w", Types[i], err)
		}
		c.values = append(c.values, v)
	}
	for i := range p.leaves {
		p.wanted = append(p.wanted, i)
	}
	for i, kind := range []parquet.Kind{parquet.ByteArray, parquet.ByteArray, parquet.Int64} {
		if p.leaves[i].Node.Type().Kind() != kind {
			return nil, fmt.Errorf("the field %q is not stored as %v", p.names[i], kind)
		}
	}
	if err := p.want(p.wanted...); err != nil {
		return nil, err
	}
	c.group.read = c.cell
	return c, nil
}

// cell reads the next record.
func (c *parquetCells) cell() (cell cellRecord, err error) {
	record, err := c.parquetFile.next()
	if err != nil {
		return cell, err
	}
	key, column, time := record[0], record[1], record[2]
	if key.IsNull() || len(key.ByteArray()) == 0 {
		return cell, c.bad(rowKeyField, errNoRowKey)
	}
	if c.time = c.time[:0]; !time.IsNull() {
		if c.time, err = appendInt64(c.time, time); err != nil {
			return cell, c.bad("time", err)
		}
		if _, err := parseTime(string(c.time)); err != nil {
			return cell, c.bad("time", err)
		}
	}
	at, err := valueAt(record)
	if err != nil {
		return cell, &RowError{c.number, c.number, err}
	}
	if c.value, err = c.values[at].append(c.value[:0], record[firstValue+at]); err != nil {
		return cell, c.bad(Types[at], err)
	}
	c.head = cellHead(c.head[:0], column.ByteArray(), Types[at])
	return cellRecord{key: key.ByteArray(), head: c.head, value: c.value, time: c.time, number: c.number}, nil
}

// valueAt returns which of the types a record has.
func valueAt(record parquet.Row) (int, error) {
	at := -1
	for i, v := range record[firstValue:] {
		if v.IsNull() {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("fields %q and %q: a cell has one value", Types[at], Types[i])
		}
		at = i
	}
	if at < 0 {
		return 0, errors.New("there is no value")
	}
	return at, nil
}

// Next returns the next item.
func (c *parquetCells) Next() (Row, error) { return c.group.Next() }

// Field returns "": each record names its column key.
func (c *parquetCells) Field(string) string { return "" }
