package rowmerge

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// maxRun bounds the merged entries that one Cells call returns. Where only one Source
// has the row, that Source's own bound holds.
const maxRun = 512

// Iterator merges Sources into one. A row that only one Source has passes through
// unchanged. A row that several have is merged entry by entry.
//
// Two Sources hold entries with the same column, time and sequence number only in a
// damaged store. Then the newer Source's entry comes first, and both stay.
//
// When a Source fails, the merge ends with its error: going on would return less than
// there is.
//
// An Iterator is for one goroutine. The zero value is ready for Init. A closed Iterator
// can be used again and then allocates nothing.
type Iterator struct {
	inputs []input // newest first; fixed from Init to Close
	err    error   // sticky

	byRow   []*input // the inputs that have a row left, in the order of the rows to come
	sharing int      // the first so many of byRow are at the current row

	run *cell.Run // describes the entries that Cells returned last

	// The rest is in use only while several inputs share the current row.
	opened  bool     // the inputs that share the row were asked for entries
	heads   []*input // the inputs with pending entries, ascending by the first, then newest first
	drained *input   // has no pending entries; refilled before anything else is merged
}

// input is one Source of an Iterator.
type input struct {
	src     Source
	age     int         // its index among the Sources; the newest is 0
	row     []byte      // src.Row()
	pending []cell.Cell // entries of the current row, taken from src and not yet merged
	buf     []cell.Cell // holds pending
}

// Init starts a merge of sources, newest first. The Iterator owns them: Close closes
// them. There is no current row until SeekRow.
func (m *Iterator) Init(sources []Source) {
	m.err = nil
	m.inputs = slices.Grow(m.inputs[:0], len(sources))[:len(sources)]
	for i, src := range sources {
		m.inputs[i].src, m.inputs[i].age = src, i
	}
}

// SeekRow moves to the first row whose key is row or above. On a move forward,
// Sources that are there already do not move.
func (m *Iterator) SeekRow(row []byte) {
	if m.err != nil {
		return
	}
	if len(m.byRow) > 0 && bytes.Compare(m.byRow[0].row, row) < 0 {
		behind := 1
		for behind < len(m.byRow) && bytes.Compare(m.byRow[behind].row, row) < 0 {
			behind++
		}
		for i := behind - 1; i >= 0 && m.err == nil; i-- {
			m.byRow[i].src.SeekRow(row)
			m.reposition(i)
		}
	} else {
		m.byRow = m.byRow[:0]
		for i := len(m.inputs) - 1; i >= 0 && m.err == nil; i-- {
			m.inputs[i].src.SeekRow(row)
			m.byRow = slices.Insert(m.byRow, 0, &m.inputs[i])
			m.reposition(0)
		}
	}
	m.countSharing()
}

// Row returns the key of the current row, as Source.Row does.
func (m *Iterator) Row() []byte {
	if len(m.byRow) == 0 {
		return nil
	}
	return m.byRow[0].row
}

// NextRow moves to the next row. It moves only the Sources that have the current one.
func (m *Iterator) NextRow() {
	for i := m.sharing - 1; i >= 0 && m.err == nil; i-- {
		m.byRow[i].src.NextRow()
		m.reposition(i)
	}
	m.countSharing()
}

// reposition restores the order of byRow after the Source at i has moved. All that follow
// i are in order.
func (m *Iterator) reposition(i int) {
	in := m.byRow[i]
	in.row = in.src.Row()
	if in.row == nil {
		m.byRow = slices.Delete(m.byRow, i, i+1)
		m.exhausted(in)
		return
	}
	for ; i+1 < len(m.byRow); i++ {
		next := m.byRow[i+1]
		if bytes.Compare(in.row, next.row) <= 0 {
			break
		}
		m.byRow[i] = next
	}
	m.byRow[i] = in
}

// countSharing counts the inputs that are at the current row.
func (m *Iterator) countSharing() {
	m.opened = false
	m.sharing = min(1, len(m.byRow))
	for m.sharing > 0 && m.sharing < len(m.byRow) && bytes.Equal(m.byRow[m.sharing].row, m.byRow[0].row) {
		m.sharing++
	}
}

// exhausted is called when a Source returns nothing more. If that is an error, the merge
// ends with it.
func (m *Iterator) exhausted(in *input) {
	if err := in.src.Err(); err != nil {
		m.err = err
		m.byRow, m.sharing = m.byRow[:0], 0
	}
}

// Cells appends the next entries of the current row, as Source.Cells says.
func (m *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	m.run = &UnknownRun
	switch {
	case m.sharing == 0:
		return dst
	case m.sharing == 1:
		return m.passThrough(m.byRow[0], dst)
	}
	if !m.refillAll() {
		return dst
	}
	switch len(m.heads) {
	case 0:
		return dst
	case 1:
		in := m.heads[0]
		if len(in.pending) == 0 {
			return m.passThrough(in, dst)
		}
		dst = append(dst, in.pending...)
		in.pending = nil
		return dst
	}
	return m.merge(dst)
}

// passThrough hands dst to the only Source with entries left in the row.
func (m *Iterator) passThrough(in *input, dst []cell.Cell) []cell.Cell {
	n := len(dst)
	dst = in.src.Cells(dst)
	m.run = in.src.Run()
	if len(dst) == n {
		m.exhausted(in)
	}
	return dst
}

// Run describes the entries that Cells returned last. Entries that passed through have
// the Run of their Source; merged ones have UnknownRun.
func (m *Iterator) Run() *cell.Run { return m.run }

// merge appends entries in order until an input is drained. The next call refills it: to
// refill it now would invalidate the entries that its Source has put into dst.
func (m *Iterator) merge(dst []cell.Cell) []cell.Cell {
	for range maxRun {
		in := m.heads[0]
		dst = append(dst, in.pending[0])
		in.pending = in.pending[1:]
		if len(in.pending) == 0 {
			m.heads = slices.Delete(m.heads, 0, 1)
			m.drained = in
			break
		}
		m.sink()
	}
	return dst
}

// sink restores the order of heads after the first has advanced.
func (m *Iterator) sink() {
	in := m.heads[0]
	i := 0
	for ; i+1 < len(m.heads); i++ {
		next := m.heads[i+1]
		if c := in.pending[0].Compare(&next.pending[0]); c < 0 || c == 0 && in.age < next.age {
			break
		}
		m.heads[i] = next
	}
	m.heads[i] = in
}

// refillAll asks for entries: every input that shares the row at its start, later the
// drained one. It returns false when the merge has failed.
func (m *Iterator) refillAll() bool {
	if !m.opened {
		m.opened, m.drained = true, nil
		m.heads = m.heads[:0]
		for _, in := range m.byRow[:m.sharing] {
			if !m.refill(in) {
				return false
			}
		}
	}
	in := m.drained
	m.drained = nil
	return in == nil || m.refill(in)
}

// refill asks an input for entries. If there are any, the input joins the heads.
func (m *Iterator) refill(in *input) bool {
	in.buf = in.src.Cells(in.buf[:0])
	in.pending = in.buf
	if len(in.pending) == 0 {
		m.exhausted(in)
		return m.err == nil
	}
	m.heads = slices.Insert(m.heads, 0, in)
	m.sink()
	return true
}

// Scanned sums up what the Sources have stepped over.
func (m *Iterator) Scanned() cell.Scanned {
	var sum cell.Scanned
	for i := range m.inputs {
		sum.Add(m.inputs[i].src.Scanned())
	}
	return sum
}

// Err returns the error of the Source that ended the merge, nil if none did.
func (m *Iterator) Err() error { return m.err }

// Close closes the Sources. It keeps the buffers for the next use, but clears them: they
// must not keep a block or a memtable alive.
func (m *Iterator) Close() {
	for i := range m.inputs {
		in := &m.inputs[i]
		in.src.Close()
		clear(in.buf[:cap(in.buf)])
		*in = input{buf: in.buf[:0]}
	}
	clear(m.byRow[:cap(m.byRow)])
	clear(m.heads[:cap(m.heads)])
	m.inputs, m.byRow, m.heads = m.inputs[:0], m.byRow[:0], m.heads[:0]
	m.sharing, m.drained, m.run = 0, nil, nil
}
