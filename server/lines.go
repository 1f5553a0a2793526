package server

import (
	"bytes"
	"encoding/base64"
	"iter"
	"strconv"
	"strings"

	"colonnade/cell"
	"colonnade/widecol"
)

// Rows come and go as lines, too, in the form of the items of a write: JSON texts that end with a line end
// (NDJSON). This file writes them, write_lines.go reads them.
//
//	{"row_key":"r","cells":[{"column_key":"f:q","type":"i64","value":1,"time":1},…]}
//	{"statistics":{…}}
//
// The last line shows that the answer is whole.

const linesType = "application/x-ndjson"

// isLines reports whether the values of a header name the media type of lines, with or without parameters.
func isLines(values []string) bool {
	if len(values) != 1 || len(values[0]) < len(linesType) {
		return false
	}
	kind, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.TrimSpace(kind), linesType)
}

// wantsLines reports whether the values of Accept ask for lines rather than JSON. Wildcards mean JSON.
func wantsLines(values []string) bool {
	lines, json := 0.0, 0.0
	for name, q := range weights(values) {
		switch name {
		case linesType:
			lines = max(lines, q)
		case "application/json":
			json = max(json, q)
		}
	}
	return lines > json
}

// weights yields the names in the values of a header such as Accept, in lower case, with their weights.
func weights(values []string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, value := range values {
			for part := range strings.SplitSeq(value, ",") {
				name, rest, more := strings.Cut(part, ";")
				q := 1.0
				for more {
					var parameter string
					parameter, rest, more = strings.Cut(rest, ";")
					if v, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
						q, _ = strconv.ParseFloat(v, 64)
					}
				}
				if !yield(strings.ToLower(strings.TrimSpace(name)), q) {
					return
				}
			}
		}
	}
}

// beginRows starts the response with the rows of a query.
func (x *requestContext) beginRows(status int) {
	if x.lines = wantsLines(x.r.Header["Accept"]); x.lines {
		x.status, x.out = status, x.out[:0]
		return
	}
	x.begin(status)
	x.out = append(x.out, `{"rows":[`...)
}

// endRows appends what follows the rows, up to the end of the statistics.
func (x *requestContext) endRows(stats *widecol.Stats) {
	if x.lines {
		x.out = append(x.out, `{"statistics":{`...)
	} else {
		x.out = append(x.out, "],"...)
	}
	x.appendStats(stats)
	if x.lines {
		x.out = append(x.out, '}')
	}
}

// finishRows ends the response with the rows of a query.
func (x *requestContext) finishRows() error {
	x.out = append(x.out, '}')
	if !x.lines {
		return x.finish(querySuccessful)
	}
	x.out = append(x.out, '\n')
	return x.send(x.server.opt.Now(), true)
}

// beginLine begins the line of a row.
func (a *rowWriter) beginLine(key []byte) {
	out := append(a.c.out, `{"row_key":`...)
	out = appendBytes(out, key)
	a.c.out = append(out, `,"cells":[`...)
	a.some, a.open = false, true
}

// endLine ends the line of a row, if there is one.
func (a *rowWriter) endLine() {
	if a.open {
		a.c.out = append(a.c.out, "]}\n"...)
		a.open = false
	}
}

// writeLineCells writes a chunk of the current row to its line.
func (a *rowWriter) writeLineCells(cells []cell.Cell) error {
	for i := range cells {
		c := &cells[i]
		if !a.strip && !c.Type.Fits(c.Value) {
			return damagedValue(c)
		}
		out := a.c.out
		if a.some { // a cell of the row
			out = append(out, ',')
		}
		a.some = true
		out = a.appendColumnKey(out, c.Column)
		out = append(out, typeAndValue[c.Type]...)
		if a.strip {
			out = append(out, "null"...)
		} else {
			out = appendValue(out, c.Type, c.Value)
		}
		out = append(out, `,"time":`...)
		out = a.appendTime(out, c.Time)
		a.c.out = append(out, '}')
		if err := a.c.flushIfFull(); err != nil {
			return err
		}
	}
	return nil
}

// appendColumnKey appends the start of a cell up to its column key.
func (a *rowWriter) appendColumnKey(out, column []byte) []byte {
	if len(a.family) == 0 || !bytes.HasPrefix(column, a.family) {
		family, qualifier := cell.SplitColumn(column)
		a.family = append(a.family[:0], column[:len(column)-len(qualifier)]...) // and the byte that ends it
		a.head = appendText(append(a.head[:0], `{"column_key":`...), family)
	}
	head, qualifier := a.head, column[len(a.family):]
	start := len(out)
	out = append(out, head[:len(head)-1]...)
	colon := len(out)
	out, ok := appendUTF8(out, qualifier)
	if ok {
		out[colon] = ':' // in place of the quotes between family and qualifier
		return out
	}
	key := append(a.binary[:0], a.family[:len(a.family)-1]...)
	key = append(append(key, ':'), qualifier...)
	a.binary = key
	out = append(out[:start], `{"column_key":{"base64":"`...)
	out = base64.StdEncoding.AppendEncode(out, key)
	return append(out, `"}`...)
}
