package rowmerge

import (
	"bytes"
	"slices"

	"colonnade/cell"
)

// maxRun bounds the merged entries that one Cells call returns. Where only one Source
// has the row, that Source's own bound holds.
const maxRun = 512

// Iterator merges Sources into one. A row that only one Source has passes through
// unchanged; a row that several have is merged entry by entry.
//
// Sources are given newest first. If two hold entries of the same key, which happens
// only in a damaged store, the newer Source's comes first and both stay.
//
// When a Source fails, the merge ends with its error: going on would return less than
// there is.
//
// The zero value is ready for Init. A closed Iterator can be used again and then
// allocates nothing.
type Iterator struct {
	lanes []lane // newest first; fixed from init to Close
	err   error  // sticky

	rows  []*lane // the lanes that have a row, ascending by it
	width int     // the first width of rows are at the current row

	run *cell.Run // describes the entries that Cells returned last

	// The rest describes the current row and is in use only when width is above 1.
	opened bool    // its lanes were asked for entries
	heads  []*lane // the lanes with entries in run, ascending by the first, then newest first
	dry    *lane   // must be refilled before anything else is merged
}

// lane is one Source of an Iterator.
type lane struct {
	src Source
	age int         // its place among the sources; the newest is 0
	row []byte      // src.Row()
	run []cell.Cell // entries of the row, taken from src and not yet merged
	buf []cell.Cell // holds run
}

// Init starts a merge of sources, newest first, and owns them: Close closes them. The
// merge has no row until SeekRow.
func (m *Iterator) Init(sources []Source) {
	m.err = nil
	m.lanes = slices.Grow(m.lanes[:0], len(sources))[:len(sources)]
	for i, src := range sources {
		m.lanes[i].src, m.lanes[i].age = src, i
	}
}

// SeekRow moves to the first row whose key is row or above. On a move forward,
// Sources that are already there do not move.
func (m *Iterator) SeekRow(row []byte) {
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
func (m *Iterator) Row() []byte {
	if len(m.rows) == 0 {
		return nil
	}
	return m.rows[0].row
}

// NextRow moves to the next row. It moves only the Sources that have the current one.
func (m *Iterator) NextRow() {
	for i := m.width - 1; i >= 0 && m.err == nil; i-- {
		m.rows[i].src.NextRow()
		m.replace(i)
	}
	m.settle()
}

// replace moves the lane at rows[i], whose Source has moved, to its place among the
// lanes behind it, which are in order.
func (m *Iterator) replace(i int) {
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

// settle counts the lanes that are at the current row.
func (m *Iterator) settle() {
	m.opened = false
	m.width = min(1, len(m.rows))
	for m.width > 0 && m.width < len(m.rows) && bytes.Equal(m.rows[m.width].row, m.rows[0].row) {
		m.width++
	}
}

// ended handles a Source that returned nothing more. An error ends the merge.
func (m *Iterator) ended(l *lane) {
	if err := l.src.Err(); err != nil {
		m.err = err
		m.rows, m.width = m.rows[:0], 0
	}
}

// Cells appends the next entries of the current row, as Source.Cells says.
func (m *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	m.run = &UnknownRun
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

// pass hands dst to the only Source with entries left in the row.
func (m *Iterator) pass(l *lane, dst []cell.Cell) []cell.Cell {
	n := len(dst)
	dst = l.src.Cells(dst)
	m.run = l.src.Run()
	if len(dst) == n {
		m.ended(l)
	}
	return dst
}

// Run describes the entries that Cells returned last. Entries that passed through have
// the Run of their Source; merged ones have UnknownRun.
func (m *Iterator) Run() *cell.Run { return m.run }

// merge appends entries in order until a lane runs dry. Refilling it would invalidate
// the entries that its Source has put into dst, so that waits for the next call.
func (m *Iterator) merge(dst []cell.Cell) []cell.Cell {
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

// sink moves the first head, which has advanced, to its place.
func (m *Iterator) sink() {
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

// fillAll refills lanes: all at the start of a row, later the dry one. It returns false
// when the merge has failed.
func (m *Iterator) fillAll() bool {
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

// fill asks a lane for entries and, if there are any, adds it to the heads.
func (m *Iterator) fill(l *lane) bool {
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

// Scanned sums up what the Sources have stepped over.
func (m *Iterator) Scanned() cell.Scanned {
	var sum cell.Scanned
	for i := range m.lanes {
		sum.Add(m.lanes[i].src.Scanned())
	}
	return sum
}

// Err returns the error of the Source that ended the merge, nil if none did.
func (m *Iterator) Err() error { return m.err }

// Close closes the Sources. It keeps its buffers for the next use, but clears them, so
// that they hold on to no block and no memtable.
func (m *Iterator) Close() {
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
