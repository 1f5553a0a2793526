package engine

import (
	"bytes"
	"slices"

	"colonnade/cell"
)

// maxRun is how many entries one Cells call of a merge returns at most where
// it merges. Where it lets a source pass through, that source's limit holds.
const maxRun = 512

// merger is several sources as one. A row that only one source has passes
// through as it is; a row that several have is merged entry by entry.
//
// Sources are given newest first. Where two hold an entry of the same place,
// which only a damaged store has, the newer source's comes first and both stay.
//
// When a source fails, the merge ends there with its error: going on would
// return less than there is.
//
// The zero value is ready for init. A closed merger can be used again and then
// allocates nothing.
type merger struct {
	lanes []lane // newest first; fixed from init to Close
	err   error  // sticky

	rows  []*lane // the lanes that have a row, ascending by it
	width int     // how many of rows, from the first, are at the current row

	run *cell.Run // what is known of the entries that Cells returned last

	// The rest describes the current row and means something only when width
	// is above 1.
	opened bool    // its lanes were asked for entries
	heads  []*lane // the lanes with entries in run, ascending by the first, then newest first
	dry    *lane   // the one to be asked again before anything else is merged
}

// lane is one source of a merger.
type lane struct {
	src source
	age int         // its place among the sources; the newest is 0
	row []byte      // src.Row()
	run []cell.Cell // entries of the row, taken from src and not yet merged
	buf []cell.Cell // holds run
}

// init starts a merge of sources, newest first, and takes them over: Close
// closes them. The merge has no row until SeekRow.
func (m *merger) init(sources []source) {
	m.err = nil
	m.lanes = slices.Grow(m.lanes[:0], len(sources))[:len(sources)]
	for i, src := range sources {
		m.lanes[i].src, m.lanes[i].age = src, i
	}
}

// SeekRow moves to the first row whose key is row or above. On a move forward,
// sources that are already there stay where they are.
func (m *merger) SeekRow(row []byte) {
	if m.err != nil {
		return
	}
	if len(m.rows) > 0 && bytes.Compare(m.rows[0].row, row) < 0 {
		behind := 1
		for behind < len(m.rows) && bytes.Compare(m.rows[behind].row, row) < 0 {
			behind++
		}
		for i := behind - 1; i >= 0 && m.err == nil; i-- {
			m.rows[i].src.SeekRow(row)
			m.replace(i)
		}
	} else {
		m.rows = m.rows[:0]
		for i := len(m.lanes) - 1; i >= 0 && m.err == nil; i-- {
			m.lanes[i].src.SeekRow(row)
			m.rows = slices.Insert(m.rows, 0, &m.lanes[i])
			m.replace(0)
		}
	}
	m.settle()
}

// Row returns the key of the current row.
func (m *merger) Row() []byte {
	if len(m.rows) == 0 {
		return nil
	}
	return m.rows[0].row
}

// NextRow moves to the next row. Only the sources that have the current one
// are touched.
func (m *merger) NextRow() {
	for i := m.width - 1; i >= 0 && m.err == nil; i-- {
		m.rows[i].src.NextRow()
		m.replace(i)
	}
	m.settle()
}

// replace puts the lane at rows[i], whose source has moved, where it belongs
// among those behind it, which are in order.
func (m *merger) replace(i int) {
	l := m.rows[i]
	l.row = l.src.Row()
	if l.row == nil {
		m.rows = slices.Delete(m.rows, i, i+1)
		m.ended(l)
		return
	}
	for ; i+1 < len(m.rows); i++ {
		next := m.rows[i+1]
		if bytes.Compare(l.row, next.row) <= 0 {
			break
		}
		m.rows[i] = next
	}
	m.rows[i] = l
}

// settle finds out which lanes are at the current row.
func (m *merger) settle() {
	m.opened = false
	m.width = min(1, len(m.rows))
	for m.width > 0 && m.width < len(m.rows) && bytes.Equal(m.rows[m.width].row, m.rows[0].row) {
		m.width++
	}
}

// ended is told of a source that had no more to give, and ends the merge if
// that was for an error.
func (m *merger) ended(l *lane) {
	if err := l.src.Err(); err != nil {
		m.err = err
		m.rows, m.width = m.rows[:0], 0
	}
}

// Cells appends the next entries of the current row.
func (m *merger) Cells(dst []cell.Cell) []cell.Cell {
	m.run = &unknownRun
	switch {
	case m.width == 0:
		return dst
	case m.width == 1:
		return m.pass(m.rows[0], dst)
	}
	if !m.fillAll() {
		return dst
	}
	switch len(m.heads) {
	case 0:
		return dst
	case 1:
		l := m.heads[0]
		if len(l.run) == 0 {
			return m.pass(l, dst)
		}
		dst = append(dst, l.run...)
		l.run = nil
		return dst
	}
	return m.merge(dst)
}

// pass hands dst to the only source that has entries left in the row.
func (m *merger) pass(l *lane, dst []cell.Cell) []cell.Cell {
	n := len(dst)
	dst = l.src.Cells(dst)
	m.run = l.src.Run()
	if len(dst) == n {
		m.ended(l)
	}
	return dst
}

// Run describes the entries that Cells has returned last: as their source does if
// it has passed them through, and of merged ones nothing is known.
func (m *merger) Run() *cell.Run { return m.run }

// merge appends entries in order until a lane has none at hand. Asking its
// source for more would take away the entries that it has given to dst, so that
// waits for the next call.
func (m *merger) merge(dst []cell.Cell) []cell.Cell {
	for range maxRun {
		l := m.heads[0]
		dst = append(dst, l.run[0])
		l.run = l.run[1:]
		if len(l.run) == 0 {
			m.heads = slices.Delete(m.heads, 0, 1)
			m.dry = l
			break
		}
		m.sink()
	}
	return dst
}

// sink puts the first head, which has moved on, where it belongs.
func (m *merger) sink() {
	l := m.heads[0]
	i := 0
	for ; i+1 < len(m.heads); i++ {
		next := m.heads[i+1]
		if c := l.run[0].Compare(&next.run[0]); c < 0 || c == 0 && l.age < next.age {
			break
		}
		m.heads[i] = next
	}
	m.heads[i] = l
}

// fillAll asks the lanes for entries that have none at hand: all at the start
// of a row, later the dry one. It returns false when the merge has failed.
func (m *merger) fillAll() bool {
	if !m.opened {
		m.opened, m.dry = true, nil
		m.heads = m.heads[:0]
		for _, l := range m.rows[:m.width] {
			if !m.fill(l) {
				return false
			}
		}
	}
	l := m.dry
	m.dry = nil
	return l == nil || m.fill(l)
}

// fill asks one lane for entries and, if there are any, puts it among the heads.
func (m *merger) fill(l *lane) bool {
	l.buf = l.src.Cells(l.buf[:0])
	l.run = l.buf
	if len(l.run) == 0 {
		m.ended(l)
		return m.err == nil
	}
	m.heads = slices.Insert(m.heads, 0, l)
	m.sink()
	return true
}

// Scanned sums up what the sources have stepped over.
func (m *merger) Scanned() cell.Scanned {
	var sum cell.Scanned
	for i := range m.lanes {
		sum.Add(m.lanes[i].src.Scanned())
	}
	return sum
}

// Err returns the error of the source that ended the merge.
func (m *merger) Err() error { return m.err }

// Close closes the sources. The buffers stay for the next use, emptied, so
// that they hold on to no block and no memtable.
func (m *merger) Close() {
	for i := range m.lanes {
		l := &m.lanes[i]
		l.src.Close()
		clear(l.buf[:cap(l.buf)])
		*l = lane{buf: l.buf[:0]}
	}
	clear(m.rows[:cap(m.rows)])
	clear(m.heads[:cap(m.heads)])
	m.lanes, m.rows, m.heads = m.lanes[:0], m.rows[:0], m.heads[:0]
	m.width, m.dry, m.run = 0, nil, nil
}
