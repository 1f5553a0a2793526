package server

import (
	"bytes"
	"encoding/base64"
	"iter"
	"strconv"
	"strings"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
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
	if x.asLines = wantsLines(x.r.Header["Accept"]); x.asLines {
		x.status, x.out = status, x.out[:0]
	} else {
		x.begin(status)
	}
	switch {
	case x.explain.alone():
		x.out = append(x.out, '{')
	case !x.asLines:
		x.out = append(x.out, `{"rows":[`...)
	}
}

// endRows appends what follows the rows, up to the end of the statistics.
func (x *requestContext) endRows(stats *widecol.Stats) {
	if x.explain.alone() {
		return
	}
	if x.asLines {
		x.out = append(x.out, `{"statistics":{`...)
	} else {
		x.out = append(x.out, "],"...)
	}
	x.appendStats(stats)
	if x.asLines {
		x.out = append(x.out, '}')
	}
}

// finishRows ends the response with the rows of a query.
func (x *requestContext) finishRows() error {
	x.out = append(x.out, '}')
	if !x.asLines {
		return x.finish(querySuccessful)
	}
	x.out = append(x.out, '\n')
	return x.send(x.server.opt.Now(), true)
}

// lineWriter is what a rowWriter knows while it writes lines. The rows of a table mostly have the same
// columns at the same places, so the texts of column keys are kept by their place in the row: with them a
// line takes less time than the row as JSON, without them more.
type lineWriter struct {
	cells  int // of the current row so far
	last   *cellStart
	kept   [keptStarts]cellStart
	misses int    // cells since one had a kept text
	family []byte // of the cell that was written last without a kept text, up to its qualifier
	head   []byte // the text of that: ,{"column_key":"f"
	key    []byte // scratch: a column key that is not UTF-8
}

// cellStart is the text of a cell up to its value.
type cellStart struct {
	column []byte
	typ    cell.Type
	text   []byte // ,{"column_key":"f:q","type":"i64","value":
}

const (
	keptStarts = 32
	// longestKept bounds the columns whose texts are kept, in bytes.
	longestKept = 256
	// keepEvery is how many cells come between two texts that are kept when these are of no use.
	keepEvery = 32
)

// beginLine begins the line of a row.
func (a *rowWriter) beginLine(key []byte) {
	out := append(a.c.out, `{"row_key":`...)
	out = appendBytes(out, key)
	a.c.out = append(out, `,"cells":[`...)
	a.open, a.line.cells = true, 0
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
		out := a.line.appendStart(a.c.out, c)
		if a.strip {
			out = append(out, "null"...)
		} else {
			out = appendValue(out, c.Type, c.Value)
		}
		out = append(out, `,"time":`...)
		a.c.out = a.endVersion(a.appendTime(out, c.Time), i)
		if err := a.c.flushIfFull(); err != nil {
			return err
		}
	}
	return nil
}

// appendStart appends the next cell of the row up to its value.
func (l *lineWriter) appendStart(out []byte, c *cell.Cell) []byte {
	first := l.cells == 0
	l.cells++
	text, start := l.keptStart(c), len(out)
	if text == nil {
		out = l.appendOther(out, c)
	} else if !first {
		return append(out, text...)
	} else {
		return append(out, text[1:]...) // no comma
	}
	if first {
		out = append(out[:start], out[start+1:]...)
	}
	return out
}

// keptStart returns the kept text of the cell that was counted last, or nil.
func (l *lineWriter) keptStart(c *cell.Cell) []byte {
	if l.misses > keptStarts && l.misses%keepEvery != 0 {
		l.misses++
		return nil // not even looked for
	}
	s := l.last
	if s == nil || s.typ != c.Type || !bytes.Equal(s.column, c.Column) {
		s = &l.kept[l.cells%keptStarts]
	}
	if s.typ == c.Type && bytes.Equal(s.column, c.Column) {
		l.last, l.misses = s, 0
		return s.text
	}
	l.misses++
	if len(c.Column) > longestKept {
		return nil
	}
	s.column, s.typ = append(s.column[:0], c.Column...), c.Type
	s.text = l.appendOther(s.text[:0], c)
	l.last = s
	return s.text
}

// appendOther appends a comma and a cell up to its value, without a kept text.
func (l *lineWriter) appendOther(out []byte, c *cell.Cell) []byte {
	if len(l.family) == 0 || !bytes.HasPrefix(c.Column, l.family) {
		family, qualifier := cell.SplitColumn(c.Column)
		l.family = append(l.family[:0], c.Column[:len(c.Column)-len(qualifier)]...)
		l.head = appendText(append(l.head[:0], `,{"column_key":`...), family)
	}
	start, qualifier := len(out), c.Column[len(l.family):]
	colon := start + len(l.head) - 1
	out = append(out, l.head...)
	out, ok := appendUTF8(out[:colon], qualifier)
	if ok {
		out[colon] = ':' // in place of the quotes between family and qualifier
	} else {
		l.key = append(append(append(l.key[:0], l.family[:len(l.family)-1]...), ':'), qualifier...)
		out = append(out[:start], `,{"column_key":{"base64":"`...)
		out = base64.StdEncoding.AppendEncode(out, l.key)
		out = append(out, `"}`...)
	}
	return append(out, typeAndValue[c.Type]...)
}

// lineWriter returns the lineWriter of the scratch if the rows are to be lines, or nil.
func (s *scratch) lineWriter(lines bool) *lineWriter {
	if lines && s.lines == nil {
		s.lines = new(lineWriter)
	}
	if !lines {
		return nil
	}
	return s.lines
}
