package engine

import (
	"bytes"

	"colonnade/cell"
	"colonnade/engine/rowmerge"
)

// PeekRow moves to the next row like NextRow, and returns its key, nil if there is none. The row is still the next
// one for NextRow and TakeRows.
func (s *Scan) PeekRow() []byte {
	switch {
	case s.peeked:
	case s.started:
		s.in.NextRow()
	default:
		s.in.SeekRow(s.opt.Start)
	}
	s.started, s.peeked = true, true
	return s.Row()
}

// TakeRows fills dst with the visible cells of the row that PeekRow has returned, and of rows after it, up to the row
// until, nil for none. The row behind those is the next one then. TakeRows is for scans that do not need the keys of
// rows. It takes as many rows as it can in one step. It may take none: then the row that PeekRow has returned is still
// the next one, and NextRow goes on. The cells are valid until the next call of a method of the Scan.
func (s *Scan) TakeRows(dst *cell.Rows, until []byte) {
	dst.Reset()
	src := s.rowTaker()
	if src == nil {
		return
	}
	if s.opt.End != nil && (until == nil || bytes.Compare(s.opt.End, until) < 0) {
		until = s.opt.End
	}
	src.TakeRows(dst, until)
	s.rows += uint64(len(dst.Ends))
	s.visibility.VisibleRows(dst)
}

// rowTaker returns the source if rows can be taken from it without their keys, nil if not: range tombstones hide
// entries by the key of their row. A source that moves down (downward) takes no rows.
func (s *Scan) rowTaker() rowmerge.RowTaker {
	if !s.peeked || s.deleted != nil {
		return nil
	}
	src, _ := s.in.(rowmerge.RowTaker)
	return src
}
