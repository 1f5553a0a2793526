package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/colonnade-db/colonnade/internal/jsontext"
)

// What a sequence file of HBase's Export has for keys and values.
const (
	hbaseKeyClass   = "org.apache.hadoop.hbase.io.ImmutableBytesWritable"
	hbaseValueClass = "org.apache.hadoop.hbase.client.Result"
)

// hbaseExport reads a file of HBase's Export: a sequence file whose values are Result messages, each of a row or of a part of
// one. Its fields are the columns of HBase, whose values are bytes; Columns say which ones to read, and as what.
type hbaseExport struct {
	*sequenceFile
	group
	columns map[string]Column // by field; empty for all
	number  int64
	cells   [][]byte // of the current message, those that are still to come
	head    []byte
	value   []byte
	time    []byte
}

func newHBase(s *Stream, o Options) (*hbaseExport, error) {
	if o.RowKey != "" || o.Time != "" {
		return nil, errors.New("the cells of HBase have row keys and times: --row-key and --time-field are for CSV and Parquet")
	}
	file, err := newSequenceFile(s)
	if err != nil {
		return nil, err
	}
	if file.keyClass != hbaseKeyClass || file.valueClass != hbaseValueClass {
		return nil, fmt.Errorf("it is a sequence file of %s and %s, and no export of HBase", file.keyClass, file.valueClass)
	}
	h := &hbaseExport{sequenceFile: file, columns: make(map[string]Column)}
	for _, c := range o.Columns {
		if _, twice := h.columns[c.Field]; twice {
			return nil, fmt.Errorf("the column %q of HBase is mapped twice", c.Field)
		}
		if c.Type == "" {
			c.Type = "bytes"
		}
		h.columns[c.Field] = c
	}
	h.group.read = h.cell
	return h, nil
}

// Next returns the next item.
func (h *hbaseExport) Next() (Row, error) { return h.group.Next() }

// Field returns the name of a column in HBase.
func (h *hbaseExport) Field(columnKey string) string {
	for field, c := range h.columns {
		if c.Key == columnKey {
			return field
		}
	}
	return ""
}

// cell returns the next cell that is wanted.
func (h *hbaseExport) cell() (c cellRecord, err error) {
	for {
		for len(h.cells) == 0 {
			message, err := h.sequenceFile.next()
			if err != nil {
				return c, err
			}
			h.number++
			if h.cells, err = cellsOf(message, h.cells[:0]); err != nil {
				return c, &RowError{h.number, h.number, err}
			}
		}
		kv, err := parseHBaseCell(h.cells[0])
		h.cells = h.cells[1:]
		if err != nil {
			return c, &RowError{h.number, h.number, err}
		}
		field := string(kv.family) + ":" + string(kv.qualifier)
		column, ok := h.columns[field]
		if !ok && len(h.columns) > 0 {
			continue
		}
		if !ok {
			column = Column{Key: field, Type: "bytes"}
		}
		if h.value, err = appendHBase(h.value[:0], column.Type, kv.value); err != nil {
			return c, &RowError{h.number, h.number, fmt.Errorf("column %q: %w", field, err)}
		}
		h.head = cellHead(h.head[:0], []byte(column.Key), column.Type)
		h.time = strconv.AppendInt(h.time[:0], kv.micros, 10)
		return cellRecord{key: kv.row, head: h.head, value: h.value, time: h.time, number: h.number}, nil
	}
}

// cellsOf returns the messages of the cells of a Result, which begins with its length.
func cellsOf(message []byte, cells [][]byte) ([][]byte, error) {
	body, n := protowire.ConsumeBytes(message)
	if n != len(message) {
		return nil, errHBaseMessage
	}
	err := eachField(body, func(field protowire.Number, value []byte, _ uint64) error {
		if field == 1 {
			cells = append(cells, value)
		}
		return nil
	})
	return cells, err
}

var errHBaseMessage = errors.New("the message of the row is damaged")

// eachField calls f for each field of a message that has bytes or an integer.
func eachField(message []byte, f func(field protowire.Number, value []byte, integer uint64) error) error {
	for len(message) > 0 {
		field, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errHBaseMessage
		}
		message = message[n:]
		var value []byte
		var integer uint64
		switch typ {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			integer, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, typ, message)
		}
		if n < 0 {
			return errHBaseMessage
		}
		message = message[n:]
		if err := f(field, value, integer); err != nil {
			return err
		}
	}
	return nil
}

// hbaseCell is a cell of HBase.
type hbaseCell struct {
	row, family, qualifier, value []byte
	micros                        int64
}

// put is the type of a cell that is no deletion.
const put = 4

func parseHBaseCell(message []byte) (c hbaseCell, err error) {
	kind := uint64(put)
	var millis uint64
	err = eachField(message, func(field protowire.Number, value []byte, integer uint64) error {
		switch field {
		case 1:
			c.row = value
		case 2:
			c.family = value
		case 3:
			c.qualifier = value
		case 4:
			millis = integer
		case 5:
			kind = integer
		case 6:
			c.value = value
		}
		return nil
	})
	switch {
	case err != nil:
	case kind != put:
		err = errors.New("it has a deletion, which import does not read: export without deleted rows")
	case len(c.row) == 0:
		err = errNoRowKey
	case millis > math.MaxInt64/1000:
		err = fmt.Errorf("the time %d is no number of milliseconds that can be counted in microseconds", int64(millis))
	}
	c.micros = int64(millis) * 1000
	return c, err
}

// appendHBase appends a value in JSON. HBase has bytes: numbers are as its class Bytes makes them, big-endian.
func appendHBase(dst []byte, typ string, value []byte) ([]byte, error) {
	sizes := map[string]int{"i64": 8, "f64": 8, "i32": 4, "f32": 4, "byte": 1, "boolean": 1}
	if size, ok := sizes[typ]; ok && len(value) != size {
		return dst, fmt.Errorf("a value of %d bytes is no %s", len(value), typ)
	}
	switch typ {
	case "i64":
		return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(value)), 10), nil
	case "i32":
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(value))), 10), nil
	case "byte":
		return strconv.AppendInt(dst, int64(value[0]), 10), nil
	case "f64":
		return finite(dst, math.Float64frombits(binary.BigEndian.Uint64(value)), 64)
	case "f32":
		return finite(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(value))), 32)
	case "boolean":
		return strconv.AppendBool(dst, value[0] != 0), nil
	case "string":
		if !utf8.Valid(value) {
			return dst, errNotUTF8
		}
		return jsontext.AppendString(dst, value), nil
	}
	return appendBytes(dst, value), nil
}
