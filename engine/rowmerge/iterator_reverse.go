package rowmerge

import (
	"bytes"
	"slices"
)

// SeekBelow moves to the last row whose key is below row, as Source.SeekBelow says. byRow descends from
// then on. The entries of a row are merged as on the way up.
func (m *Iterator) SeekBelow(row []byte) {
	if m.err != nil {
		return
	}
	m.byRow = m.byRow[:0]
	for i := len(m.inputs) - 1; i >= 0 && m.err == nil; i-- {
		m.inputs[i].src.SeekBelow(row)
		m.byRow = slices.Insert(m.byRow, 0, &m.inputs[i])
		m.repositionBelow(0)
	}
	m.countSharing()
}

// PrevRow moves to the previous row. It moves only the Sources that have the current one.
func (m *Iterator) PrevRow() {
	for i := m.sharing - 1; i >= 0 && m.err == nil; i-- {
		m.byRow[i].src.PrevRow()
		m.repositionBelow(i)
	}
	m.countSharing()
}

// repositionBelow is reposition for a merge that moves down.
func (m *Iterator) repositionBelow(i int) {
	in := m.byRow[i]
	in.row = in.src.Row()
	if in.row == nil {
		m.byRow = slices.Delete(m.byRow, i, i+1)
		m.exhausted(in)
		return
	}
	for ; i+1 < len(m.byRow); i++ {
		next := m.byRow[i+1]
		if bytes.Compare(in.row, next.row) >= 0 {
			break
		}
		m.byRow[i] = next
	}
	m.byRow[i] = in
}
