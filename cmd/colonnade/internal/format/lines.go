package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// maxLine bounds a line or a record, in bytes. A server accepts no larger request by default.
const maxLine = 64 << 20

// Lines reads rows that are lines of JSON. It does not look into them.
type Lines struct {
	*Stream
	number int64
	long   []byte // scratch for a line that does not fit the buffer of the stream
}

// NewLines reads the lines of s.
func NewLines(s *Stream) *Lines { return &Lines{Stream: s} }

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// Next returns the next line that is not blank, without white space at its end.
func (l *Lines) Next() (Row, error) {
	for {
		line, err := l.line()
		l.number++
		switch {
		case err == errLongLine:
			return Row{}, &RowError{l.number, l.number, err}
		case err == io.EOF:
			return Row{}, err
		case err != nil:
			return Row{}, fmt.Errorf("line %d: %w", l.number, err)
		case len(line) > 0:
			return Row{line, l.number, l.number}, nil
		}
	}
}

// line returns the next line, errLongLine for one that it has skipped.
func (l *Lines) line() ([]byte, error) {
	line, err := l.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.rest(line)
	}
	if err == io.EOF && len(line) > 0 {
		err = nil // the last line needs no newline
	}
	return bytes.TrimRight(line, " \t\r\n"), err
}

// rest reads the rest of a line that starts with start.
func (l *Lines) rest(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	tooLong := false
	for {
		part, err := l.ReadSlice('\n')
		if tooLong = tooLong || len(l.long)+len(part) > maxLine; !tooLong {
			l.long = append(l.long, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case tooLong && (err == nil || err == io.EOF):
			return nil, errLongLine
		default:
			return l.long, err
		}
	}
}

// Field names a column in messages: lines have no fields besides.
func (l *Lines) Field(columnKey string) string { return "" }
