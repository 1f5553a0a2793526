package main

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/colonnade-db/colonnade/cell"
)

// Engines that know only keys and values get a cell as
//
//	key    [ space, 2 bytes ] row 0x00 family ':' qualifier 0x00 ^time, 8 bytes big endian
//	value  type, 1 byte; the value
//
// So a row is contiguous, its columns are in order, and their versions come newest first. Rows and
// columns are text without 0x00. The space is there only if a store has several. Its bytes are never
// 0x00, since a row ends at the first 0x00.

const spaceBase = 255

// appendRow appends the common prefix of all keys of a row.
func appendRow(dst []byte, spaces, space int, row []byte) []byte {
	if spaces > 1 {
		dst = append(dst, byte(1+space/spaceBase), byte(1+space%spaceBase))
	}
	dst = append(dst, row...)
	return append(dst, 0)
}

// appendCell appends the rest of a key.
func appendCell(dst []byte, c *cell.Cell) []byte {
	family, qualifier := cell.SplitColumn(c.Column)
	dst = append(dst, family...)
	dst = append(dst, ':')
	dst = append(dst, qualifier...)
	dst = append(dst, 0)
	return binary.BigEndian.AppendUint64(dst, ^uint64(c.Time))
}

func appendValue(dst []byte, c *cell.Cell) []byte {
	return append(append(dst, byte(c.Type)), c.Value...)
}

// scanBounds returns the key range of a query.
func scanBounds(spaces int, q *Query) (start, end []byte) {
	start = appendRow(nil, spaces, q.Space, q.Start)
	start = start[:len(start)-1]
	if spaces == 1 {
		return start, nil
	}
	end = appendRow(nil, spaces, q.Space, nil)
	end = end[:len(end)-1]
	return start, cell.Successor(end)
}

// rowEnd returns the end of the key range of one row. prefix comes from appendRow.
func rowEnd(dst, prefix []byte) []byte {
	dst = append(dst, prefix...)
	dst[len(dst)-1] = 1
	return dst
}

// walk turns the keys and values of a scan into an Answer.
type walk struct {
	spaces int
	q      *Query
	family []byte // with its ':'; nil for all
	row    []byte // key prefix of the current row
	fresh  bool   // the current row has no cell in the answer yet
	seen   int    // rows
	answer Answer
}

func newWalk(spaces int, q *Query) walk {
	w := walk{spaces: spaces, q: q}
	if q.Family != "" {
		w.family = append([]byte(q.Family), ':')
	}
	return w
}

var errKey = errors.New("a key is not that of a cell")

// take adds the next key and value, and reports whether the scan goes on.
func (w *walk) take(key, value []byte) (bool, error) {
	if w.row == nil || !bytes.HasPrefix(key, w.row) {
		end := bytes.IndexByte(key, 0)
		if end < 0 {
			return false, errKey
		}
		if w.q.Rows > 0 && w.seen == w.q.Rows {
			return false, nil
		}
		w.row = append(w.row[:0], key[:end+1]...)
		w.fresh = true
		w.seen++
	}
	rest := key[len(w.row):]
	if len(rest) < 9 || len(value) == 0 {
		return false, errKey
	}
	if w.family != nil && !bytes.HasPrefix(rest, w.family) {
		return true, nil
	}
	if w.fresh {
		w.answer.Rows++
		w.fresh = false
	}
	w.answer.Cells++
	w.answer.Bytes += int64(len(rest)-9) + touch(value[1:])
	if w.q.Visit != nil {
		w.visit(rest, value)
	}
	return true, nil
}

// visit passes a cell on as it was written.
func (w *walk) visit(rest, value []byte) {
	column := bytes.Clone(rest[:len(rest)-9])
	column[bytes.IndexByte(column, ':')] = 0
	row := w.row[:len(w.row)-1]
	if w.spaces > 1 {
		row = row[2:]
	}
	w.q.Visit(row, &cell.Cell{
		Column: column, Type: cell.Type(value[0]), Value: value[1:],
		Time: int64(^binary.BigEndian.Uint64(rest[len(rest)-8:])),
	})
}
