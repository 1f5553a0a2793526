package engine

import (
	"bytes"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
)

// PeekRow moves to the next row like NextRow, and returns its key, nil if there is none. The row is still the next
// one for NextRow and TakeRows.
func (s *Scan) PeekRow() []byte {
	switch {
	case s.peeked:
	case s.started:
		s.in.NextRow()
	default:
		s.seek()
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
	var deleted uint64
	if s.deleted != nil { // the same one must be the newest over all rows of a step
		deleted = s.deleted.Newest(s.in.Row())
		until = lower(until, s.deleted.End())
	}
	src.TakeRows(dst, lower(until, s.opt.End))
	s.rows += uint64(len(dst.Ends))
	s.visibility.VisibleRows(dst, deleted)
}

// lower returns the lower one of two rows, where nil is the end.
func lower(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// rowTaker returns the source if rows can be taken from it, nil if not: a source that moves down (downward) takes none.
func (s *Scan) rowTaker() rowmerge.RowTaker {
	if !s.peeked {
		return nil
	}
	src, _ := s.in.(rowmerge.RowTaker)
	return src
}
