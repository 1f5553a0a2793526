package client

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// Stats are what a read has cost. docs/api.md has more on them (Query results).
type Stats struct {
	Rows, Cells    int64 // that were answered, or counted
	RowsScanned    int64 // that the server stepped over; 0 of a Count
	CellsScanned   int64
	BytesScanned   int64
	LocalityGroups int64         // partitions that were read; 0 of a Count
	Took           time.Duration // in the server
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// rowDecoder reads the rows of an answer while they come.
type rowDecoder interface {
	// next returns the next row, which is the caller's, or io.EOF behind the last one of a whole answer.
	next() (Row, error)
	// summary returns what came beside the rows. It is complete after io.EOF.
	summary() *summary
}

type summary struct {
	stats   Stats
	missing []int     // of a rows request: items without a row
	next    PageToken // of a scan with a limit
}

// jsonRows is the rowDecoder of
//
//	{"result":{"rows":[{"row_key":"r","columns":{…}},…],"row_count":1,…},"message":…}
//
// with the fields of each object in any order.
type jsonRows struct {
	in    jsonReader
	place place
	n     [inRows + 1]int // elements so far, by place
	found bool            // there was a list of rows
	sum   summary

	family     string   // of the last cell
	qualifiers []string // of the last row's columns: those of the next one are mostly the same
	cells      int      // of the last row
}

// place is where a jsonRows is in an answer.
type place int

const (
	atStart place = iota
	inAnswer
	inResult
	inRows
)

func newJSONRows(src io.Reader) *jsonRows { return &jsonRows{in: newJSONReader(src)} }

func (d *jsonRows) summary() *summary { return &d.sum }

func (d *jsonRows) next() (Row, error) {
	for d.in.err == nil {
		switch d.place {
		case atStart:
			d.enter(inAnswer, '{')
		case inAnswer:
			if !d.more('}') {
				d.finish()
			} else if string(d.in.key()) == "result" && d.in.peek() == '{' {
				d.enter(inResult, '{')
			} else {
				d.in.skip()
			}
		case inResult:
			if !d.more('}') {
				d.place = inAnswer
			} else if name := string(d.in.key()); name == "rows" {
				d.found = true
				d.enter(inRows, '[')
			} else {
				d.field(name)
			}
		case inRows:
			if !d.more(']') {
				d.place = inResult
			} else if row := d.row(); d.in.err == nil {
				return row, nil
			}
		}
	}
	return Row{}, d.in.err
}

func (d *jsonRows) enter(p place, c byte) {
	d.in.open(c)
	d.place, d.n[p] = p, 0
}

// more is jsonReader.more for the current place.
func (d *jsonRows) more(end byte) bool {
	n := d.n[d.place]
	d.n[d.place]++
	return d.in.more(n, end)
}

func (d *jsonRows) finish() {
	if d.in.err != nil {
		return
	}
	if !d.found {
		d.in.fail("no rows in it")
		return
	}
	d.in.finish()
}

// field reads a field of the result beside the rows.
func (d *jsonRows) field(name string) {
	s := &d.sum.stats
	switch name {
	case "row_count":
		s.Rows = d.in.int()
	case "cell_count":
		s.Cells = d.in.int()
	case "rows_scanned":
		s.RowsScanned = d.in.int()
	case "cells_scanned":
		s.CellsScanned = d.in.int()
	case "bytes_scanned":
		s.BytesScanned = d.in.int()
	case "affected_locality_groups":
		s.LocalityGroups = d.in.int()
	case "micros":
		s.Took = micros(d.in.int())
	case "missing":
		d.in.open('[')
		for n := 0; d.in.more(n, ']'); n++ {
			d.sum.missing = append(d.sum.missing, int(d.in.int()))
		}
	case "next_page_token":
		if d.in.peek() != '"' {
			d.in.skip() // null
			return
		}
		d.in.name = d.in.string(d.in.name[:0])
		d.sum.next = PageToken(d.in.name)
	default:
		d.in.skip()
	}
}

// row reads a row.
func (d *jsonRows) row() Row {
	row := Row{Cells: make([]Cell, 0, d.cells)}
	columns, keyed, binary := 0, false, false
	d.in.open('{')
	for n := 0; d.in.more(n, '}'); n++ {
		switch string(d.in.key()) {
		case "row_key":
			row.Key, keyed = string(d.in.bytes()), true
		case "columns":
			columns = d.columns(&row, columns)
		case "binary_columns":
			binary = true
			columns = d.binaryColumns(&row, columns)
		default:
			d.in.skip()
		}
	}
	if !keyed {
		d.in.fail("a row without a key")
	}
	if binary {
		slices.SortStableFunc(row.Cells, func(a, b Cell) int {
			return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Qualifier, b.Qualifier))
		})
	}
	// A single huge row must not make all later ones as large.
	d.cells = min(len(row.Cells), 64)
	return row
}

// columns reads the columns whose qualifiers are UTF-8. at is how many columns of the row there were before,
// and with these.
func (d *jsonRows) columns(row *Row, at int) int {
	d.in.open('{')
	for n := 0; d.in.more(n, '}'); n++ {
		d.setFamily(d.in.key())
		d.in.open('{')
		for n := 0; d.in.more(n, '}'); n++ {
			d.versions(row, d.qualifier(at, d.in.key()))
			at++
		}
	}
	return at
}

// binaryColumns reads the other columns.
func (d *jsonRows) binaryColumns(row *Row, at int) int {
	d.in.open('[')
	for n := 0; d.in.more(n, ']'); n++ {
		first, qualifier, named := len(row.Cells), "", 0
		d.in.open('{')
		for n := 0; d.in.more(n, '}'); n++ {
			switch string(d.in.key()) {
			case "family":
				d.setFamily(d.in.bytes())
				named++
			case "qualifier":
				qualifier = d.qualifier(at, d.in.bytes())
				named++
			case "cells":
				d.versions(row, "")
			default:
				d.in.skip()
			}
		}
		if named != 2 {
			d.in.fail("a column without family or qualifier")
		}
		for i := range row.Cells[first:] {
			row.Cells[first+i].Family, row.Cells[first+i].Qualifier = d.family, qualifier
		}
		at++
	}
	return at
}

func (d *jsonRows) setFamily(name []byte) {
	if d.family != string(name) {
		d.family = string(name)
	}
}

// maxQualifiers bounds the qualifiers that are kept from row to row.
const maxQualifiers = 4096

// qualifier returns a qualifier as the string of the last row's column at the same place, if it is that.
func (d *jsonRows) qualifier(at int, name []byte) string {
	switch {
	case at < len(d.qualifiers):
		if d.qualifiers[at] != string(name) {
			d.qualifiers[at] = string(name)
		}
		return d.qualifiers[at]
	case at == len(d.qualifiers) && at < maxQualifiers:
		d.qualifiers = append(d.qualifiers, string(name))
		return d.qualifiers[at]
	}
	return string(name)
}

// versions reads the versions of a column.
func (d *jsonRows) versions(row *Row, qualifier string) {
	d.in.open('[')
	for n := 0; d.in.more(n, ']'); n++ {
		c := Cell{Family: d.family, Qualifier: qualifier}
		d.version(&c)
		row.Cells = append(row.Cells, c)
	}
}

// version reads the time and the value of a version.
func (d *jsonRows) version(c *Cell) {
	in := &d.in
	typ, kind := Type(0), byte(0) // kind is how the value, which is in in.text, begins
	in.open('{')
	for n := 0; in.more(n, '}'); n++ {
		switch string(in.key()) {
		case "time":
			c.Time = At(in.int())
		case "type":
			typ = d.typeName()
		case "value":
			if kind = in.peek(); kind == '"' {
				in.text = in.string(in.text[:0])
			} else {
				in.text = in.word(in.text[:0])
			}
		case "labels":
			in.open('[')
			for n := 0; in.more(n, ']'); n++ {
				in.name = in.string(in.name[:0])
				c.Label = string(in.name)
			}
		default:
			in.skip()
		}
	}
	if in.err == nil {
		c.Value = d.value(typ, kind)
	}
}

func (d *jsonRows) typeName() Type {
	d.in.name = d.in.string(d.in.name[:0])
	for t := TypeString; t <= TypeBytes; t++ {
		if string(d.in.name) == typeNames[t] {
			return t
		}
	}
	d.in.fail("an unknown type %q", d.in.name)
	return 0
}

var errWrongValue = errors.New("it does not have its type")

// value returns the value in the reader's text, in its type.
func (d *jsonRows) value(typ Type, kind byte) Value {
	v := Value{typ: typ}
	text := d.in.text
	err := errWrongValue
	switch {
	case typ == 0 || kind == 0:
		d.in.fail("a version without type or value")
		return v
	case kind == 'n' && string(text) == "null":
		return Value{typ: typ, null: true}
	case (kind == '"') != (typ == TypeString || typ == TypeBytes):
	case typ == TypeString:
		v.text, err = string(text), nil
	case typ == TypeBytes:
		v.text, err = string(d.in.base64(text)), nil
	case typ == TypeBool:
		if v.bits = 0; string(text) == "true" {
			v.bits, err = 1, nil
		} else if string(text) == "false" {
			err = nil
		}
	default:
		v.bits, err = number(typ, text)
	}
	if err != nil {
		d.in.fail("a value %.40q of type %s: %w", text, typ, err)
	}
	return v
}

// number parses a number into the bits of its type.
func number(typ Type, text []byte) (uint64, error) {
	switch typ {
	case TypeF64:
		f, err := strconv.ParseFloat(string(text), 64)
		return math.Float64bits(f), err
	case TypeF32:
		f, err := strconv.ParseFloat(string(text), 32)
		return uint64(math.Float32bits(float32(f))), err
	case TypeByte:
		return strconv.ParseUint(string(text), 10, 8)
	case TypeI32:
		n, err := strconv.ParseInt(string(text), 10, 32)
		return uint64(n), err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return uint64(n), err
}

// rowOf decodes a row that came in a whole answer.
func rowOf(text []byte) (Row, error) {
	d := jsonRows{in: readerOf(text)}
	row := d.row()
	return row, d.in.err
}
