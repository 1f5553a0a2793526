package server

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// rowWriter writes the rows of queries as JSON, while they come:
//
//	[{"row_key":"r","columns":{"f":{"q":[{"time":1,"type":"i64","value":1},…],…},…}},…]
//
// A qualifier that is not UTF-8 cannot be a key of an object. Its cells are in another list of the row:
//
//	"binary_columns":[{"family":"f","qualifier":{"base64":"/w=="},"cells":[{"time":1,…},…]},…]
//
// It keeps only its place within the current row, and the list of binary columns. Or it writes lines: see
// lines.go.
type rowWriter struct {
	c      *responseBuffer
	memory *admission.Request // for binary columns
	strip  bool               // values are null: the query may leave them out
	line   *lineWriter        // a line for each row; nil for JSON
	some   bool               // a row was appended
	open   bool               // a row was begun and not ended
	last   []byte             // the column of the cell appended last, of the current row
	own    []byte             // holds last when its chunk has gone
	labels []string           // of the chunk's cells, nil for none
	named  int                // how many bytes of last are its family's name and what ends that

	binary       []byte // the binary columns of the current row, as JSON
	binaryColumn []byte // the last of them
	charged      int    // bytes of binary that are charged to the memory of requests

	stats   widecol.Stats
	yield   func() error // of the queries
	explain *explanation // nil for none

	*versionTexts
}

// versionTexts are texts of times. Many cells of a response were written by one request, and have few types.
type versionTexts struct {
	time   int64
	digits []byte // time in decimal
	starts [cell.TypeCount]versionStart
}

// versionStart is the text of a version up to its value.
type versionStart struct {
	time int64
	text []byte // {"time":1,"type":"i64","value":
}

func newVersionTexts() *versionTexts {
	v := &versionTexts{digits: []byte{'0'}}
	for t := range v.starts {
		v.renew(cell.Type(t), 0)
	}
	return v
}

func (s *scratch) newRowWriter(c *responseBuffer, memory *admission.Request) *rowWriter {
	a := &s.rows
	if a.yield == nil { // a scratch needs them once
		a.yield = func() error { return a.c.yield() }
		a.versionTexts = newVersionTexts()
	}
	*a = rowWriter{c: c, memory: memory, own: a.own, binary: a.binary[:0], binaryColumn: a.binaryColumn[:0], yield: a.yield, versionTexts: a.versionTexts}
	return a
}

// writeAll writes all rows of a query, whose Yield is a.yield. It reports whether there were any.
func (a *rowWriter) writeAll(rows widecol.Rows) (found bool, err error) {
	if a.explain != nil {
		return a.writeExplained(rows)
	}
	for rows.Next() {
		if rows.First() {
			a.endRow()
			a.beginRow(rows.Row())
			found = true
		}
		if err := a.writeCells(rows.Cells(), rows.Labels()); err != nil {
			return found, err
		}
		if a.last != nil {
			a.own = append(a.own[:0], a.last...)
			a.last = a.own
		}
	}
	if err := rows.Err(); err != nil {
		return found, err
	}
	a.endRow()
	addStats(&a.stats, rows.Stats())
	return found, nil
}

func (a *rowWriter) beginRow(key []byte) {
	if a.line != nil {
		a.beginLine(key)
		return
	}
	out := a.c.out
	if a.some {
		out = append(out, ',')
	}
	out = append(out, `{"row_key":`...)
	out = appendBytes(out, key)
	a.c.out = append(out, `,"columns":{`...)
	a.some, a.open, a.last = true, true, nil
}

func (a *rowWriter) endRow() {
	if a.line != nil {
		a.endLine()
		return
	}
	if !a.open {
		return
	}
	if a.last != nil {
		a.c.out = append(a.c.out, "]}"...)
	}
	a.c.out = append(a.c.out, '}')
	if len(a.binary) > 0 {
		a.endBinary()
	}
	a.c.out = append(a.c.out, '}')
	a.open = false
}

// writeCells writes a chunk of the current row. labels are those of the cells, or nil.
func (a *rowWriter) writeCells(cells []cell.Cell, labels []string) error {
	a.labels = labels
	if a.line != nil {
		return a.writeLineCells(cells)
	}
	out, last := a.c.out, a.last
	for i := range cells {
		c := &cells[i]
		if c.Type != cell.String && !a.strip && !c.Type.Fits(c.Value) {
			return damagedValue(c)
		}
		if last != nil && bytes.Equal(last, c.Column) {
			out = append(out, ',')
		} else if next, ok := a.beginColumn(out, last, c.Column); ok {
			out = next
		} else if err := a.writeBinary(c, i); err != nil {
			return err
		} else {
			continue
		}
		out = a.endVersion(a.beginVersion(out, c), i)
		last = c.Column
		if len(out) >= flushSize {
			a.c.out = out
			if err := a.c.to.flush(); err != nil {
				return err
			}
			out = a.c.out
		}
	}
	a.c.out, a.last = out, last
	return nil
}

func damagedValue(c *cell.Cell) error {
	return refuse(http.StatusInternalServerError, "corruption", atBody, "a stored value of %d bytes does not have its type, %s", len(c.Value), c.Type)
}

// beginVersion appends a version of a column up to its value.
func (a *rowWriter) beginVersion(out []byte, c *cell.Cell) []byte {
	start := &a.starts[c.Type]
	if start.time != c.Time {
		a.renew(c.Type, c.Time)
	}
	out = append(out, start.text...)
	if a.strip {
		return append(out, "null"...)
	}
	if c.Type == cell.String { // most are
		return appendText(out, c.Value)
	}
	return appendValue(out, c.Type, c.Value)
}

// endVersion ends a version, with the label of cell i of its chunk.
func (a *rowWriter) endVersion(out []byte, i int) []byte {
	if a.labels != nil && a.labels[i] != "" {
		out = append(out, `,"labels":["`...)
		out = append(out, a.labels[i]...)
		out = append(out, `"]`...)
	}
	return append(out, '}')
}

// beginColumn ends the last column, nil for none, and its family if the new one has another, and begins the
// new one up to its first version. It returns false, and changes nothing, for a binary column.
func (a *rowWriter) beginColumn(out, last, column []byte) (_ []byte, ok bool) {
	named := a.named
	if last != nil && bytes.HasPrefix(column, last[:named]) {
		out = append(out, "],"...)
	} else {
		if last != nil {
			out = append(out, "]},"...)
		}
		family, qualifier := cell.SplitColumn(column)
		named = len(column) - len(qualifier)
		out = appendText(out, family)
		out = append(out, ":{"...)
	}
	if out, ok = appendUTF8(out, column[named:]); !ok {
		return nil, false
	}
	a.named = named
	return append(out, ":["...), true
}

func (v *versionTexts) appendTime(out []byte, time int64) []byte {
	if time != v.time {
		v.time = time
		v.digits = strconv.AppendInt(v.digits[:0], time, 10)
	}
	return append(out, v.digits...)
}

// renew makes the start of versions of a type that of another time.
func (v *versionTexts) renew(t cell.Type, time int64) {
	s := &v.starts[t]
	s.time = time
	s.text = v.appendTime(append(s.text[:0], `{"time":`...), time)
	s.text = append(s.text, typeAndValue[t]...)
}

// addStats adds the cost of a query to that of others. Queries of one request read the same
// partitions again, so the largest number of partitions counts.
func addStats(t *widecol.Stats, s widecol.Stats) {
	t.Rows += s.Rows
	t.Cells += s.Cells
	t.RowsScanned += s.RowsScanned
	t.CellsScanned += s.CellsScanned
	t.BytesScanned += s.BytesScanned
	t.Partitions = max(t.Partitions, s.Partitions)
}

// appendStats appends the cost of queries, as the last fields of a result.
func (x *requestContext) appendStats(s *widecol.Stats) {
	out := x.out
	out = appendField(out, `"row_count":`, s.Rows)
	out = appendField(out, `,"cell_count":`, s.Cells)
	out = appendField(out, `,"rows_scanned":`, s.RowsScanned)
	out = appendField(out, `,"cells_scanned":`, s.CellsScanned)
	out = appendField(out, `,"bytes_scanned":`, s.BytesScanned)
	out = appendField(out, `,"affected_locality_groups":`, s.Partitions)
	x.out = x.appendMicros(out, s.Rows)
}

// appendMicros appends the time so far, and the time for one of n rows.
func (x *requestContext) appendMicros(out []byte, n int64) []byte {
	micros := x.elapsed().Microseconds()
	out = appendField(out, `,"micros":`, micros)
	return appendField(out, `,"micros_per_row":`, micros/max(n, 1))
}
